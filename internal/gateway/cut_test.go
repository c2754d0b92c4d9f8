package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/internal/admission"
	"dragoman/internal/budget"
	"dragoman/internal/gateway"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// budgetOf is the rule of a budget of everybody, in tokens.
func budgetOf(w *world, limit float64, calls *admission.Calls) admission.Rule {
	s := budget.Settings{Unit: budget.Tokens, All: budget.Limits{Day: limit}}
	return s.Rule(admission.Setup{Sums: w.mem, Zone: time.UTC, MaxTokens: 1, Elsewhere: calls.Elsewhere})
}

// metered is a turn that makes one call: it takes d, and then ends as end says.
func metered(d time.Duration, end func() error) func(context.Context, agent.Turn) (string, error) {
	return func(ctx context.Context, t agent.Turn) (string, error) {
		say, err := t.Meter.Begin(ctx, "m", callTokens-1)
		if err != nil || say != "" {
			return say, err
		}
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		t.Meter.Used(nil)
		return "done", end()
	}
}

func works() error { return nil }

// life runs a gateway on the store in folder, as one start of the daemon, and ends it as soon as
// during has returned.
func life(t *testing.T, folder string, limit float64, run func(context.Context, agent.Turn) (string, error), during func(w *world)) {
	t.Helper()
	store := sqlitetest.OpenIn(t, folder, nil)
	w := start(t, func(w *world, b *gateway.Binding, o *gateway.Options) {
		w.mem = store
		w.store = storeOf(store)
		w.n = int(time.Now().Unix()) // the ids of messages are others in each life
		w.agent.run = run
		o.DrainLimit = time.Millisecond
		o.Calls = admission.NewCalls(store, admission.CallsOptions{})
		o.Rules = []admission.Rule{budgetOf(w, limit, o.Calls)}
	})
	during(w)
	w.close()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// spentIn are the tokens that the store in folder has counted for everybody.
func spentIn(t *testing.T, folder string) int64 {
	t.Helper()
	store := sqlitetest.OpenIn(t, folder, nil)
	defer func() { _ = store.Close() }()
	today := time.Now().UTC().Format("20060102")
	n, err := store.Sum(t.Context(), "spent-tokens", "all", today, today)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A call that is cut is charged its input once, however often the daemon ends before its turn
// has, and however that ends. One that is cut twice is charged twice, and one that did not run
// for long is not charged.
func TestACallThatWasCutIsCharged(t *testing.T) {
	const cut = callTokens - 1
	broken := &agent.ModelError{Kind: agent.ErrorInvalid, Err: errors.New("no")}
	ask := func(w *world) { w.say("1", "hello") }
	for name, test := range map[string]struct {
		runs time.Duration // the call that is cut
		then []func(t *testing.T, folder string)
		want int64
	}{
		"and answered": {runs: 10 * time.Second, then: []func(*testing.T, string){answers(works, nil)}, want: cut},
		"too soon":     {runs: 3 * time.Second, then: []func(*testing.T, string){answers(works, nil)}, want: 0},
		"and failed":   {runs: 10 * time.Second, then: []func(*testing.T, string){answers(func() error { return broken }, nil)}, want: cut},
		"twice":        {runs: 10 * time.Second, then: []func(*testing.T, string){hangs(10 * time.Second), answers(works, nil)}, want: 2 * cut},
		"and again too soon": {
			runs: 10 * time.Second, then: []func(*testing.T, string){hangs(time.Second), hangs(time.Second), answers(works, nil)}, want: cut,
		},
		"and stopped": {
			runs: 10 * time.Second, want: cut,
			then: []func(*testing.T, string){answers(func() error { return limited(5 * time.Minute) }, func(w *world) { w.say("1", "/stop") })},
		},
		"and ended by a /new": {
			runs: 10 * time.Second, want: cut,
			then: []func(*testing.T, string){answers(func() error { return limited(5 * time.Minute) }, func(w *world) { w.say("1", "/new") })},
		},
		"and ended by a rule": {
			runs: 10 * time.Second, want: cut + 1,
			then: []func(*testing.T, string){func(t *testing.T, folder string) {
				spend(t, folder, 1)
				life(t, folder, 1, metered(time.Second, works), func(*world) { time.Sleep(time.Minute) })
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				folder := t.TempDir()
				life(t, folder, 1e6, metered(time.Hour, works), func(w *world) {
					ask(w)
					time.Sleep(test.runs)
				})
				for _, then := range test.then {
					then(t, folder)
				}
				life(t, folder, 1e6, metered(time.Second, works), func(*world) { time.Sleep(time.Minute) })
				if n := spentIn(t, folder); n != test.want {
					t.Errorf("%d tokens are counted, want %d", n, test.want)
				}
			})
		})
	}
}

// answers is a start of the daemon in which the call ends as end says, and during happens.
func answers(end func() error, during func(w *world)) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		life(t, folder, 1e6, metered(time.Second, end), func(w *world) {
			time.Sleep(10 * time.Second)
			if during != nil {
				during(w)
				time.Sleep(10 * time.Second)
			}
		})
	}
}

// hangs is a start of the daemon in which the call is cut after d.
func hangs(d time.Duration) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		life(t, folder, 1e6, metered(time.Hour, works), func(*world) { time.Sleep(d) })
	}
}

// spend counts tokens for everybody.
func spend(t *testing.T, folder string, n int64) {
	t.Helper()
	store := sqlitetest.OpenIn(t, folder, nil)
	defer func() { _ = store.Close() }()
	c := sessions.Count{Kind: "spent-tokens", Owner: "all", Day: time.Now().UTC().Format("20060102"), N: n}
	if err := store.Count(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// A call that a command ends is charged its input. One that ends by itself says what it used,
// which is nothing here.
func TestACallThatIsStoppedIsCharged(t *testing.T) {
	const input = callTokens - 1
	for command, want := range map[string]int64{"/stop": input, "/new": input, "hello again": 0} {
		t.Run(command, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				folder := t.TempDir()
				life(t, folder, 1e6, metered(time.Minute, works), func(w *world) {
					w.say("1", "hello")
					time.Sleep(time.Second)
					w.say("1", command)
					time.Sleep(5 * time.Minute)
				})
				if n := spentIn(t, folder); n != want {
					t.Errorf("%d tokens are counted, want %d", n, want)
				}
			})
		})
	}
}

// A call that fails after a long time, and whose turn is tried again, was not cut.
func TestACallThatFailedWasNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		life(t, folder, 1e6, metered(10*time.Second, func() error { return limited(time.Minute) }), func(w *world) {
			w.say("1", "hello")
			time.Sleep(11 * time.Second)
		})
		life(t, folder, 1e6, metered(time.Second, works), func(w *world) {
			time.Sleep(5 * time.Minute)
			w.expect("1", "done")
		})
		if n := spentIn(t, folder); n != 0 {
			t.Errorf("%d tokens are counted, want none", n)
		}
	})
}

// Without a budget nothing is noted.
func TestNothingIsNotedWithoutABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.Calls = admission.NewCalls(w.mem, admission.CallsOptions{})
			w.agent.run = slowEcho(time.Minute)
		})
		w.say("1", "hello")
		time.Sleep(30 * time.Second)
		notes, err := w.mem.Notes(t.Context(), sessions.NoteFilter{Kind: "calls"})
		if err != nil || len(notes) != 0 {
			t.Errorf("the notes are %v, %v; want none", notes, err)
		}
		time.Sleep(time.Minute)
		w.expect("1", fmt.Sprint("echo ", "hello"))
	})
}
