package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
)

// paced is a network that needs two seconds for a line, like IRC.
type paced struct{ *network }

func (paced) Split(_ channels.Key, text string) []channels.Piece {
	return channels.Pieces(strings.Split(text, "\n"))
}

// startPaced starts a world whose answers have n lines.
func startPaced(t *testing.T, n int, changes ...change) *world {
	w := start(t, append([]change{func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = paced{w.net} }}, changes...)...)
	w.net.slow = func(context.Context) error { time.Sleep(2 * time.Second); return nil }
	w.agent.run = func(_ context.Context, in agent.Turn) (string, error) {
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprint(inputs(in), " ", i+1))
		}
		return strings.Join(lines, "\n"), nil
	}
	return w
}

// A stop removes the rest of an answer from the outbox. The next question is
// answered completely.
func TestStopEndsALongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startPaced(t, 40)
		w.say("1", "a")
		time.Sleep(4 * time.Second)
		w.say("1", "b") // waits for the answer to be out
		time.Sleep(time.Second)
		w.say("1", "/stop")
		time.Sleep(2 * time.Minute)
		if got, want := w.net.texts("1")[:5], []string{"a 1", "a 2", "a 3", "Stopped.", "b 1"}; !slices.Equal(got, want) {
			t.Errorf("sent %q, want to begin with %q", got, want)
		}
		if n := w.seen.get("delivered net dropped"); n != 37 {
			t.Errorf("dropped %d pieces, want 37", n)
		}
		if got := w.net.texts("1"); len(got) != 44 || got[43] != "b 40" {
			t.Errorf("sent %d pieces up to %q, want all 40 of the second answer", len(got), got[len(got)-1])
		}
	})
}

// Replies to commands do not wait for the end of a long answer, and none of it
// is lost.
func TestCommandsOvertakeALongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startPaced(t, 40)
		w.say("1", "a")
		time.Sleep(5 * time.Second)
		w.say("1", "/title")
		time.Sleep(5 * time.Second)
		got := w.net.texts("1")
		if i := slices.IndexFunc(got, func(s string) bool { return strings.Contains(s, "no title") }); i != 3 {
			t.Errorf("sent %q, want the reply after the line that was on its way", got)
		}
		time.Sleep(2 * time.Minute)
		if got := w.net.texts("1"); len(got) != 41 || got[40] != "a 40" {
			t.Errorf("sent %d pieces up to %q, want all of the answer", len(got), got[len(got)-1])
		}
	})
}

// If the bot is removed from a chat during an answer, it does not finish that
// answer when it comes back. An answer that had not begun is sent then.
func TestKickEndsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startPaced(t, 10)
		out := false
		w.net.failWith(func(channels.Outbound) error {
			if out {
				return &channels.NotSent{Err: fmt.Errorf("kicked: %w", channels.ErrRemoved)}
			}
			return nil
		})
		kick := func(on bool) {
			w.net.mu.Lock()
			defer w.net.mu.Unlock()
			out = on
		}
		w.say("1", "a")
		time.Sleep(5 * time.Second)
		kick(true)
		time.Sleep(10 * time.Second)
		w.say("1", "b")
		time.Sleep(10 * time.Second)
		kick(false)
		time.Sleep(5 * time.Minute)
		got := w.net.texts("1")
		if len(got) != 12 || got[1] != "a 2" || got[2] != "b 1" || got[11] != "b 10" {
			t.Errorf("sent %q, want two lines of the first answer and all of the second", got)
		}
		if n := w.seen.get("delivered net dead"); n != 0 {
			t.Errorf("%d pieces are dead, want none", n)
		}
	})
}
