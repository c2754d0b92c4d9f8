package gateway_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/budget"
	"dragoman/internal/gateway"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// keeping is the rule of a budget of everybody that keeps messages.
func keeping(w *world, limit float64) admission.Rule {
	s := budget.Settings{Unit: budget.Tokens, Keep: true, All: budget.Limits{Day: limit}}
	return s.Rule(admission.Setup{Sums: w.mem, Zone: time.UTC, MaxTokens: 1})
}

// spends is an agent whose turns make one call each, and echo.
func spends(w *world) {
	w.agent.run = func(ctx context.Context, t agent.Turn) (string, error) {
		if t.Meter == nil {
			return echo(ctx, t)
		}
		say, err := t.Meter.Begin(ctx, "m", callTokens-1)
		if err != nil || say != "" {
			return say, err
		}
		t.Meter.Used(nil)
		return echo(ctx, t)
	}
}

const (
	keptUntil = "I have used today's 100 tokens for everybody. I go on at 00:00 (UTC) and answer you then, or ask whoever runs me."
	keptStop  = "Stopped. Your message was kept for later. I will not answer it now; ask again whenever you like. I have not answered “one”, “two”."
)

// Messages beyond a budget are kept if it says so: each conversation is told once, what is
// written after it waits, and all are answered, in order, when the budget goes on, at its time
// or with new limits, after a restart, too. A /stop ends it.
func TestABudgetKeepsMessages(t *testing.T) {
	for name, goesOn := range map[string]func(t *testing.T, w *world) *world{
		"at its time":       func(_ *testing.T, w *world) *world { time.Sleep(24 * time.Hour); return w },
		"with a new limit":  func(_ *testing.T, w *world) *world { w.setRules(keeping(w, 1e6)); return w },
		"without the rule":  func(_ *testing.T, w *world) *world { w.setRules(); return w },
		"after a restart":   nil,
		"and /stop ends it": func(_ *testing.T, w *world) *world { return w },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				folder := t.TempDir()
				spend(t, folder, callTokens)
				open := func() *world {
					return start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
						w.mem = sqlitetest.OpenIn(t, folder, nil)
						w.store = storeOf(w.mem)
						w.n = int(time.Now().Unix())
						o.Rules = []admission.Rule{keeping(w, callTokens)}
						spends(w)
					})
				}
				w := open()
				w.say("1", "one")
				w.expect("1", keptUntil)
				w.say("1", "two")
				time.Sleep(3 * time.Hour)
				w.expect("1", keptUntil)
				said, err := w.gw.Converse(t.Context(), gateway.Question{Key: channels.MustKey("net:2"), ID: "q", Text: "hello", Leave: true})
				if err != nil || !said.Parked || said.Text != keptUntil {
					t.Errorf("a program that asks gets %+v, %v; want that the turn is parked", said, err)
				}
				before := []string{keptUntil}
				if goesOn == nil {
					w.close()
					if err := w.mem.Close(); err != nil {
						t.Fatal(err)
					}
					w = open()
					before = nil // its network is another one
					time.Sleep(time.Minute)
					w.expect("1", before...)
					time.Sleep(24 * time.Hour)
				} else {
					w = goesOn(t, w)
				}
				if name == "and /stop ends it" {
					w.say("1", "/stop")
					w.expect("1", keptUntil, keptStop)
					time.Sleep(24 * time.Hour)
					w.expect("1", keptUntil, keptStop)
					return
				}
				w.expect("1", append(before, "echo one", "echo two")...)
			})
		})
	}
}

// Nothing is left by the time at which the first call of a turn may begin: the turn is kept as
// one that had not begun. What has begun ends with the sentence.
func TestABudgetKeepsATurnThatHadToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.Rules = []admission.Rule{keeping(w, callTokens)}
			w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
				say, err := turn.Meter.Begin(ctx, "m", callTokens-1)
				if err != nil || say != "" {
					return say, err
				}
				time.Sleep(time.Second)
				if err := journalCalls(ctx, turn); err != nil {
					return "", err
				}
				turn.Meter.Used(&sessions.Usage{Input: callTokens - 1, Output: 1})
				synctest.Wait() // the other turn looks before this one goes on
				say, err = turn.Meter.Begin(ctx, "m", 1)
				if err != nil || say == "" {
					return "", errors.Join(err, errors.New("a second call begins"))
				}
				return say, nil
			}
		})
		w.say("1", "one")
		synctest.Wait()
		w.say("2", "two")
		time.Sleep(time.Minute)
		w.expect("1", "I have used today's 100 tokens for everybody. I go on at 00:00 (UTC): write again then, or ask whoever runs me.")
		w.expect("2", keptUntil)
	})
}
