package gateway_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

const waitingNotice = "The model is not answering yet. I have kept your message and will keep trying; /stop ends that."

// impatient is a world whose people get the notice after a minute.
func impatient(_ *world, _ *gateway.Binding, o *gateway.Options) { o.SilentFor = time.Minute }

// downUntil is a model that cannot be reached until then, and answers again.
func downUntil(then time.Time) func(context.Context, agent.Turn) (string, error) {
	return func(ctx context.Context, t agent.Turn) (string, error) {
		if time.Now().Before(then) {
			return "", &agent.ModelError{Kind: agent.ErrorTemporary, Err: errors.New("connection refused")}
		}
		return echo(ctx, t)
	}
}

// The person is told once that the model does not answer, however often it is
// tried. Then the answer comes.
func TestSilentModelIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, impatient)
		w.agent.run = downUntil(time.Now().Add(3 * time.Minute))
		asked := w.say("1", "hello")
		time.Sleep(20 * time.Second)
		w.expect("1") // it may be over in a moment
		time.Sleep(41 * time.Second)
		w.expect("1", waitingNotice)
		w.say("1", "are you there?")
		time.Sleep(4 * time.Minute)
		w.expect("1", waitingNotice, "echo hello | are you there?")
		if to := w.net.sent[0].ReplyTo; to != asked.MessageID {
			t.Errorf("the notice answers %q, want %q", to, asked.MessageID)
		}
		if n := w.agent.count(); n < 5 {
			t.Errorf("%d attempts, want several", n)
		}
		// A later wait is another one.
		w.agent.run = downUntil(time.Now().Add(2 * time.Minute))
		w.say("1", "again")
		time.Sleep(4 * time.Minute)
		w.expect("1", waitingNotice, "echo hello | are you there?", waitingNotice, "echo again")
	})
}

// The notice is not a message: neither the transcript nor a feed shows it as
// one, and it needs no answer.
func TestSilenceIsNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, impatient)
		w.agent.run = downUntil(time.Now().Add(2 * time.Minute))
		w.say("1", "hello")
		time.Sleep(4 * time.Minute)
		w.expect("1", waitingNotice, "echo hello")
		if got := w.transcript("1"); len(got) != 2 {
			t.Errorf("transcript %q, want the question and its answer", got)
		}
		items, err := w.mem.Feed(t.Context(), channels.MustKey("net:1"), 0, 10)
		if err != nil || len(items) != 3 || items[0].Text != "hello" || items[1].Text != waitingNotice || items[2].Text != "echo hello" {
			t.Errorf("feed %+v, %v; want the question, the notice and the answer", items, err)
		}
	})
}

// A model that hangs without an error also leads to the notice. One that gives
// signs of life, or is quick, does not.
func TestSilenceWithinOneCall(t *testing.T) {
	for name, test := range map[string]struct {
		run  func(context.Context, agent.Turn) (string, error)
		want []string
	}{
		"hangs":         {slowEcho(90 * time.Second), []string{waitingNotice, "echo hello"}},
		"is slow":       {slowEcho(50 * time.Second), []string{"echo hello"}},
		"thinks":        {signs(func(t agent.Turn) { t.Alive() }), []string{"echo hello"}},
		"uses tools":    {signs(func(t agent.Turn) { t.Progress(agent.Progress{Note: "web_fetch …"}) }), []string{"echo hello"}},
		"hangs at last": {lastSign, []string{waitingNotice, "echo hello"}},
		"only begins": {signs(func(t agent.Turn) { t.Progress(agent.Progress{}) }), []string{
			waitingNotice, "echo hello",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, impatient)
				w.agent.run = test.run
				w.say("1", "hello")
				time.Sleep(5 * time.Minute)
				w.expect("1", test.want...)
			})
		})
	}
}

// signs answers after two minutes, with a sign every 30 seconds.
func signs(sign func(agent.Turn)) func(context.Context, agent.Turn) (string, error) {
	return func(ctx context.Context, t agent.Turn) (string, error) {
		for range 4 {
			sign(t)
			time.Sleep(30 * time.Second)
		}
		return echo(ctx, t)
	}
}

// lastSign is alive once, and silent until its answer.
func lastSign(ctx context.Context, t agent.Turn) (string, error) {
	time.Sleep(30 * time.Second)
	t.Alive()
	time.Sleep(90 * time.Second)
	return echo(ctx, t)
}

// If a server names a long pause, the person is told at once.
func TestLongPauseIsSaidAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, impatient)
		began := time.Now()
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if time.Since(began) < 5*time.Minute {
				return "", &agent.ModelError{Kind: agent.ErrorTemporary, Status: 429, After: 5 * time.Minute, Err: errors.New("slow down")}
			}
			return echo(ctx, turn)
		}
		w.say("1", "hello")
		w.expect("1", waitingNotice)
		time.Sleep(6 * time.Minute)
		w.expect("1", waitingNotice, "echo hello")
	})
}

// The wait of an attempt that hangs continues the wait before it.
func TestSilenceGoesOnOverAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, impatient)
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if w.agent.count() > 1 {
				return slowEcho(5*time.Minute)(ctx, turn)
			}
			time.Sleep(40 * time.Second)
			return "", &agent.ModelError{Kind: agent.ErrorTemporary, Err: errors.New("connection reset")}
		}
		w.say("1", "hello")
		time.Sleep(59 * time.Second)
		w.expect("1")
		time.Sleep(2 * time.Second)
		w.expect("1", waitingNotice)
		time.Sleep(6 * time.Minute)
		w.expect("1", waitingNotice, "echo hello")
	})
}

// The notice is sent once, whoever continues the turn: here another gateway
// with everything that the store had, as after a crash.
func TestSilenceIsSaidOnceOverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, impatient)
		w.agent.run = downUntil(time.Now().Add(5 * time.Minute))
		w.say("1", "hello")
		time.Sleep(2 * time.Minute)
		w.expect("1", waitingNotice)
		store := sqlitetest.Open(t, nil)
		if _, err := store.Restore(t.Context(), w.records()); err != nil {
			t.Fatal(err)
		}
		w.close()
		gw, err := gateway.New(storeOf(store), w.agent, []gateway.Binding{{Channel: w.net, Policy: people.Policy{Allow: []string{"1"}}}}, gateway.Options{Limits: gateway.Limits{SilentFor: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- gw.Run(ctx) }()
		<-w.net.intake
		time.Sleep(6 * time.Minute)
		w.expect("1", waitingNotice, "echo hello")
		cancel()
		if err := errors.Join(<-ended, store.Close()); err != nil {
			t.Errorf("the end = %v", err)
		}
	})
}

// Jobs get no notice, because nobody waits for them.
func TestSilenceOfJobsIsNotSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.Heartbeats, o.SilentFor = jobs{"watch": channels.MustKey("net:1")}, time.Minute
		})
		w.agent.run = downUntil(time.Now().Add(3 * time.Minute))
		due := time.Now().Truncate(time.Second)
		if err := w.mem.Plan(t.Context(), "watch", time.Time{}, due); err != nil {
			t.Fatal(err)
		}
		err := w.mem.Fire(t.Context(), "watch", due, due, due.Add(24*time.Hour), channels.Inbound{
			Key: channels.MustKey("heartbeat:watch"), ID: "hb:watch", Text: "beat",
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Minute)
		w.expect("1", "echo beat")
		if st, err := w.mem.Stats(t.Context()); err != nil || st.Unsent != 0 {
			t.Errorf("Stats = %+v, %v; want nothing left to send", st, err)
		}
	})
}

// records are all that the store holds.
func (w *world) records() func() (sessions.Record, error) {
	w.t.Helper()
	var all []sessions.Record
	if err := w.mem.Dump(w.t.Context(), nil, func(r sessions.Record) error {
		all = append(all, r)
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	return func() (r sessions.Record, err error) {
		if len(all) == 0 {
			return r, io.EOF
		}
		r, all = all[0], all[1:]
		return r, nil
	}
}

// The answer is below the notice, where people look, and their phone announces it: it is
// no edit of a preview above it. That holds within one call and over several.
func TestAnswerFollowsTheNotice(t *testing.T) {
	for name, run := range map[string]func(w *world) func(context.Context, agent.Turn) (string, error){
		"one call": func(*world) func(context.Context, agent.Turn) (string, error) {
			return func(ctx context.Context, turn agent.Turn) (string, error) {
				turn.Progress(agent.Progress{Text: "half of"})
				return slowEcho(90*time.Second)(ctx, turn)
			}
		},
		"two calls": func(w *world) func(context.Context, agent.Turn) (string, error) {
			return func(ctx context.Context, turn agent.Turn) (string, error) {
				if w.agent.count() > 1 {
					return echo(ctx, turn)
				}
				turn.Progress(agent.Progress{Text: "half of"})
				time.Sleep(58 * time.Second)
				return "", &agent.ModelError{Kind: agent.ErrorTemporary, Err: errors.New("connection reset"), After: 30 * time.Second}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, impatient)
				w.agent.run = run(w)
				w.say("1", "hello")
				time.Sleep(5 * time.Minute)
				w.expect("1", waitingNotice, "echo hello")
				if edit := w.net.sent[1].Edit; edit != "" {
					t.Errorf("the answer edits %q, which is above the notice", edit)
				}
				if !slices.Equal(w.net.retracted, []string{"p1"}) {
					t.Errorf("%q was taken back of %d previews, want p1 once", w.net.retracted, len(w.net.previews))
				}
			})
		})
	}
}

// Nobody reads that I keep trying, and a moment later that I have given up.
func TestNoNoticeJustBeforeGivingUp(t *testing.T) {
	for name, run := range map[string]func(context.Context, agent.Turn) (string, error){
		"refused": downUntil(time.Now().Add(100 * 365 * 24 * time.Hour)),
		"hangs": func(ctx context.Context, turn agent.Turn) (string, error) {
			time.Sleep(time.Until(turn.Until))
			return "", &agent.ModelError{Kind: agent.ErrorTemporary, Cause: agent.CauseSlow, Err: errors.New("no piece of the answer")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, impatient, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.GiveUpAfter = 65 * time.Second })
				w.agent.run = run
				w.say("1", "hello")
				time.Sleep(5 * time.Minute)
				if got := w.net.texts("1"); len(got) != 1 || !strings.HasPrefix(got[0], "Sorry, ") {
					t.Errorf("they read %q, want one apology", got)
				}
			})
		})
	}
}
