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

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// limited is the error of a server that asks for a pause.
func limited(after time.Duration) error {
	return &agent.ModelError{Kind: agent.ErrorTemporary, Status: 429, After: after, Cause: agent.CauseBusy, Err: errors.New("slow down")}
}

// refused is the error of a server that is not there.
func refused() error {
	return &agent.ModelError{Kind: agent.ErrorTemporary, Cause: agent.CauseUnreachable, Err: errors.New("connection refused")}
}

// failsUntil is a model that fails with err until then, and answers afterwards.
func failsUntil(then time.Time, err error) func(context.Context, agent.Turn) (string, error) {
	return func(ctx context.Context, t agent.Turn) (string, error) {
		if time.Now().Before(then) {
			return "", err
		}
		return echo(ctx, t)
	}
}

// Dragoman does not wait for a pause of a day that a server names: it tries the
// model now and then, and later messages do not wait for an older one.
func TestLongPauseIsLookedAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.run = failsUntil(time.Now().Add(3*time.Second), limited(24*time.Hour))
		w.say("1", "hello")
		w.expect("1")
		time.Sleep(10 * time.Second)
		w.say("1", "are you there?")
		time.Sleep(time.Minute)
		w.expect("1", "echo hello | are you there?")
		w.say("1", "again")
		w.expect("1", "echo hello | are you there?", "echo again")
	})
}

// No pause is longer than agent.give_up_after, and the last attempt is made
// when that time is over.
func TestLongPauseEndsWithPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.GiveUpAfter = 150 * time.Second })
		var tried []time.Duration
		began := time.Now()
		w.agent.run = func(context.Context, agent.Turn) (string, error) {
			tried = append(tried, time.Since(began).Round(time.Second))
			return "", limited(24 * time.Hour)
		}
		w.say("1", "hello")
		time.Sleep(149 * time.Second)
		w.expect("1")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := w.net.texts("1"); len(got) != 1 || !strings.Contains(got[0], "was overloaded for a while, so I have given up") {
			t.Errorf("after 151 s it says %q, want one apology", got)
		}
		if want := []time.Duration{0, time.Minute, 2 * time.Minute, 150 * time.Second}; !slices.Equal(tried, want) {
			t.Errorf("the model was asked after %v, want %v", tried, want)
		}
	})
}

// When one conversation's call succeeds, all conversations that wait for the
// same model continue at once, each with everything asked meanwhile, and no
// others.
func TestAWellModelWakesThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		down := true
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if down || turn.History.Settings.Model == "other" {
				return "", limited(time.Hour)
			}
			return echo(ctx, turn)
		}
		w.configure("3", func(s *sessions.Settings) { s.Model = "other" })
		w.say("1", "one")
		w.say("1", "two")
		w.say("3", "three")
		synctest.Wait()
		time.Sleep(5 * time.Second)
		asked := w.agent.count()
		down = false
		w.say("2", "hello")
		w.expect("2", "echo hello")
		w.expect("1", "echo one | two")
		w.expect("3")
		if n := w.agent.count() - asked; n != 2 {
			t.Errorf("%d turns were run, want that of the one who asked and of the one who waited", n)
		}
	})
}

// A successful call within a turn does the same.
func TestAStepWakesThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		var up atomic.Bool
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if !up.Load() {
				return "", limited(time.Hour)
			}
			if turn.Key.Chat() == "2" {
				m := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "sleep", Arguments: "{}"}}}
				if err := turn.Record(ctx, sessions.Step{Kind: sessions.StepModel, Message: &m}); err != nil {
					return "", err
				}
				time.Sleep(20 * time.Second)
			}
			return echo(ctx, turn)
		}
		w.say("1", "one")
		time.Sleep(5 * time.Second)
		up.Store(true)
		w.say("2", "hello")
		w.expect("1", "echo one")
		w.expect("2")
		time.Sleep(20 * time.Second)
		w.expect("2", "echo hello")
	})
}

// A person whose own server was away does not wait long after it is back.
func TestBackoffStaysShort(t *testing.T) {
	for _, away := range []time.Duration{30 * time.Second, 70 * time.Second, 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t)
			w.agent.run = failsUntil(time.Now().Add(away), refused())
			w.say("1", "hello")
			time.Sleep(away + 11*time.Second)
			w.expect("1", "echo hello")
		})
	}
}

// A turn that fails three times in the same way is given up. One whose failures
// differ, or mean that the server is away, is not.
func TestTheSameFailureEndsTheTurn(t *testing.T) {
	broken := func(status int, words string) *agent.ModelError {
		return &agent.ModelError{Kind: agent.ErrorTemporary, Status: status, Err: errors.New(words)}
	}
	cut := "the stream ended before the answer was complete"
	for name, test := range map[string]struct {
		fails func(n int) error
		tries int           // until it is given up
		most  time.Duration // when that is at the latest
	}{
		"a broken stream": {func(int) error { return broken(0, cut) }, 3, 15 * time.Second},
		"with another id": {func(n int) error { return broken(200, fmt.Sprintf("%s (req_%dab)", cut, n)) }, 3, 15 * time.Second},
		"differently":     {func(n int) error { return broken(0, cut+strings.Repeat("!", n%2)) }, 30, 11 * time.Minute},
		"with outages between": {func(n int) error {
			if n%2 == 0 {
				return refused()
			}
			return broken(0, cut)
		}, 5, time.Minute},
		"an error of its own":   {func(int) error { return broken(500, "wrong format") }, 6, 90 * time.Second},
		"away":                  {func(int) error { return refused() }, 30, 11 * time.Minute},
		"away, without a cause": {func(int) error { return broken(0, "dial tcp: connect: connection refused") }, 30, 11 * time.Minute},
		"a gateway":             {func(int) error { return broken(502, "bad gateway") }, 30, 11 * time.Minute},
		"limited":               {func(int) error { return limited(time.Second) }, 30, 11 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.agent.run = func(context.Context, agent.Turn) (string, error) { return "", test.fails(w.agent.count()) }
				w.say("1", "hello")
				time.Sleep(test.most)
				synctest.Wait()
				got, n := w.net.texts("1"), w.agent.count()
				if len(got) != 1 || n < test.tries || test.tries == 3 && n != 3 {
					t.Fatalf("after %s and %d attempts it says %q, want one apology after %d", test.most, n, got, test.tries)
				}
				if same := strings.Contains(got[0], "broken three times in the same way"); same != (test.tries < 30) {
					t.Errorf("it says %q", got[0])
				}
			})
		})
	}
}

// A /stop of a message that waits for the model says that it waited, and
// /status says so before.
func TestStopOfAMessageThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Model = "big" })
		w.agent.run = failsUntil(time.Now().Add(time.Hour), limited(5*time.Minute))
		w.say("1", "hello")
		time.Sleep(3 * time.Second)
		w.say("1", "/status")
		synctest.Wait()
		got := w.net.texts("1")
		if len(got) != 1 || !strings.Contains(got[0], "asked me to wait for 4m57s") || !strings.Contains(got[0], "A message is waiting here") {
			t.Errorf("/status says %q, want that the model rests and a message waits", got)
		}
		w.say("1", "/stop")
		w.expect("1", got[0], "Stopped. Your message was waiting, because the model is not answering yet. I will not answer it now; ask again whenever you like.")
		w.say("1", "/stop")
		synctest.Wait()
		if got := w.net.texts("1"); len(got) != 3 || got[2] != "Nothing is running now." {
			t.Errorf("a second /stop says %q", got)
		}
		time.Sleep(2 * time.Hour)
		if got := w.net.texts("1"); len(got) != 3 {
			t.Errorf("what was stopped is answered: %q", got)
		}
	})
}

// TestStatusNamesWhoAnswered: /status distinguishes a fallback from the model
// that was asked.
func TestStatusNamesWhoAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Model = "big" })
		for by, want := range map[string]bool{"small": true, "big": false, "": false} {
			w.agent.by = by
			w.say("1", "/new")
			w.say("1", "hello")
			synctest.Wait()
			w.say("1", "/status")
			synctest.Wait()
			got := w.net.texts("1")
			last := got[len(got)-1]
			if strings.Contains(last, "The last answer was written by ") != want || !strings.Contains(last, "model big") {
				t.Errorf("after an answer of %q /status says %q", by, last)
			}
		}
	})
}

// configure changes the settings of a chat.
func (w *world) configure(chat string, change func(*sessions.Settings)) {
	w.t.Helper()
	if err := w.mem.Configure(w.t.Context(), channels.MustKey("net:"+chat), func(s *sessions.Settings) error { change(s); return nil }); err != nil {
		w.t.Fatal(err)
	}
}
