package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/gateway"
	"dragoman/internal/stream"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// rule is a rule whose decisions are a function, and which counts the turns of each chat.
type rule struct {
	mu     sync.Mutex
	asked  []admission.Turn
	decide func(admission.Turn) (admission.Verdict, error)
}

func (r *rule) Before(_ context.Context, t admission.Turn) (admission.Verdict, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, t)
	return r.decide(t)
}

func (r *rule) Count(t admission.Turn, used sessions.Usage) []sessions.Count {
	owner := t.Key.String()
	return []sessions.Count{
		{Kind: "turns", Owner: owner, Day: "20261128", N: 1},
		{Kind: "tokens", Owner: owner, Day: "20261128", N: int64(used.Input + used.Output)},
	}
}

// set replaces what the rule decides.
func (r *rule) set(decide func(admission.Turn) (admission.Verdict, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decide = decide
}

func (r *rule) times() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

// ends decides that turns end with a sentence.
func ends(sentence string) func(admission.Turn) (admission.Verdict, error) {
	return func(admission.Turn) (admission.Verdict, error) { return admission.End(sentence), nil }
}

// ruled runs a world with that rule.
func ruled(r *rule) change {
	return func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Rules = []admission.Rule{r} }
}

func (w *world) sum(kind, chat string) int64 {
	w.t.Helper()
	n, err := w.mem.Sum(w.t.Context(), kind, "net:"+chat, "20261128", "20261128")
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// A rule that has a sentence ends the turn with it: the model is not called, the sentence
// is sent once, and the next turn reads it in the conversation.
func TestARuleEndsATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rule{decide: ends("That is enough for today. /status says more.")}
		w := start(t, ruled(r))
		m := w.say("1", "hello")
		w.expect("1", "That is enough for today. /status says more.")
		want := admission.Turn{ID: r.asked[0].ID, Key: m.Key, Person: m.Sender, Private: true, Parks: true, Owner: "net:" + m.Sender.ID(), At: r.asked[0].At}
		if diff := cmp.Diff([]admission.Turn{want}, r.asked, cmpopts.EquateComparable(channels.Key{})); diff != "" || want.ID == "" || want.At.IsZero() {
			t.Errorf("the rule is asked about other turns (-want +got):\n%s", diff)
		}
		if n := w.agent.count(); n != 0 {
			t.Errorf("the model was asked %d times, want never", n)
		}
		if w.seen.get("turn skipped") != 1 || w.sum("turns", "1") != 0 {
			t.Errorf("skipped turns = %d, counted = %d, want 1 and 0", w.seen.get("turn skipped"), w.sum("turns", "1"))
		}
		r.set(ends(""))
		w.say("1", "and now?")
		w.expect("1", "That is enough for today. /status says more.", "echo and now?")
		wantTranscript := []string{"user: hello", "assistant: That is enough for today. /status says more.", "user: and now?", "assistant: echo and now?"}
		if diff := cmp.Diff(wantTranscript, w.transcript("1")); diff != "" {
			t.Errorf("the conversation (-want +got):\n%s", diff)
		}
		if shown := w.agent.asked()[0].History.Messages; len(shown) != 2 {
			t.Errorf("the model is shown %d earlier messages, want both", len(shown))
		}
	})
}

// Commands in the sentence are written as the chat has to type them. The first turn of a
// conversation begins it, also if a rule ends it, and a later one does not begin it again.
func TestATurnThatARuleEndsIsOneOfTheConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []stream.Name
		w := start(t, ruled(&rule{decide: ends("Not now. Try /status.")}), func(w *world, b *gateway.Binding, o *gateway.Options) {
			b.Channel = exclaims{w.net}
			o.Events = heardBy(func(e stream.Event) { heard = append(heard, e.Event) })
		})
		for range 2 {
			w.say("1", "hello")
			synctest.Wait()
		}
		w.expect("1", "Not now. Try !status.", "Not now. Try !status.")
		want := []stream.Name{stream.SessionCreate, stream.SessionSave, stream.TurnDone, stream.SessionSave, stream.TurnDone}
		if !slices.Equal(heard, want) {
			t.Errorf("events = %v, want %v", heard, want)
		}
	})
}

// What hooks get about a turn is stored with it, whatever ended it, and the same events are
// published afterwards.
func TestEventsOfATurnAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept, heard []stream.Event
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) {
			o.Events = heardBy(func(e stream.Event) {
				if e.Kept {
					heard = append(heard, e)
				}
			})
			o.Keep = func(ask func() []stream.Event) (notes []sessions.Note) {
				events := ask()
				kept = append(kept, events...)
				for _, e := range events {
					notes = append(notes, sessions.Note{Kind: "webhook", Owner: "x", Name: e.Turn + string(e.Event)})
				}
				return notes
			}
		})
		w.say("1", "hello")
		synctest.Wait()
		notes, err := w.mem.Notes(t.Context(), sessions.NoteFilter{Kind: "webhook"})
		if err != nil || len(notes) != 3 {
			t.Errorf("the notes are %v, %v; want three", notes, err)
		}
		if len(kept) != 3 || len(heard) != 3 {
			t.Fatalf("%d events kept and %d published, want 3 and 3", len(kept), len(heard))
		}
		for i, want := range []stream.Name{stream.SessionCreate, stream.SessionSave, stream.TurnDone} {
			if kept[i].Event != want || heard[i].Event != want || kept[i].Turn != heard[i].Turn || kept[i].Outcome != heard[i].Outcome || heard[i].Generation == "" {
				t.Errorf("event %d is kept as %+v and published as %+v, want %s", i, kept[i], heard[i], want)
			}
		}
	})
}

// Whoever asked at the command line is told the sentence, as a refusal.
func TestARuleEndsAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, ruled(&rule{decide: ends("Not now.")}))
		var refused *gateway.RefusedError
		_, err := w.gw.Ask(t.Context(), gateway.Question{Key: channels.MustKey("net:1"), ID: "q", Text: "hello"})
		if !errors.As(err, &refused) || refused.Why != "Not now." {
			t.Errorf("Ask = %v, want the sentence", err)
		}
	})
}

// A job is skipped for the reason that the sentence says. Its target is told nothing.
func TestARuleSkipsAJob(t *testing.T) {
	for name, want := range map[string]string{"watch": "Not now.", "gone": "the job is no longer configured"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &rule{decide: ends("Not now.")}
				w := start(t, ruled(r), func(_ *world, _ *gateway.Binding, o *gateway.Options) {
					o.Heartbeats = jobs{"watch": channels.MustKey("net:1")}
				})
				w.fire(name, "look")
				w.expect("1")
				list, err := w.mem.Occurrences(t.Context(), name, 1)
				if err != nil || len(list) != 1 || list[0].Outcome != "skipped" || list[0].Why != want {
					t.Errorf("Occurrences = %+v, %v, want it skipped: %s", list, err, want)
				}
				if w.agent.count() != 0 || w.seen.get("heartbeat "+name+" skipped") != 1 {
					t.Errorf("%d model calls, %d skipped, want 0 and 1", w.agent.count(), w.seen.get("heartbeat "+name+" skipped"))
				}
				if name == "watch" {
					about := r.asked[0]
					if about.Job != "watch" || about.Key != channels.MustKey("net:1") || len(about.Person.IDs) != 0 {
						t.Errorf("the rule is asked about %+v, want the job, its target and nobody", about)
					}
				} else if r.times() != 0 {
					t.Error("the rule is asked about a job that does not exist")
				}
			})
		})
	}
}

// skippedJobs knows from the store why a job was skipped.
type skippedJobs struct {
	jobs
	w *world
}

func (j skippedJobs) Skipped(ctx context.Context, job, why string) (bool, error) {
	list, err := j.w.mem.Occurrences(ctx, job, 10)
	return slices.ContainsFunc(list, func(o sessions.Occurrence) bool { return o.Why == why }), err
}

// A job that a quota skips says so to its target, once for each sentence.
func TestAQuotaSkipsAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		says := "I have used today's 2.00."
		r := &rule{decide: func(t admission.Turn) (admission.Verdict, error) {
			return admission.Verdict{Say: says, Again: t.At.Add(time.Hour)}, nil
		}}
		w := start(t, ruled(r), func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.Heartbeats = skippedJobs{jobs{"watch": channels.MustKey("net:1")}, w}
		})
		for range 3 {
			w.fire("watch", "look")
			time.Sleep(time.Minute)
		}
		w.expect("1", says)
		says = "I have used this month's 20.00."
		w.fire("watch", "look")
		w.expect("1", "I have used today's 2.00.", says)
	})
}

// The sentence outlives a crash between its commit and its delivery: it is sent once, and
// nobody asks again.
func TestTheSentenceOfARuleSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rule{decide: ends("Not now.")}
		var b gateway.Binding
		var o gateway.Options
		folder := t.TempDir()
		first := sqlitetest.OpenIn(t, folder, nil)
		w := start(t, ruled(r), func(w *world, binding *gateway.Binding, opts *gateway.Options) {
			w.store = storeOf(first)
			b = *binding
			o = *opts
		})
		w.net.failWith(func(channels.Outbound) error { return &channels.NotSent{Err: errors.New("no connection")} })
		w.say("1", "hello")
		synctest.Wait()
		w.close()
		w.net.failWith(nil)
		w.expect("1")
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}

		o.Rules = []admission.Rule{r}
		again, err := gateway.New(storeOf(sqlitetest.OpenIn(t, folder, nil)), w.agent, []gateway.Binding{b}, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- again.Run(ctx) }()
		<-w.net.intake
		time.Sleep(time.Hour)
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		w.expect("1", "Not now.")
		if r.times() != 1 || w.agent.count() != 0 {
			t.Errorf("the rule was asked %d times and the model %d, want 1 and 0", r.times(), w.agent.count())
		}
	})
}

// A turn that has begun goes on after a restart, whatever the rules say by then.
func TestATurnThatBeganIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rule{decide: ends("")}
		w := start(t, ruled(r))
		tries := 0
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			tries++
			if tries > 1 {
				return "done", nil
			}
			if err := turn.Record(ctx, sessions.Step{Kind: sessions.StepToolStart, CallID: "a"}); err != nil {
				return "", err
			}
			r.set(ends("Not now."))
			return "", limited(time.Second) // the model is away: the turn is postponed
		}
		w.say("1", "hello")
		time.Sleep(time.Minute)
		w.expect("1", "done")
		if n := r.times(); n != 1 {
			t.Errorf("the rule was asked %d times, want once", n)
		}
	})
}

// A rule that fails for a moment delays the turn. One that fails for good ends in an
// apology, and so does one that panics.
func TestARuleThatFails(t *testing.T) {
	for name, fail := range map[string]func() error{
		"an error": func() error { return errDisk },
		"a panic":  func() error { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				until := time.Now().Add(5 * time.Second)
				w := start(t, ruled(&rule{decide: func(turn admission.Turn) (admission.Verdict, error) {
					if turn.Key.Chat() == "2" || time.Now().Before(until) {
						return admission.Verdict{}, fail()
					}
					return admission.Verdict{}, nil
				}}))
				w.say("1", "hello")
				w.say("2", "hello")
				time.Sleep(5 * time.Minute)
				w.expect("1", "echo hello")
				w.expect("2")
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if got := w.net.texts("2"); len(got) != 1 || !strings.HasPrefix(got[0], "Sorry, something went wrong") {
					t.Errorf("the person reads %q, want an apology", got)
				}
			})
		})
	}
}

// usage is an agent whose answers cost tokens.
type usage struct{ *scripted }

func (u usage) Run(ctx context.Context, t agent.Turn) (agent.Result, error) {
	res, err := u.scripted.Run(ctx, t)
	if err == nil {
		res.Messages[len(res.Messages)-1].Usage = &sessions.Usage{Input: 10, Output: 5}
	}
	return res, err
}

// conflicted is a store that refuses the first commit of each turn, as after an edit.
type conflicted struct {
	gateway.Work
	refused map[string]bool
}

func (c *conflicted) CommitTurn(ctx context.Context, claim sessions.Claim, t sessions.Turn) error {
	if !c.refused[t.ID] {
		c.refused[t.ID] = true
		return fmt.Errorf("edited: %w", sessions.ErrConflict)
	}
	return c.Work.CommitTurn(ctx, claim, t)
}

// What a turn used is counted with its commit: once, also if it had to run twice, and
// also for a job.
func TestRulesCountWhatTurnsUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, ruled(&rule{decide: ends("")}), func(w *world, _ *gateway.Binding, o *gateway.Options) {
			w.real = usage{w.agent}
			w.store.Work = &conflicted{w.mem, map[string]bool{}}
			o.Heartbeats = jobs{"watch": channels.MustKey("net:2")}
		})
		w.say("1", "hello")
		w.expect("1", "echo hello")
		w.fire("watch", "look")
		if n := w.agent.count(); n != 4 {
			t.Errorf("%d turns were run, want each twice", n)
		}
		got := []int64{w.sum("turns", "1"), w.sum("tokens", "1"), w.sum("turns", "2"), w.sum("tokens", "2")}
		if want := []int64{1, 15, 1, 15}; !slices.Equal(got, want) {
			t.Errorf("turns and tokens of both chats = %v, want %v", got, want)
		}
	})
}

func (w *world) setRules(rules ...admission.Rule) {
	w.t.Helper()
	if err := w.gw.SetRules(w.t.Context(), rules); err != nil {
		w.t.Fatal(err)
	}
}

// Rules that were replaced count from the next turn on.
func TestRulesAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.say("1", "one")
		w.expect("1", "echo one")
		w.setRules(&rule{decide: ends("Not now.")})
		w.say("1", "two")
		w.expect("1", "echo one", "Not now.")
		w.setRules()
		w.say("1", "three")
		w.expect("1", "echo one", "Not now.", "echo three")
	})
}
