package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/sessions"
)

// delegating is a tool that does a task, whose text its arguments are.
func delegating(t agent.Task) agent.Tool {
	return tool{agent.Spec{Name: "delegate", Parallel: true, Repeatable: true, Effect: agent.EffectOwn, Origin: sessions.OriginModel, Patience: time.Hour}, func(ctx context.Context, c agent.Call) (string, error) {
		task := t
		task.Text = "Task: " + string(c.Args)
		task.Name = "a task"
		return c.Delegate(ctx, task)
	}}
}

// isTask reports whether r is a task's.
func isTask(r agent.Request) bool { return strings.HasPrefix(r.System, "You do one task") }

// byRequest is a model whose tasks call send and look once, and whose turns delegate calls
// times in one answer.
func byRequest(t *testing.T, calls int, inTask func(ctx context.Context, n int) agent.Response) *script {
	return newScript(t, func(ctx context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		n := strings.Count(show(r.Messages), "assistant:")
		switch {
		case isTask(r):
			resp := inTask(ctx, n)
			return resp, ctx.Err()
		case n == 0:
			var list []string
			for i := range calls {
				list = append(list, fmt.Sprintf(`d%d delegate {"n":%d}`, i, i))
			}
			return response("", "tool_calls", parseCalls(list)...), nil
		}
		return response("Done.", "stop"), nil
	})
}

// sendAndLook is what a task does in the tests below.
func sendAndLook(_ context.Context, n int) agent.Response {
	if n == 0 {
		return response("", "tool_calls", parseCalls([]string{"s send {}", "l look {}"})...)
	}
	return response("Found it.", "stop")
}

func sendingAndLooking() (send, look *counter) {
	send, look = newCounter("send"), newCounter("look")
	look.spec.Repeatable = true
	look.spec.Effect = agent.EffectRead
	look.spec.Origin = sessions.OriginWeb
	return send, look
}

// resultOf is the result of the turn's only call.
func resultOf(t *testing.T, res agent.Result) sessions.Message {
	t.Helper()
	i := slices.IndexFunc(res.Messages, func(m sessions.Message) bool { return m.Role == sessions.RoleTool })
	if i < 0 {
		t.Fatalf("there is no result:\n%s", show(res.Messages))
	}
	return res.Messages[i]
}

// A task sees its text and the tools that it was given, and its result, words read and
// tokens used are the call's.
func TestTask(t *testing.T) {
	send, look := sendingAndLooking()
	m := byRequest(t, 1, sendAndLook)
	var j journal
	var notes []string
	turn := turnOf("go")
	turn.Record = j.record
	turn.Progress = func(p agent.Progress) { notes = append(notes, p.Note) }
	res := run(t, newAgent(t, m, agent.Options{}, delegating(agent.Task{Tools: []string{"send", "look"}}), send, look), turn)
	first := m.requests()[1]
	if got := show(first.Messages); got != "user*: Task: {\"n\":0}\n" {
		t.Errorf("the task is shown %q", got)
	}
	if got := offeredIn(first); got != "look send" {
		t.Errorf("the task is offered %q", got)
	}
	answer := resultOf(t, res)
	if answer.Content != "Found it." || res.Text != "Done." {
		t.Errorf("the result is %q, the answer %q", answer.Content, res.Text)
	}
	if answer.Usage == nil || answer.Usage.Input != 200 || answer.Model != "scripted" {
		t.Errorf("the result has used %+v of %q", answer.Usage, answer.Model)
	}
	if !slices.Contains(answer.Origins, sessions.OriginWeb) || !slices.Contains(res.Taint, sessions.OriginWeb) {
		t.Errorf("the words are of %v, the turn's of %v", answer.Origins, res.Taint)
	}
	if got := send.calls()[0]; got.Turn != "t1/d0ZZZZZZZ" || got.Delegate != nil {
		t.Errorf("a call of the task is of %q", got.Turn)
	}
	if !slices.Contains(notes, "a task: look …") {
		t.Errorf("people see %q", notes)
	}
	within := 0
	for _, s := range j.steps {
		if shortID(s.Within) == "d0" {
			within++
		}
	}
	if len(j.steps) != 9 || within != 6 {
		t.Errorf("of %d steps %d are the task's: %s", len(j.steps), within, j.shape())
	}
}

// A turn that dies at any write of its journal goes on inside its task: what had ended is not
// done again, and what had begun is not either.
func TestResumeATask(t *testing.T) {
	for at := range 9 {
		for _, written := range []bool{false, true} {
			t.Run(fmt.Sprintf("entry %d, written %v", at, written), func(t *testing.T) {
				send, look := sendingAndLooking()
				m := byRequest(t, 1, sendAndLook)
				a := newAgent(t, m, agent.Options{}, delegating(agent.Task{Tools: []string{"send", "look"}}), send, look)
				turn := turnOf("go")
				var j journal
				n := 0
				turn.Record = func(ctx context.Context, s sessions.Step) error {
					n++
					if n > at && !written || n > at+1 {
						return errCrash
					}
					return j.record(ctx, s)
				}
				if _, err := a.Run(t.Context(), turn); !errors.Is(err, errCrash) && len(j.steps) < 9 {
					t.Fatalf("Run() = %v, want the journal's error", err)
				}
				answered := strings.Count(j.shape(), "model")
				asked := len(m.requests())
				turn.Steps = slices.Clone(j.steps)
				turn.Record = j.record
				res := run(t, a, turn)
				if res.Text != "Done." || resultOf(t, res).Content != "Found it." {
					t.Errorf("the turn ends with:\n%s", show(res.Messages))
				}
				if len(send.calls()) > 1 {
					t.Errorf("send ran %d times", len(send.calls()))
				}
				if again := len(m.requests()) - asked; again != 4-answered {
					t.Errorf("the model was asked %d times more, with %d answers in the journal", again, answered)
				}
			})
		}
	}
}

// Up to three tasks run side by side.
func TestTasksSideBySide(t *testing.T) {
	running := make(chan struct{}, 10)
	most := make(chan int, 10)
	gate := make(chan struct{})
	var once sync.Once
	m := byRequest(t, 5, func(ctx context.Context, _ int) agent.Response {
		running <- struct{}{}
		most <- len(running)
		if len(running) == 3 {
			once.Do(func() { close(gate) })
		}
		select {
		case <-gate:
		case <-ctx.Done():
		}
		<-running
		return response("ok", "stop")
	})
	res := run(t, newAgent(t, m, agent.Options{}, delegating(agent.Task{})), turnOf("go"))
	close(most)
	highest := 0
	for n := range most {
		highest = max(highest, n)
	}
	if highest != 3 || strings.Count(show(res.Messages), "): ok") != 5 {
		t.Errorf("%d ran side by side:\n%s", highest, show(res.Messages))
	}
}

// A task ends, and its result says why if that is not its answer.
func TestATaskIsBounded(t *testing.T) {
	forever := func(context.Context, int) agent.Response {
		return response("So far.", "tool_calls", parseCalls([]string{fmt.Sprintf("- look {\"n\":%d}", time.Now().UnixNano())})...)
	}
	hangs := func(ctx context.Context, n int) agent.Response {
		if n == 0 {
			return forever(ctx, n)
		}
		<-ctx.Done()
		return agent.Response{}
	}
	for name, test := range map[string]struct {
		task   agent.Task
		inTask func(context.Context, int) agent.Response
		want   string
	}{
		"steps":           {agent.Task{MaxSteps: 3}, forever, "[The task was ended after 3 steps, so this may not be all.]"},
		"tokens":          {agent.Task{MaxTokens: 250, MaxSteps: 50}, forever, "[The task was ended early, so this may not be all: It has used the tokens"},
		"time":            {agent.Task{Timeout: 20 * time.Millisecond}, hangs, "So far.\n[The task was ended early, so this may not be all: it took longer than 20ms]"},
		"an unknown tool": {agent.Task{Tools: []string{"rm"}}, forever, `error: a task cannot have the tool "rm"; possible are: look, send`},
		"a task in it":    {agent.Task{Tools: []string{"delegate"}}, forever, `error: a task cannot have the tool "delegate"`},
	} {
		t.Run(name, func(t *testing.T) {
			send, look := sendingAndLooking()
			m := byRequest(t, 1, test.inTask)
			res := run(t, newAgent(t, m, agent.Options{}, delegating(test.task), send, look), turnOf("go"))
			if got := resultOf(t, res).Content; !strings.Contains(got, test.want) {
				t.Errorf("the result is %q, want %q", got, test.want)
			}
			for _, r := range m.requests() {
				if isTask(r) && offeredIn(r) != "look" && offeredIn(r) != "" {
					t.Errorf("without names a task is offered %q", offeredIn(r))
				}
			}
		})
	}
}

// Nobody is asked for a task, and /stop ends it.
func TestATaskAsksNobody(t *testing.T) {
	send, look := sendingAndLooking()
	m := byRequest(t, 1, sendAndLook)
	turn := turnOf("go")
	turn.Guard = agent.GuardFunc(func(_ context.Context, p agent.Proposal) (agent.Decision, error) {
		if p.NoQuestions != (p.Tool != "delegate") {
			t.Errorf("of %s questions are possible: %v", p.Tool, !p.NoQuestions)
		}
		if p.Tool == "send" {
			return agent.Decision{Verdict: agent.Wait}, nil
		}
		return agent.Decision{Verdict: agent.Allow}, nil
	})
	run(t, newAgent(t, m, agent.Options{}, delegating(agent.Task{Tools: []string{"send", "look"}}), send, look), turn)
	if len(send.calls()) > 0 {
		t.Error("it ran without a yes")
	}
	contains(t, "what the task reads", show(m.requests()[2].Messages), "a task cannot ask for one")

	ctx, cancel := context.WithCancel(t.Context())
	m = byRequest(t, 1, func(ctx context.Context, _ int) agent.Response {
		cancel()
		<-ctx.Done()
		return agent.Response{}
	})
	_, err := newAgent(t, m, agent.Options{}, delegating(agent.Task{}), send, look).Run(ctx, turnOf("go"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v after a stop", err)
	}
}
