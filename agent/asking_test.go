package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/sessions"
)

// curious is a tool that asks so often before it has a result.
type curious struct {
	times   int
	begun   int
	answers []string
}

func (c *curious) Spec() agent.Spec {
	return agent.Spec{Name: "book", Effect: agent.EffectOut, Origin: "mcp:x"}
}

func (c *curious) Run(_ context.Context, call agent.Call) (string, error) {
	asked := 0
	if call.Answer == nil {
		c.begun++
	} else {
		_, _ = fmt.Sscan(call.Answer.State, &asked) // it is ours
		c.answers = append(c.answers, fmt.Sprint(call.Answer.Action, " ", call.Answer.Values["name"]))
	}
	if asked < c.times {
		return "", &agent.Asking{Form: agent.Form{From: "x", Message: fmt.Sprint("question ", asked+1)}, State: fmt.Sprint(asked + 1)}
	}
	return "booked after " + strings.Join(c.answers, ", "), nil
}

// desk is an Asker with the answers that people have given so far.
type desk struct {
	asked   []string
	answers map[int]agent.Answer // by Asked.Nth
}

func (d *desk) Ask(_ context.Context, a agent.Asked) (*agent.Answer, time.Time, error) {
	d.asked = append(d.asked, fmt.Sprintf("%s %d %s", a.Person.Name, a.Nth, a.Form.Message))
	if answer, is := d.answers[a.Nth]; is {
		return &answer, time.Time{}, nil
	}
	return nil, t0.Add(time.Minute), nil
}

// A call that asks the person parks the turn, goes on where it was after any number of
// restarts, and is not begun or allowed twice.
func TestAsking(t *testing.T) {
	tool := &curious{times: 2}
	other := counterOf("look", agent.EffectRead)
	guard := &doorkeeper{}
	people := &desk{answers: map[int]agent.Answer{}}
	m := newScript(t, call("a book {}", "b look {}"), say("Done."))
	var j journal
	turn := turnOf("go")
	turn.Guard = guard
	turn.Asker = people
	turn.Record = j.record
	again := func() (agent.Result, error) {
		turn.Steps = slices.Clone(j.steps)
		return newAgent(t, m, agent.Options{}, tool, other).Run(t.Context(), turn)
	}
	for range 2 { // the second time nothing is new
		_, err := again()
		if waiting, is := errors.AsType[*agent.Waiting](err); !is || !waiting.Until.Equal(t0.Add(time.Minute)) {
			t.Fatalf("without an answer the error is %v", err)
		}
	}
	people.answers[1] = agent.Answer{Action: agent.Accepted, Values: map[string]any{"name": "Ann"}}
	if _, err := again(); err == nil || tool.begun != 1 || len(other.calls()) != 1 {
		t.Fatalf("with one answer of two: %v, begun %d times, the other call ran %d times", err, tool.begun, len(other.calls()))
	}
	people.answers[2] = agent.Answer{Action: agent.Declined}
	res, err := again()
	if err != nil || res.Text != "Done." {
		t.Fatalf("with both: %+v, %v", res, err)
	}
	if got := res.Messages[2]; got.Content != "booked after accept Ann, decline <nil>" || !slices.Equal(got.Origins, []sessions.Origin{"mcp:x"}) {
		t.Errorf("the model reads %q of %v", got.Content, got.Origins)
	}
	if got, want := strings.Join(people.asked, "; "), "Ada 1 question 1; Ada 1 question 1; Ada 1 question 1; Ada 2 question 2; Ada 2 question 2"; got != want {
		t.Errorf("asked was %q, want %q", got, want)
	}
	if got := guard.names(); len(got) != 2 || tool.begun != 1 {
		t.Errorf("the guard was asked about %q, and the call begun %d times", got, tool.begun)
	}
}

// A crash at any write of the journal neither loses an answer nor runs the call twice in the
// dark.
func TestAskingCrash(t *testing.T) {
	for at := 2; at < 8; at++ { // the first is the answer of the model
		tool := &curious{times: 1}
		people := &desk{answers: map[int]agent.Answer{1: {Action: agent.Accepted, Values: map[string]any{"name": "Ann"}}}}
		m := newScript(t, call("a book {}"), say("Done."))
		var j journal
		turn := turnOf("go")
		turn.Asker = people
		n := 0
		turn.Record = func(ctx context.Context, s sessions.Step) error {
			n++
			if n == at {
				return errCrash
			}
			return j.record(ctx, s)
		}
		a := newAgent(t, m, agent.Options{}, tool)
		res, err := a.Run(t.Context(), turn)
		if errors.Is(err, errCrash) {
			turn.Steps = slices.Clone(j.steps)
			turn.Record = j.record
			res, err = a.Run(t.Context(), turn)
		}
		if err != nil {
			t.Fatalf("crash at %d: %v", at, err)
		}
		got := res.Messages[2].Content
		if got != "booked after accept Ann" && got != "interrupted: it may or may not have happened" || tool.begun > 1 {
			t.Errorf("crash at %d: the model reads %q, and the call was begun %d times", at, got, tool.begun)
		}
	}
}

// Where nobody is, a call goes on without an answer, and one that asks without end is told.
func TestAskingNobody(t *testing.T) {
	for _, times := range []int{1, 50} {
		tool := &curious{times: times}
		m := newScript(t, call("a book {}"), say("Done."))
		res := run(t, newAgent(t, m, agent.Options{}, tool), turnOf("go"))
		want := "booked after cancel <nil>"
		if times > 1 {
			want = "error: not finished: it asks again and again; it may or may not have happened"
		}
		if got := res.Messages[2].Content; got != want {
			t.Errorf("%d questions: the model reads %q, want %q", times, got, want)
		}
	}
}
