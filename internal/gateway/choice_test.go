package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/agent/window"
	"dragoman/internal/gateway"
)

// TestThePersonChooses: a person who is to choose is asked once when a trigger
// is reached. Nothing is summarised before they answer.
func TestThePersonChooses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := window.Presets["picoclaw"]
		c.When = window.WhenAsk
		w, ag := compacting(t, c, 32768)
		say := func(text string) {
			w.say("1", text)
			synctest.Wait()
		}
		notices := func() int {
			texts := w.net.texts("1")
			return len(texts) - len(slices.DeleteFunc(texts, func(s string) bool { return strings.Contains(s, "/compact summarises") }))
		}
		say("/compact")
		if last := w.net.texts("1"); !strings.Contains(last[len(last)-1], "nothing to summarise") {
			t.Errorf("/compact of an empty conversation is answered %q", last)
		}
		for i := range 10 {
			say(fmt.Sprint("message ", i))
		}
		if notices() != 0 {
			t.Fatalf("%d notices after 20 messages, want none", notices())
		}
		say("one more")
		if texts := w.net.texts("1"); notices() != 1 || texts[len(texts)-2] != "noted" {
			t.Fatalf("%d notices after 22 messages, want one behind the answer: %q", notices(), texts)
		}
		for i := range 5 {
			say(fmt.Sprint("further ", i))
		}
		if notices() != 1 || ag.count() != 0 || w.history("1").Summary != nil {
			t.Fatalf("%d notices and %d summaries, want 1 and none", notices(), ag.count())
		}
		say("/compact")
		if h := w.history("1"); ag.count() != 1 || h.Summary == nil || len(h.Messages) != 4 {
			t.Fatalf("after /compact: %d summaries, %d messages", ag.count(), len(h.Messages))
		}
		for i := range 9 {
			say(fmt.Sprint("then ", i))
		}
		if notices() != 2 || ag.count() != 1 {
			t.Errorf("%d notices and %d summaries when it is long again, want 2 and 1", notices(), ag.count())
		}
		say("/new")
		say("hello")
		if notices() != 2 {
			t.Errorf("a new conversation is called long")
		}
	})
}

// TestNobodyChooses: messages that turns would not load, or that do not fit,
// are summarised without asking.
func TestNobodyChooses(t *testing.T) {
	t.Run("not loaded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := window.Presets["picoclaw"]
			c.When = window.WhenAsk
			w, ag := compacting(t, c, 1<<20, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.HistoryMessages = 40 })
			w.talk(22)
			if ag.count() != 1 || w.history("1").Summary == nil {
				t.Errorf("%d summaries", ag.count())
			}
		})
	})
	t.Run("too long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := window.Presets["picoclaw"]
			c.When = window.WhenAsk
			w, ag := compacting(t, c, 4096)
			for range 10 {
				w.say("1", strings.Repeat("many words ", 400))
				synctest.Wait()
			}
			if ag.count() == 0 || w.history("1").Summary == nil {
				t.Errorf("%d summaries", ag.count())
			}
		})
	})
}
