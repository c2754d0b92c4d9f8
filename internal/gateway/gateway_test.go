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

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

func TestMessageIsAnsweredOnceAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for i := range 5 {
			m := w.say("1", fmt.Sprint("hello ", i))
			if err := w.in.Accept(t.Context(), m); err != nil { // the network delivers it again
				t.Fatal(err)
			}
			synctest.Wait()
		}
		w.expect("1", "echo hello 0", "echo hello 1", "echo hello 2", "echo hello 3", "echo hello 4")
		if got := len(w.transcript("1")); got != 10 {
			t.Errorf("transcript has %d messages, want 10: %q", got, w.transcript("1"))
		}
	})
}

// TestMessageIsStoredThenAnswered: a network may forget a message when Accept
// returns, which does not wait for the answer. So the store has it before a
// turn begins. If the store refuses it, the network gets the error and no turn
// answers it.
func TestMessageIsStoredThenAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := &fullStore{}
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) { full.Inbox, w.store.Inbox = w.mem, full })
		var stored []sessions.FeedItem
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			var err error
			if stored, err = w.mem.Feed(ctx, turn.Key, 0, 10); err != nil {
				return "", err
			}
			return slowEcho(time.Minute)(ctx, turn)
		}
		full.refuses = true
		lost := w.message("1", "hello")
		if err := w.in.Accept(t.Context(), lost); !errors.Is(err, errDisk) {
			t.Errorf("Accept on a full disk = %v, want %v", err, errDisk)
		}
		time.Sleep(time.Hour)
		w.expect("1")
		if n := w.agent.count(); n != 0 {
			t.Errorf("%d turns for a message that is not stored", n)
		}
		full.refuses = false
		began := time.Now()
		if err := w.in.Accept(t.Context(), lost); err != nil || time.Since(began) != 0 {
			t.Errorf("Accept = %v after %s, want that it does not wait for the answer", err, time.Since(began))
		}
		w.expect("1")
		if len(stored) != 1 || stored[0].Text != "hello" {
			t.Errorf("when the turn begins the store has %+v, want the message", stored)
		}
		time.Sleep(time.Hour)
		w.expect("1", "echo hello")
	})
}

// fullStore accepts nothing while it refuses.
type fullStore struct {
	gateway.Inbox
	refuses bool
}

func (s *fullStore) Accept(ctx context.Context, e sessions.Entry) (sessions.Acceptance, error) {
	if s.refuses {
		return sessions.Acceptance{}, errDisk
	}
	return s.Inbox.Accept(ctx, e)
}

func TestOneSlowChatDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Key.Chat() == "1" {
				return slowEcho(30*time.Second)(ctx, turn)
			}
			return echo(ctx, turn)
		}
		began := time.Now()
		w.say("1", "slow")
		for i := 2; i <= 9; i++ {
			w.say(fmt.Sprint(i), "quick")
		}
		synctest.Wait()
		for i := 2; i <= 9; i++ {
			w.expect(fmt.Sprint(i), "echo quick")
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the quick chats took %s, want no time at all", took)
		}
		w.expect("1")
		time.Sleep(31 * time.Second)
		w.expect("1", "echo slow")
	})
}

func TestMessagesDuringATurn(t *testing.T) {
	tests := []struct {
		mode gateway.Mode
		want []string
	}{
		{gateway.Collect, []string{"echo one", "echo two | three"}},
		{gateway.Each, []string{"echo one", "echo two", "echo three"}},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Queue = tt.mode })
				w.agent.run = slowEcho(10 * time.Second)
				w.say("1", "one")
				time.Sleep(time.Second)
				w.say("1", "two")
				w.say("1", "three")
				time.Sleep(time.Minute)
				w.expect("1", tt.want...)
			})
		})
	}
}

func TestSteeringReachesTheRunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Queue = gateway.Steer })
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if _, err := slowEcho(10*time.Second)(ctx, turn); err != nil {
				return "", err
			}
			more, err := turn.Steer(ctx)
			if err != nil {
				return "", err
			}
			text := inputs(turn)
			for _, m := range more {
				text += " + " + m.Content
			}
			return "echo " + text, nil
		}
		w.say("1", "one")
		time.Sleep(time.Second)
		w.say("1", "two")
		time.Sleep(time.Minute)
		w.expect("1", "echo one + two")
	})
}

func TestInterruptStartsAgainWithTheNewMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Queue = gateway.Interrupt })
		w.agent.run = slowEcho(10 * time.Second)
		w.say("1", "one")
		time.Sleep(5 * time.Second)
		w.say("1", "two")
		time.Sleep(time.Minute)
		w.expect("1", "echo one | two")
		if got := w.seen.get("turn interrupted"); got != 1 {
			t.Errorf("interrupted turns = %d, want 1", got)
		}
	})
}

// tardy returns from Accept a second after the message was stored and its turn
// began.
type tardy struct{ gateway.Inbox }

func (s tardy) Accept(ctx context.Context, e sessions.Entry) (sessions.Acceptance, error) {
	got, err := s.Inbox.Accept(ctx, e)
	time.Sleep(time.Second)
	return got, err
}

func TestNoTurnIsInterruptedByItsOwnMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.Queue = gateway.Interrupt
			w.store.Inbox = tardy{w.mem}
		})
		w.agent.run = slowEcho(10 * time.Second)
		w.say("1", "one")
		time.Sleep(time.Minute)
		w.expect("1", "echo one")
		if got := w.seen.get("turn interrupted"); got != 0 {
			t.Errorf("interrupted turns = %d, want 0", got)
		}
	})
}

func TestQueueFullIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.MaxWaiting = 3 })
		w.agent.run = slowEcho(time.Hour)
		w.say("1", "one")
		synctest.Wait()
		for i := range 6 {
			w.say("1", fmt.Sprint("more ", i))
		}
		time.Sleep(time.Second)
		got := w.net.texts("1")
		if len(got) != 1 || !strings.Contains(got[0], "busy with your last 3 messages") {
			t.Fatalf("sent %q, want one sentence about the full queue", got)
		}
		time.Sleep(3 * time.Hour)
		if got := w.net.texts("1"); got[len(got)-1] != "echo more 0 | more 1" {
			t.Errorf("last answer = %q, want the accepted messages", got[len(got)-1])
		}
	})
}

func TestLimitsAreSaidAndNothingIsRun(t *testing.T) {
	tests := []struct {
		name string
		set  func(*gateway.Options)
		say  []string
		want string
	}{
		{"12 MB", func(*gateway.Options) {}, []string{strings.Repeat("x", 12<<20)}, "Your message is too long for me (12.0 MB; I can read at most 256 KB)"},
		{"rate", func(o *gateway.Options) { o.RatePerMinute = 1 }, []string{"a", "b", "c"}, "more than 1 messages in a minute"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { tt.set(o) })
				for _, text := range tt.say {
					w.say("1", text)
				}
				synctest.Wait()
				got := w.net.texts("1")
				told := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.Contains(s, tt.want) })
				if len(told) != 1 {
					t.Errorf("sent %q, want exactly one with %q", got, tt.want)
				}
				if got := w.agent.count(); got != len(tt.say)/3 {
					t.Errorf("%d turns ran, want %d", got, len(tt.say)/3)
				}
			})
		})
	}
}

// A turn whose message is edited begins again at once. The preview of its
// answer becomes the answer to the new text.
func TestEditOfARunningMessageRunsAgain(t *testing.T) {
	for name, half := range map[string]string{"nothing is shown": "", "half of it is shown": "half of it"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.agent.run = func(ctx context.Context, in agent.Turn) (string, error) {
					in.Progress(agent.Progress{Text: half})
					return slowEcho(10*time.Second)(ctx, in)
				}
				first := w.say("1", "helo")
				time.Sleep(5 * time.Second)
				w.accept(w.edit(first, "hello"))
				time.Sleep(11 * time.Second)
				w.expect("1", "echo hello")
				if shown := w.net.sent[0].Edit == "p1"; shown != (half != "") || len(w.net.retracted) > 0 {
					t.Errorf("sent %+v, retracted %q", w.net.sent[0], w.net.retracted)
				}
				if diff := cmp.Diff([]string{"user: hello", "assistant: echo hello"}, w.transcript("1")); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestModelErrors(t *testing.T) {
	down := &agent.ModelError{Kind: agent.ErrorTemporary, Err: errors.New("connection refused")}
	t.Run("back in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := start(t)
			began := time.Now()
			w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
				if time.Since(began) < 5*time.Minute {
					return "", down
				}
				return echo(ctx, turn)
			}
			w.say("1", "hello")
			time.Sleep(time.Minute)
			w.say("1", "anybody?")
			time.Sleep(9 * time.Minute)
			w.expect("1", "echo hello | anybody?")
		})
	})
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"never back", down, "could not reach the model"},
		{"refused", &agent.ModelError{Kind: agent.ErrorRefused, Err: errors.New("bad key")}, "refuses my requests"},
		{"limited for ever", &agent.ModelError{Kind: agent.ErrorRefused, Limit: 6000, Requested: 9000, Err: errors.New("too large")}, "(limit 6000 tokens, requested 9000), so waiting does not help"},
		{"context", &agent.ModelError{Kind: agent.ErrorContext, Err: errors.New("too long")}, "this message is too long"},
		{"other", errors.New("sk-secret"), "something went wrong"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.agent.run = func(context.Context, agent.Turn) (string, error) { return "", tt.err }
				w.say("1", "hello")
				time.Sleep(time.Hour)
				got := w.net.texts("1")
				if len(got) != 1 || !strings.Contains(got[0], tt.want) || !strings.Contains(got[0], "(error ") || strings.Contains(got[0], "sk-") {
					t.Errorf("sent %q, want one apology with %q and an id, without the cause", got, tt.want)
				}
				if tr := w.transcript("1"); len(tr) != 2 || tr[0] != "user: hello" {
					t.Errorf("transcript %q, want the message and the apology", tr)
				}
			})
		})
	}
	t.Run("panic", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := start(t)
			w.agent.run = func(context.Context, agent.Turn) (string, error) { panic("bug") }
			w.say("1", "hello")
			synctest.Wait()
			if got := w.net.texts("1"); len(got) != 1 || !strings.Contains(got[0], "(error ") {
				t.Errorf("sent %q, want one apology", got)
			}
		})
	})
}

func TestDrainFinishesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.DrainLimit = time.Minute })
		w.agent.run = slowEcho(20 * time.Second)
		w.say("1", "one")
		time.Sleep(time.Second)
		w.say("1", "two") // waits behind the first and stays in the store
		w.stop()
		synctest.Wait()
		if err := w.in.Accept(t.Context(), w.message("2", "late")); err == nil {
			t.Error("a draining gateway accepted a message")
		}
		if err := w.gw.Ready(); err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("Ready = %v of a draining gateway", err)
		}
		began := time.Now()
		w.close()
		w.expect("1", "echo one")
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("draining took %s, want no longer than the turn", took)
		}
		st, err := w.mem.Stats(context.Background())
		if err != nil || st.Waiting != 1 {
			t.Errorf("Stats = %+v, %v, want one message waiting for the next start", st, err)
		}
	})
}

func TestDrainLimitCutsALongTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.DrainLimit = 5 * time.Second })
		w.agent.run = slowEcho(time.Hour)
		w.say("1", "one")
		synctest.Wait()
		began := time.Now()
		w.close()
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("Run ended after %s, want the limit of 5 s", took)
		}
		if st, _ := w.mem.Stats(context.Background()); st.Waiting != 1 {
			t.Errorf("Waiting = %d, want the message kept", st.Waiting)
		}
	})
}

// fickle is a store whose commits fail for a while, as on a full disk.
type fickle struct {
	gateway.Work
	until time.Time
}

func (f *fickle) CommitTurn(ctx context.Context, c sessions.Claim, t sessions.Turn) error {
	if time.Now().Before(f.until) {
		return errors.New("disk full")
	}
	return f.Work.CommitTurn(ctx, c, t)
}

func TestAnswerSurvivesAStoreThatCannotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			w.store.Work = &fickle{w.mem, time.Now().Add(3 * time.Minute)}
		})
		w.say("1", "hello")
		time.Sleep(10 * time.Minute)
		w.expect("1", "echo hello")
		if got := w.agent.count(); got != 1 {
			t.Errorf("the model was asked %d times, want once", got)
		}
	})
}

func TestSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		if err := w.in.Quarantine(t.Context(), "net", "u7", []byte("{bad"), errors.New("no JSON")); err != nil {
			t.Fatal(err)
		}
		if st, err := w.mem.Stats(t.Context()); err != nil || st.Quarantined != 1 {
			t.Errorf("Stats = %+v, %v, want one thing aside", st, err)
		}
	})
}

func TestQuoteReachesTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		m := w.message("1", "is that so?")
		m.Prefix = "ann: "
		m.Quote = &channels.Quote{ID: "n0", Name: "bob", Text: "cats\nbark"}
		if err := w.in.Accept(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		w.expect("1", "echo > bob: cats\n> bark\n\nann: is that so?")
	})
}

func TestAnswersSayWhatTheyAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		private := w.say("1", "hello")
		group := w.message("2", "hello")
		group.Private, group.Addressed = false, true
		if err := w.in.Accept(t.Context(), group); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, m := range w.net.sent {
			want := private.MessageID
			if m.Key.Chat() == "2" {
				want = group.MessageID
			}
			if m.ReplyTo != want {
				t.Errorf("the answer in chat %s answers %q, want %q", m.Key.Chat(), m.ReplyTo, want)
			}
		}
	})
}

// Work of a missing channel waits: in a partial gateway for the other process,
// otherwise for the channel to come back.
func TestWorkOfAChannelThatIsNotThere(t *testing.T) {
	for _, partial := range []bool{true, false} {
		t.Run(fmt.Sprint("partial ", partial), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
					o.Partial = partial
					_, err := w.mem.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{
						Key: channels.MustKey("gone:1"), ID: "u0", Sender: channels.Person{IDs: []string{"1"}}, Text: "hello", Private: true,
					}})
					if err != nil {
						t.Fatal(err)
					}
				})
				w.say("1", "hello")
				time.Sleep(time.Hour)
				w.expect("1", "echo hello")
				if n := w.agent.count(); n != 1 {
					t.Errorf("%d turns ran, want one", n)
				}
				st, err := w.mem.Stats(t.Context())
				if err != nil || st.Waiting != 1 || st.Unsent != 0 || st.Dead != 0 {
					t.Errorf("Stats = %+v, %v, want the message to wait", st, err)
				}
				if partial != (st.Postponed == 0) {
					t.Errorf("%d messages are postponed", st.Postponed)
				}
			})
		})
	}
}
