package agent_test

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
	"unicode/utf8"

	"dragoman/agent"
	"dragoman/sessions"
)

// get returns a tool called "get" that runs f.
func get(f func(ctx context.Context, c agent.Call) (string, error)) agent.Tool {
	return tool{spec: agent.Spec{Name: "get"}, run: f}
}

func TestToolFailuresAreResults(t *testing.T) {
	for _, test := range []struct {
		name string
		call string
		run  func(context.Context, agent.Call) (string, error)
		want string // "!" before the result of a call that did nothing but fail
	}{
		{"unknown tool", "c1 fetch {}", nil, `!error: there is no tool called "fetch"; the tools are: get`},
		{"no name", "c1", nil, `!error: there is no tool called ""; the tools are: get`},
		{"broken arguments", `c1 get {"a":`, nil, "!error: not run: the arguments are not a JSON object"},
		{"an array", `c1 get [1]`, nil, "!error: not run: the arguments are not a JSON object"},
		{"two objects", `c1 get {}{}`, nil, "!error: not run: the arguments are not a JSON object"},
		{"an error", "c1 get {}", func(context.Context, agent.Call) (string, error) { return "", errors.New("no such file") }, "!error: no such file"},
		{"output and error", "c1 get {}", func(context.Context, agent.Call) (string, error) { return "half", errors.New("broke off") }, "half\nerror: broke off"},
		{"a panic", "c1 get {}", func(context.Context, agent.Call) (string, error) { panic("secret text") }, "error: the tool failed by an internal error"},
		{"nothing", "c1 get {}", func(context.Context, agent.Call) (string, error) { return " \n", nil }, "(no output)"},
		{"not UTF-8", "c1 get {}", func(context.Context, agent.Call) (string, error) { return "a\xff\xfeb\x00c", nil }, "a\uFFFDb\uFFFDc"},
		{"no arguments", "c1 get", func(_ context.Context, c agent.Call) (string, error) { return string(c.Args), nil }, "{}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var logs bytes.Buffer
			opts := agent.Options{Logger: slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}
			m := newScript(t, call(test.call), say("Done."))
			res := run(t, newAgent(t, m, opts, get(test.run)), turnOf("go"))
			got := res.Messages[2].Content
			if res.Messages[2].Failed {
				got = "!" + got
			}
			if got != test.want {
				t.Errorf("result = %q, want %q", got, test.want)
			}
			if res.Text != "Done." {
				t.Errorf("Text = %q, want the turn to go on", res.Text)
			}
			if strings.Contains(logs.String(), "secret") {
				t.Errorf("the log has the panic's value:\n%s", &logs)
			}
		})
	}
}

func TestToolOutputIsBounded(t *testing.T) {
	huge := strings.Repeat("世界", 2<<20) // 12 MB
	m := newScript(t, call("c1 get {}"), say("Done."))
	res := run(t, newAgent(t, m, agent.Options{}, get(func(context.Context, agent.Call) (string, error) {
		return huge, nil
	})), turnOf("go"))
	got := res.Messages[2].Content
	if len(got) > 64<<10+100 || !utf8.ValidString(got) {
		t.Errorf("result has %d bytes, valid UTF-8: %v; want 64 KiB and a note at most", len(got), utf8.ValidString(got))
	}
	contains(t, "result", got, fmt.Sprintf("of %d bytes left out", len(huge)))
}

func TestToolTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newScript(t, call("c1 get {}"), say("Done."))
		a := newAgent(t, m, agent.Options{ToolTimeout: time.Minute}, get(func(ctx context.Context, _ agent.Call) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}))
		begun := time.Now()
		res := run(t, a, turnOf("go"))
		if got, want := res.Messages[2].Content, "error: no answer within 1m0s; it may or may not have happened"; got != want || res.Messages[2].Failed {
			t.Errorf("result = %q, failed: %v; want %q and an unknown outcome", got, res.Messages[2].Failed, want)
		}
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("the turn took %v, want 1m", took)
		}
	})
}

// patient is a tool that may take an hour.
type patient struct{ agent.Tool }

func (p patient) Spec() agent.Spec {
	s := p.Tool.Spec()
	s.Patience = time.Hour
	return s
}

func TestAPatientTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newScript(t, call("c1 get {}"), say("Done."))
		slow := patient{get(func(ctx context.Context, _ agent.Call) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(59 * time.Minute):
				return "late", nil
			}
		})}
		res := run(t, newAgent(t, m, agent.Options{ToolTimeout: time.Minute}, slow), turnOf("go"))
		if got := res.Messages[2].Content; got != "late" {
			t.Errorf("result = %q", got)
		}
	})
}

// TestToolThatIgnoresItsContext: a tool that ignores its context is left running.
func TestToolThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		deaf := get(func(context.Context, agent.Call) (string, error) {
			<-release
			return "too late", nil
		})
		m := newScript(t, call("c1 get {}"), say("Done."))
		a := newAgent(t, m, agent.Options{ToolTimeout: time.Minute}, deaf)
		res := run(t, a, turnOf("go"))
		contains(t, "result", res.Messages[2].Content, "no answer within 1m0s")

		// And a stopped turn still ends promptly.
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(5 * time.Second)
			cancel()
		}()
		begun := time.Now()
		m = newScript(t, call("c1 get {}"), say("Done."))
		_, err := newAgent(t, m, agent.Options{}, deaf).Run(ctx, turnOf("go"))
		if took := time.Since(begun); !errors.Is(err, context.Canceled) || took > 7*time.Second {
			t.Errorf("Run() = %v after %v, want Canceled within 7s", err, took)
		}
	})
}

func TestParallelTools(t *testing.T) {
	for _, test := range []struct {
		name  string
		calls []string
		want  time.Duration
		most  int32
	}{
		{"parallel", []string{"a slow {}", "b slow {}", "c slow {}"}, 10 * time.Second, 3},
		{"bounded", []string{"a slow {}", `b slow {"n":1}`, "c slow {}", `d slow {"n":1}`, "e slow {}"}, 20 * time.Second, 4},
		{"one after the other", []string{"a step {}", "b step {}", "c step {}"}, 30 * time.Second, 1},
		{"a barrier between", []string{"a slow {}", "b step {}", "c slow {}"}, 30 * time.Second, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running, most atomic.Int32
				n := atomic.Int32{}
				work := func(_ context.Context, c agent.Call) (string, error) {
					if now := running.Add(1); now > most.Load() {
						most.Store(now)
					}
					defer running.Add(-1)
					// Later calls end earlier, and their results still come later.
					time.Sleep(10*time.Second - time.Duration(n.Add(1))*time.Millisecond)
					return "result of " + shortID(c.ID), nil
				}
				slow := tool{agent.Spec{Name: "slow", Parallel: true}, work}
				step := tool{agent.Spec{Name: "step"}, work}
				var j journal
				turn := turnOf("go")
				turn.Record = j.record
				begun := time.Now()
				a := newAgent(t, newScript(t, call(test.calls...), say("Done.")), agent.Options{}, slow, step)
				res := run(t, a, turn)
				if took := time.Since(begun).Round(time.Second); took != test.want {
					t.Errorf("took %v, want %v", took, test.want)
				}
				if most.Load() != test.most {
					t.Errorf("%d at once, want %d", most.Load(), test.most)
				}
				for i := range test.calls {
					id, _, _ := strings.Cut(test.calls[i], " ")
					if got, want := res.Messages[2+i].Content, "result of "+id; got != want {
						t.Errorf("result %d = %q, want %q", i, got, want)
					}
				}
				if got := strings.Count(j.shape(), "tool_done"); got != len(test.calls) {
					t.Errorf("journal = %q, want %d results", j.shape(), len(test.calls))
				}
			})
		})
	}
}

func TestTooManyCalls(t *testing.T) {
	var calls []string
	for i := range 10_000 {
		calls = append(calls, fmt.Sprintf(`%d get {"n":%d}`, i, i))
	}
	c := newCounter("get")
	res := run(t, newAgent(t, newScript(t, call(calls...), say("Done.")), agent.Options{}, c), turnOf("go"))
	if n := len(c.calls()); n != 64 {
		t.Errorf("%d calls ran, want 64", n)
	}
	contains(t, "result of the 65th", res.Messages[2+64].Content, "not run")
	if n := len(res.Messages); n != 3+80 {
		t.Errorf("%d messages are kept, want the question, the calls, 80 results and the answer", n)
	}
}

// TestResultOutlivesStop: a result is journaled even if the turn was stopped
// meanwhile, and the turn ends with the context's error.
func TestResultOutlivesStop(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var j journal
	turn := turnOf("go")
	turn.Record = func(ctx context.Context, s sessions.Step) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return j.record(ctx, s)
	}
	a := newAgent(t, newScript(t, call("c1 get {}"), say("Done.")), agent.Options{}, get(func(context.Context, agent.Call) (string, error) {
		cancel(sessions.ErrFenced)
		return "sent", nil
	}))
	_, err := a.Run(ctx, turn)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, sessions.ErrFenced) {
		t.Errorf("Run() = %v, want Canceled because of ErrFenced", err)
	}
	if got, want := j.shape(), "model tool_start:c1 tool_done:c1"; got != want {
		t.Errorf("journal = %q, want %q", got, want)
	}
}

// A person who loses access during a turn has no tools from then on: calls are not
// run, and the model answers without.
func TestToolsStopWhenAccessIsLost(t *testing.T) {
	ran := 0
	m := newScript(t, call("c1 get {}"), call("c2 get {}", "c3 get {}"), say("Done."))
	turn := turnOf("go")
	asked := 0
	turn.MayUseTools = func(context.Context) (bool, error) {
		asked++
		return asked == 1, nil
	}
	res := run(t, newAgent(t, m, agent.Options{}, get(func(context.Context, agent.Call) (string, error) {
		ran++
		return "fine", nil
	})), turn)
	if ran != 1 || res.Text != "Done." || res.Steps != 3 {
		t.Errorf("%d calls ran, Text = %q after %d steps, want 1, \"Done.\" after 3", ran, res.Text, res.Steps)
	}
	for _, i := range []int{4, 5} {
		if got := res.Messages[i].Content; !strings.Contains(got, "may not use this any more") {
			t.Errorf("result %d = %q, want a refusal", i, got)
		}
	}
	broken := errors.New("the store is broken")
	turn.MayUseTools = func(context.Context) (bool, error) { return false, broken }
	if _, err := newAgent(t, newScript(t, call("c1 get {}")), agent.Options{}, get(nil)).Run(t.Context(), turn); !errors.Is(err, broken) {
		t.Errorf("Run = %v, want %v", err, broken)
	}
}
