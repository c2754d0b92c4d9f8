package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// Before tools run, everybody whom the turn answers must still be allowed, not only who wrote
// last.
func TestEverybodyInATurnMustBeAllowed(t *testing.T) {
	for out, want := range map[string]bool{"2": false, "3": false, "4": true, "none": true} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.MaxTurns = 1 })
			asked := ""
			w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
				if turn.Key.Chat() == "1" { // keeps the others waiting
					time.Sleep(time.Minute)
					return "done", nil
				}
				before, err := turn.MayUseTools(ctx)
				if err != nil {
					return "", err
				}
				allow := slices.DeleteFunc([]string{"1", "2", "3", "4"}, func(id string) bool { return id == out })
				if err := changeNet(func(b *gateway.Binding) { b.Allow = allow })(w); err != nil {
					return "", err
				}
				after, err := turn.MayUseTools(ctx)
				asked = inputs(turn)
				return fmt.Sprint(before, " ", after), err
			}
			w.say("1", "first")
			synctest.Wait()
			for _, who := range []string{"2", "3"} {
				m := w.message("group", "from "+who)
				m.Private, m.Addressed = false, true
				m.Sender = channels.Person{IDs: []string{who}, Name: who}
				w.accept(m)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if asked != "from 2 | from 3" {
				t.Fatalf("the turn answers %q, want both", asked)
			}
			w.expect("group", fmt.Sprint("true ", want))
		})
	}
}

// Of a stranger's messages, the first five wait for the approval, in memory.
func TestStrangersMessagesAreFew(t *testing.T) {
	for wrote, answered := range map[int]int{1: 1, 5: 5, 6: 5, 10: 5} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, func(_ *world, b *gateway.Binding, _ *gateway.Options) { b.Pairing = true })
			for i := range wrote {
				w.say("stranger", fmt.Sprint("m", i))
			}
			synctest.Wait()
			waiting, err := w.mem.Pairings(t.Context(), time.Now())
			if err != nil || len(waiting) != 1 {
				t.Fatalf("Pairings = %+v, %v", waiting, err)
			}
			if _, err := w.gw.ApprovePairing(t.Context(), waiting[0].Code, time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			for i := range wrote {
				if got := strings.Contains(strings.Join(w.net.texts("stranger"), "\n"), fmt.Sprint("m", i)); got != (i < answered) {
					t.Errorf("of %d, message %d is answered: %t; in all: %q", wrote, i, got, w.net.texts("stranger"))
				}
			}
		})
	}
}

// A message that was steered into a turn is in its journal. When the turn runs again, it is
// not among the turn's questions as well.
func TestSteeredMessageIsShownOnceAfterACrash(t *testing.T) {
	for name, more := range map[string][]string{
		"none": nil, "one": {"two"}, "two": {"two", "three"}, "the same again": {"two", "two"},
	} {
		t.Run(name, func(t *testing.T) { steeredOverACrash(t, more) })
	}
}

func steeredOverACrash(t *testing.T, more []string) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, withQueue(gateway.Steer))
		var again agent.Turn
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if len(turn.Steps) > 0 || len(more) == 0 {
				again = turn
				return "done", nil
			}
			time.Sleep(10 * time.Second)
			if _, err := turn.Steer(ctx); err != nil {
				return "", err
			}
			return "", &agent.ModelError{Kind: agent.ErrorTemporary, Err: errors.New("the server has gone")}
		}
		w.say("1", "one")
		time.Sleep(time.Second)
		for _, text := range more {
			w.say("1", text)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		var steered []string
		for _, s := range again.Steps {
			if s.Kind == sessions.StepSteer {
				steered = append(steered, s.Message.Content)
			}
		}
		if got := inputs(again); got != "one" || !slices.Equal(steered, more) {
			t.Errorf("the turn runs again with the questions %q and the steered %q, want one and %q, once each", got, steered, more)
		}
		w.expect("1", "done")
	})
}

// The message that shows a preview becomes the first piece of a long answer: in any other
// place the end would be above the beginning.
func TestPreviewBecomesTheFirstPiece(t *testing.T) {
	for page, pieces := range map[int]int{15: 5, 20: 4, 30: 3, 200: 1} {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = paged{w.net, page} })
			w.agent.run = streaming("a word of the answer", "and one more of them", "and the last of them")
			w.say("1", "write")
			time.Sleep(time.Minute)
			synctest.Wait()
			var edits []string
			for _, m := range w.net.sent {
				edits = append(edits, m.Edit)
			}
			if len(edits) != pieces || edits[0] != "p1" || strings.Join(edits[1:], "") != "" {
				t.Errorf("pages of %d: the pieces %q edit %q, want %d of which the preview becomes the first one alone", page, w.net.texts("1"), edits, pieces)
			}
		})
	}
}

// Once a message may have arrived, each further attempt says so, whatever happened between.
func TestUncertainForGood(t *testing.T) {
	unknown := errors.New("timeout")
	refused := &channels.NotSent{Err: errors.New("no connection")}
	pause := &channels.Retry{After: time.Second}
	for name, failures := range map[string][]error{
		"then not sent":     {unknown, refused},
		"then a pause":      {unknown, pause},
		"then both":         {unknown, refused, pause, refused},
		"after others":      {refused, pause, unknown, refused},
		"only at the end":   {refused, unknown},
		"never (no marker)": {refused, pause, refused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				left := slices.Clone(failures)
				w.net.failWith(func(channels.Outbound) error {
					if len(left) == 0 {
						return nil
					}
					err := left[0]
					left = left[1:]
					return err
				})
				w.say("1", "hello")
				time.Sleep(time.Hour)
				synctest.Wait()
				want := "echo hello"
				if slices.Contains(failures, unknown) {
					want = "↻ echo hello"
				}
				w.expect("1", want)
			})
		})
	}
}
