package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/gateway"
	"dragoman/sessions/sqlite/sqlitetest"
)

// keeps decides that turns are parked for d, with a sentence.
func keeps(sentence string, d time.Duration) func(admission.Turn) (admission.Verdict, error) {
	return func(t admission.Turn) (admission.Verdict, error) {
		return admission.Verdict{Say: sentence, Until: t.At.Add(d)}, nil
	}
}

// A turn that a rule parks says so once, however long it takes, holds back what comes after
// it, and is answered when the rule lets it go on.
func TestARuleParksATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rule{decide: keeps("Later. /status says more.", time.Hour)}
		w := start(t, ruled(r), func(_ *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = exclaims{b.Channel.(*network)} })
		w.say("1", "one")
		w.expect("1", "Later. !status says more.")
		w.say("1", "two")
		time.Sleep(5*time.Hour + time.Minute)
		w.expect("1", "Later. !status says more.")
		if n := r.times(); n < 5 || n > 7 {
			t.Errorf("the rule was asked %d times in five hours, want once each hour", n)
		}
		if turns, _ := w.gw.Running(); turns != 0 || gateway.Chats(w.gw) != 0 {
			t.Errorf("%d turns run and %d chats are remembered while one is parked", turns, gateway.Chats(w.gw))
		}
		if n := w.seen.get("turn parked"); n != 1 {
			t.Errorf("%d turns were counted as parked, want one", n)
		}
		r.set(keeps("Not before midnight.", time.Hour))
		time.Sleep(time.Hour)
		w.expect("1", "Later. !status says more.", "Not before midnight.")
		r.set(ends(""))
		time.Sleep(time.Hour)
		w.expect("1", "Later. !status says more.", "Not before midnight.", "echo one", "echo two")
	})
}

// The hours for which a turn was parked are no reason to give it up.
func TestATurnIsNotTooOldAfterItWasParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rule{decide: keeps("Later.", 24*time.Hour)}
		w := start(t, ruled(r))
		w.say("1", "one")
		w.expect("1", "Later.")
		tries := 0
		w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) {
			tries++
			if tries < 4 {
				return "", &agent.ModelError{Kind: agent.ErrorTemporary, Cause: agent.CauseUnreachable, Err: errors.New("away")}
			}
			return "well", nil
		}
		r.set(ends(""))
		time.Sleep(25 * time.Hour)
		w.expect("1", "Later.", "well")
	})
}

// Whoever waits can end it, sees it in /status, and reads that it was kept.
func TestAParkedTurnIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rule{decide: keeps("Back on Monday.", 24*time.Hour)}
		w := start(t, ruled(r))
		w.say("1", "one")
		synctest.Wait()
		w.say("1", "/status")
		synctest.Wait()
		got := w.net.texts("1")
		if len(got) != 2 || !strings.Contains(got[1], "A message is kept here for later (Back on Monday.); /stop drops it.") || strings.Contains(got[1], "empty") {
			t.Errorf("the person reads %q", got)
		}
		w.say("1", "/stop")
		synctest.Wait()
		got = w.net.texts("1")
		if want := "Stopped. Your message was kept for later. I will not answer it now; ask again whenever you like."; got[len(got)-1] != want {
			t.Errorf("/stop says %q, want %q", got[len(got)-1], want)
		}
		r.set(ends(""))
		w.say("1", "two")
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		if got := w.net.texts("1"); len(got) != 4 || got[3] != "echo two" {
			t.Errorf("the person reads %q, want an answer to the second message alone", got)
		}
	})
}

// New rules, and a start with others, let parked turns go on at once.
func TestNewRulesAreAskedAboutParkedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rule{decide: keeps("Later.", 24*time.Hour)}
		w := start(t, ruled(r))
		w.say("1", "one")
		w.expect("1", "Later.")
		w.setRules()
		w.expect("1", "Later.", "echo one")
	})
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		store := sqlitetest.OpenIn(t, folder, nil)
		in := func(w *world, _ *gateway.Binding, _ *gateway.Options) { w.store = storeOf(store) }
		w := start(t, ruled(&rule{decide: keeps("Later.", 24*time.Hour)}), in)
		w.say("1", "one")
		w.expect("1", "Later.")
		w.close()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		store = sqlitetest.OpenIn(t, folder, nil)
		start(t, in).expect("1", "echo one")
	})
}

// Whoever asks where a budget is used up learns that, when it begins anew, and the sentence.
func TestAskBeyondABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, ruled(&rule{decide: func(turn admission.Turn) (admission.Verdict, error) {
			return admission.Verdict{Say: "All is used.", Again: turn.At.Add(time.Hour)}, nil
		}}))
		_, err := w.gw.Ask(t.Context(), gateway.Question{Key: channels.MustKey("net:1"), ID: "q", Text: "hello"})
		var refused *gateway.RefusedError
		if !errors.As(err, &refused) || !refused.Spent || refused.After <= 0 || refused.After > time.Hour || refused.Why != "All is used." {
			t.Errorf("Ask = %+v, want that a budget is used up for an hour", refused)
		}
	})
}

// A turn over messages that its caller keeps is asked about, too.
func TestARuleRefusesAGivenTurn(t *testing.T) {
	for name, tt := range map[string]struct {
		decide func(admission.Turn) (admission.Verdict, error)
		later  bool
	}{
		"ends":  {ends("Not now."), false},
		"parks": {keeps("Not now.", time.Hour), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, ruled(&rule{decide: tt.decide}))
				_, err := w.gw.Given(t.Context(), agent.Turn{ID: "g", Key: channels.MustKey("openai:token:a")})
				var refused *gateway.RefusedError
				if !errors.As(err, &refused) || refused.Why != "Not now." || refused.Later != tt.later {
					t.Errorf("Given = %v, want the sentence, later: %t", err, tt.later)
				}
				if n := w.agent.count(); n != 0 {
					t.Errorf("the model was asked %d times, want never", n)
				}
			})
		})
	}
}
