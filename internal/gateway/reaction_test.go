package gateway_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
)

// react puts emoji on our message text.
func (w *world) react(chat, emoji, text string) channels.Inbound {
	m := w.message(chat, "[reacted with "+emoji+"]")
	m.Reaction, m.Quote = emoji, &channels.Quote{ID: "out", Name: "you", Text: text}
	w.accept(m)
	return m
}

// A reaction begins no turn; the next turn sees it. If its network repeats it,
// it is noted once, and a stranger's not at all.
func TestReactionIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.RatePerMinute = 3 })
		w.say("1", "weather?")
		synctest.Wait()
		m := w.react("1", "👍", "echo\nweather?")
		w.accept(m)
		synctest.Wait()
		if n := w.agent.count(); n != 1 {
			t.Errorf("%d turns, want the one of the question", n)
		}
		w.expect("1", "echo weather?")
		want := []string{"user: weather?", "assistant: echo weather?", `user: [` + m.Sender.Name + ` reacted with 👍 to an earlier message of yours: "echo weather?"]`}
		if got := w.transcript("1"); !slices.Equal(got, want) {
			t.Errorf("transcript %q, want %q", got, want)
		}
		for range 5 {
			w.react("1", "🎉", "echo weather?")
		}
		if got := w.transcript("1"); len(got) > 4 {
			t.Errorf("%d messages after more reactions than the limit allows", len(got))
		}
		w.expect("1", "echo weather?")
		time.Sleep(2 * time.Minute)
		w.say("1", "next")
		synctest.Wait()
		w.expect("1", "echo weather?", "echo next")
	})
}

// A stranger who reacts is offered nothing, and nothing of theirs is kept.
func TestReactionOfAStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, b *gateway.Binding, _ *gateway.Options) { b.Pairing = true })
		w.react("77", "👍", "hello")
		synctest.Wait()
		w.expect("77")
		if got := w.transcript("77"); len(got) != 0 {
			t.Errorf("transcript %q, want none", got)
		}
	})
}
