package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// errDisk is a failure that goes away.
var errDisk = errors.New("disk full")

// shaky is a store that refuses the next outcomes of deliveries and the next
// steps of journals.
type shaky struct {
	gateway.Outbox
	gateway.Work
	sent, steps atomic.Int32
}

func (s *shaky) MarkSent(ctx context.Context, c sessions.Claim, id string, r channels.Receipt) error {
	if s.sent.Add(-1) >= 0 {
		return errDisk
	}
	return s.Outbox.MarkSent(ctx, c, id, r)
}

func (s *shaky) Reschedule(ctx context.Context, c sessions.Claim, id string, until time.Time, uncertain bool, why string) error {
	if s.sent.Add(-1) >= 0 {
		return errDisk
	}
	return s.Outbox.Reschedule(ctx, c, id, until, uncertain, why)
}

func (s *shaky) AppendStep(ctx context.Context, c sessions.Claim, turn string, a []sessions.Answered, step sessions.Step) error {
	if s.steps.Add(-1) >= 0 {
		return errDisk
	}
	return s.Work.AppendStep(ctx, c, turn, a, step)
}

// onShaky runs a world on such a store.
func onShaky(s *shaky) change {
	return func(w *world, _ *gateway.Binding, _ *gateway.Options) {
		s.Outbox, s.Work = w.mem, w.mem
		w.store.Outbox, w.store.Work = s, s
	}
}

// The process remembers the network's receipt even if it cannot be recorded:
// nothing that has arrived is sent again.
func TestASendingThatCannotBeRecordedIsNotRepeated(t *testing.T) {
	for name, tt := range map[string]struct {
		fail error
		want string
	}{
		"it arrived":      {nil, "echo hello"},
		"it was not sent": {&channels.NotSent{Err: errors.New("refused")}, "echo hello"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shaky{}
				w := start(t, onShaky(s))
				first := true
				w.net.failWith(func(channels.Outbound) error {
					if first {
						first = false
						return tt.fail
					}
					return nil
				})
				s.sent.Store(3)
				w.say("1", "hello")
				time.Sleep(10 * time.Minute)
				w.expect("1", tt.want)
				if n := w.seen.get("repeated net"); n != 0 {
					t.Errorf("%d repeats, want none", n)
				}
				if st, err := w.mem.Stats(t.Context()); err != nil || st.Unsent != 0 {
					t.Errorf("Stats = %+v, %v; want nothing unsent", st, err)
				}
			})
		})
	}
}

// A journal that cannot be written for a moment is a failure of the store: the
// turn runs again, and the person hears nothing of it.
func TestAJournalThatFailsForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shaky{}
		s.steps.Store(2)
		w := start(t, onShaky(s))
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			step := sessions.Step{Kind: sessions.StepToolStart, CallID: "a"}
			if err := turn.Record(ctx, step); err != nil {
				return "", fmt.Errorf("agent: journal: %w", err)
			}
			return echo(ctx, turn)
		}
		w.say("1", "hello")
		time.Sleep(time.Minute)
		w.expect("1", "echo hello")
	})
}

// A journal that can never be written ends in an apology after
// Options.GiveUpAfter.
func TestAJournalThatFailsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shaky{}
		s.steps.Store(1 << 30)
		w := start(t, onShaky(s))
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			return "", fmt.Errorf("agent: journal: %w", turn.Record(ctx, sessions.Step{Kind: sessions.StepToolStart, CallID: "a"}))
		}
		w.say("1", "hello")
		time.Sleep(5 * time.Minute)
		w.expect("1")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := w.net.texts("1"); len(got) != 1 || !strings.HasPrefix(got[0], "Sorry, something went wrong") {
			t.Errorf("the person reads %q, want an apology", got)
		}
	})
}

// panicky is a network whose typing sign panics.
type panicky struct{ *network }

func (panicky) Typing(context.Context, channels.Key) error { panic("bug in the typing sign") }

func TestAPanicInTypingHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) { b.Channel = panicky{w.net} })
		w.agent.run = slowEcho(5 * time.Second)
		w.say("1", "hello")
		time.Sleep(time.Minute)
		w.expect("1", "echo hello")
	})
}

// A panic's value may contain chat text. No address in a stack looks like the
// word of this test.
func TestAPanicTellsNoWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		first := true
		w.net.failWith(func(m channels.Outbound) error {
			if first {
				first = false
				panic("cannot render: " + m.Text)
			}
			return nil
		})
		w.say("1", "my PIN is zwiebelfisch")
		time.Sleep(time.Minute)
		w.expect("1", "↻ echo my PIN is zwiebelfisch")
		w.close()
		if !strings.Contains(logged.String(), "panicked") {
			t.Errorf("the log does not tell of the panic:\n%s", &logged)
		}
		if strings.Contains(logged.String(), "zwiebelfisch") {
			t.Errorf("the log tells what was said:\n%s", &logged)
		}
	})
}

// dead is a store whose dispatcher ends at once.
type dead struct {
	gateway.Work
	err error
}

func (d dead) Run(context.Context, sessions.Handler) error { return d.err }

// Run ends when the store's dispatcher does, although the sweep of old
// conversations sleeps for a day.
func TestRunEndsWithTheStore(t *testing.T) {
	for name, broken := range map[string]error{"in failure": errDisk, "too early": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := sqlitetest.Open(t, nil)
				t.Cleanup(func() { _ = mem.Close() })
				store := storeOf(mem)
				store.Work = dead{mem, broken}
				gw, err := gateway.New(store, &scripted{run: echo}, nil, gateway.Options{Limits: gateway.Limits{RetentionDays: 30}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- gw.Run(ctx) }()
				select {
				case err = <-ended:
				case <-time.After(time.Hour):
					cancel()
					t.Fatal("Run did not end with its store")
				}
				cancel()
				if !errors.Is(err, broken) {
					t.Errorf("Run() = %v, want %v", err, broken)
				}
			})
		})
	}
}
