package gateway_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/internal/admission"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// payer is a rule that counts tokens for whoever caused them.
type payer struct{}

func (payer) Before(context.Context, admission.Turn) (admission.Verdict, error) {
	return admission.Verdict{}, nil
}

func (payer) Count(t admission.Turn, used sessions.Usage) []sessions.Count {
	if used.Input == 0 {
		return nil
	}
	return []sessions.Count{{Kind: "tokens", Owner: t.Owner, Day: "20261128", N: int64(used.Input)}}
}

func paying(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Rules = []admission.Rule{payer{}} }

// journalCalls journals an answer of the model that used ten tokens and calls a tool.
func journalCalls(ctx context.Context, t agent.Turn) error {
	return t.Record(ctx, sessions.Step{Kind: sessions.StepModel, Message: &sessions.Message{
		Role: sessions.RoleAssistant, Model: "m", Usage: &sessions.Usage{Input: 10}, ToolCalls: []sessions.ToolCall{{ID: "c", Name: "look"}},
	}})
}

// What a turn used counts for whoever caused it, also if it fails after that, in an earlier
// attempt or in this one, or if a /stop or a /new ends it while it runs or waits.
func TestWhatATurnUsedCountsHoweverItEnds(t *testing.T) {
	broken := &agent.ModelError{Kind: agent.ErrorInvalid, Err: errors.New("no")}
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, test := range map[string]struct {
		ends func(ctx context.Context, attempt int) error
		say  string // after ten seconds
		want int64
	}{
		"fails":                     {func(context.Context, int) error { return broken }, "", 10},
		"fails in another attempt":  {func(_ context.Context, attempt int) error { return [...]error{limited(time.Second), broken}[attempt] }, "", 20},
		"is stopped while it runs":  {func(ctx context.Context, _ int) error { return waits(ctx) }, "/stop", 10},
		"is stopped while it waits": {func(context.Context, int) error { return limited(time.Minute) }, "/stop", 10},
		"is ended by a /new":        {func(ctx context.Context, _ int) error { return waits(ctx) }, "/new", 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, paying)
				attempt := 0
				w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
					err := journalCalls(ctx, turn)
					if err == nil {
						err = test.ends(ctx, attempt)
					}
					attempt++
					return "done", err
				}
				w.say("1", "hello")
				time.Sleep(10 * time.Second)
				if test.say != "" {
					w.say("1", test.say)
					synctest.Wait()
				}
				time.Sleep(time.Hour)
				if n := w.sum("tokens", "1"); n != test.want {
					t.Errorf("%d tokens are counted, want %d", n, test.want)
				}
			})
		})
	}
}

// A summary counts for the author of the newest message, or for whoever asked for it, in
// the commit that stores it; and also if it turns out to be none.
func TestASummaryCountsForWhoeverCausedIt(t *testing.T) {
	for name, test := range map[string]struct {
		err error
	}{"stored": {}, "refused by us": {errors.New("it is no summary")}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, paying)
				w.agent.summarize = func(_ context.Context, h sessions.History) (sessions.Summary, error) {
					s := sessions.Summary{Model: "m", Used: sessions.Usage{Input: 7}}
					if test.err == nil {
						s.Text = "They talked."
						s.Generation = h.Generation
						s.CoversSeq = h.Messages[len(h.Messages)-1].Seq
					}
					return s, test.err
				}
				w.agent.needs = func(h sessions.History) bool { return len(h.Messages) > 0 && h.Summary == nil }
				w.say("1", "hello")
				synctest.Wait()
				if n := w.sum("tokens", "1"); n != 7 {
					t.Errorf("%d tokens are counted for the author, want 7", n)
				}
				w.agent.can = true
				time.Sleep(time.Hour)
				w.say("1", "/compact")
				synctest.Wait()
				want := int64(7)
				if test.err != nil {
					want = 14
				}
				if n := w.sum("tokens", "1"); n != want {
					t.Errorf("%d tokens are counted after /compact, want %d", n, want)
				}
			})
		})
	}
}
