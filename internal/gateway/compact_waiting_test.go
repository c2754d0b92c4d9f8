package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent/recap"
	"dragoman/channels"
	"dragoman/sessions"
)

// TestCompactBehindARunningSummary: a person who asks while an automatic
// summary is being made hears once how it ended, but not in a conversation that
// was deleted meanwhile.
func TestCompactBehindARunningSummary(t *testing.T) {
	const busy, began = "I am summarising this conversation already.", "A new conversation begins. The old one is kept."
	const nothing = "There is nothing left to summarise here. Nothing is lost, and this conversation goes on as before."
	const changed = "This conversation changed while I summarised it, so I dropped that summary. You can ask for it again with /compact."
	const failed = "I could not summarise this conversation. Nothing is lost, and it goes on as before; you can ask for it again with /compact."
	nothingElse := func(*testing.T, *world) {}
	for name, test := range map[string]struct {
		ends      error // of the summary
		meanwhile func(*testing.T, *world)
		want      []string
	}{
		"done":               {nil, nothingElse, []string{busy}},
		"failed":             {errors.New("model down"), nothingElse, []string{busy, failed}},
		"nothing to do":      {fmt.Errorf("test: %w", recap.ErrNothingToSummarize), nothingElse, []string{busy, nothing}},
		"nothing, after all": {recap.ErrNothingToSummarize, func(_ *testing.T, w *world) { w.say("1", "/compact") }, []string{busy, busy, nothing}},
		"a new conversation": {nil, func(_ *testing.T, w *world) { w.say("1", "/new") }, []string{busy, began, changed}},
		"summarised elsewhere": {nil, func(t *testing.T, w *world) {
			h := w.history("1")
			if err := w.mem.AddSummary(t.Context(), channels.MustKey("net:1"), sessions.Summary{Text: "They talked.", Generation: h.Generation, CoversSeq: h.Messages[1].Seq}); err != nil {
				t.Fatal(err)
			}
		}, []string{busy, changed}},
		"deleted":                {nil, deleteFirst, []string{busy}},
		"deleted, and it failed": {errors.New("model down"), deleteFirst, []string{busy}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.agent.can = true
				w.agent.needs = func(h sessions.History) bool { return h.Summary == nil && len(h.Messages) > 0 }
				w.agent.summarize = func(_ context.Context, h sessions.History) (sessions.Summary, error) {
					time.Sleep(time.Minute)
					return sessions.Summary{Text: "They talked.", Generation: h.Generation, CoversSeq: h.Messages[len(h.Messages)-1].Seq}, test.ends
				}
				w.say("1", "hello")
				synctest.Wait() // its summary is being made
				w.say("1", "/compact")
				synctest.Wait()
				test.meanwhile(t, w)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				got := slices.DeleteFunc(w.net.texts("1"), func(s string) bool { return strings.HasPrefix(s, "echo") })
				if !slices.Equal(got, test.want) {
					t.Errorf("it says %q, want %q", got, test.want)
				}
			})
		})
	}
}

func deleteFirst(t *testing.T, w *world) {
	if err := w.mem.Delete(t.Context(), channels.MustKey("net:1")); err != nil {
		t.Fatal(err)
	}
}

// TestCompactBehindAWaitingSummary: a summary that waits for a slot is made if
// a person asks for it, too, even if it is no longer needed. If a turn has made
// it meanwhile, it is not made again.
func TestCompactBehindAWaitingSummary(t *testing.T) {
	for name, overtaken := range map[string]bool{"nobody else makes it": false, "a turn makes it": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t) // one slot
				w.agent.can = true
				var idle atomic.Bool
				w.agent.needs = func(sessions.History) bool { return !idle.Load() }
				made := 0
				w.agent.summarize = func(_ context.Context, h sessions.History) (sessions.Summary, error) {
					if h.Messages[0].Content == "slow" {
						time.Sleep(4 * time.Minute)
					} else {
						made++
					}
					return sessions.Summary{Text: "They talked.", Generation: h.Generation, CoversSeq: h.Messages[len(h.Messages)-1].Seq}, nil
				}
				w.say("2", "slow")
				synctest.Wait()
				w.say("1", "hello")
				synctest.Wait() // its summary waits for the slot
				w.say("1", "/compact")
				synctest.Wait()
				idle.Store(true)
				if overtaken {
					w.compacting()
					w.say("1", "hello again")
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if made != 1 || w.history("1").Summary == nil {
					t.Errorf("%d summaries made, want one", made)
				}
				if got := w.net.texts("1"); !slices.Contains(got, "I am summarising this conversation already.") || len(got) != len(w.agent.turns) {
					t.Errorf("it says %q, want one word about the summary", got)
				}
			})
		})
	}
}
