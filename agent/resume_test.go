package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/sessions"
)

// errCrash simulates the death of the process at one journal write.
var errCrash = errors.New("crash")

// scene is a turn of three model steps with five calls, a warning and a steering
// message. The model decides by what the request shows, so that it continues after a
// crash as a real one would.
func scene(t *testing.T) (*script, *counter, *counter, agent.Turn) {
	m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		// The request must contain whole steps only.
		switch n := strings.Count(show(r.Messages), "assistant:"); n {
		case 0:
			return response("Looking.", "tool_calls", parseCalls([]string{"x send {}", "x look {}", `y send {"n":2}`})...), nil
		case 1:
			return response("", "tool_calls", parseCalls([]string{`x send {"n":2}`})...), nil
		case 2:
			return response("", "tool_calls", parseCalls([]string{`x send {"n":2}`})...), nil
		default:
			return response("Done.", "stop"), nil
		}
	})
	send, look := newCounter("send"), newCounter("look")
	look.spec.Repeatable = true
	return m, send, look, turnOf("go")
}

// TestResume crashes the turn at every write of its journal, before and after it, and
// runs the turn again.
func TestResume(t *testing.T) {
	m, send, look, turn := scene(t)
	var whole journal
	turn.Record = whole.record
	want := run(t, newAgent(t, m, agent.Options{}, send, look), turn)
	if len(whole.steps) != 14 || len(send.calls()) != 4 || want.Steps != 4 {
		t.Fatalf("the scene has %d journal entries, %d calls and %d steps: %s\n%s", len(whole.steps), len(send.calls()), want.Steps, whole.shape(), show(want.Messages))
	}
	for at := range whole.steps {
		for _, written := range []bool{false, true} {
			t.Run(fmt.Sprintf("entry %d, written %v", at, written), func(t *testing.T) {
				checkResume(t, at, written, show(want.Messages))
			})
		}
	}
}

func checkResume(t *testing.T, at int, written bool, whole string) {
	m, send, look, turn := scene(t)
	a := newAgent(t, m, agent.Options{}, send, look)
	var j journal
	n := 0
	turn.Record = func(ctx context.Context, s sessions.Step) error {
		n++
		if n > at && !written || n > at+1 {
			return errCrash
		}
		return j.record(ctx, s)
	}
	if _, err := a.Run(t.Context(), turn); !errors.Is(err, errCrash) && len(j.steps) < 14 {
		t.Fatalf("Run() = %v, want the journal's error", err)
	}
	calls := len(m.requests())

	turn.Steps = slices.Clone(j.steps)
	turn.Record = j.record
	res := run(t, a, turn)

	// Only one difference is allowed: a send that had started and has no result is
	// not run again.
	got, unknown := show(res.Messages), strings.Count(show(res.Messages), "interrupted: it may or may not have happened")
	if unknown == 0 && got != whole {
		t.Errorf("Messages:\n%s\nwant:\n%s", got, whole)
	}
	if unknown > 1 || !strings.Contains(got, "look ran") {
		t.Errorf("%d calls were interrupted, want at most one, and none that can be repeated:\n%s", unknown, got)
	}
	if n := len(send.calls()); n > 4 || n < 4-unknown {
		t.Errorf("send ran %d times with %d interrupted, want 4: nothing twice, nothing left out", n, unknown)
	}
	if res.Steps != 4 || res.Text != "Looking.\n\nDone." {
		t.Errorf("Result = %q, %d steps; want as without a crash", res.Text, res.Steps)
	}
	// A model step whose record was lost is called again, and no other.
	if again := len(m.requests()) - calls; calls+again > 5 {
		t.Errorf("%d model calls before the crash and %d after it, want 5 at most", calls, again)
	}
}

// TestResumeInterrupted: what the model reads about a call that may have happened;
// the answer is in the journal.
func TestResumeInterrupted(t *testing.T) {
	msg := response("", "tool_calls", parseCalls([]string{"a send {}", "b look {}", "c send {}"})...).Message
	done := sessions.Message{Role: sessions.RoleTool, ToolCallID: callID("c"), Name: "send", Content: "sent before"}
	turn := turnOf("go")
	turn.Steps = []sessions.Step{
		{Kind: sessions.StepPreview, MessageID: "77"},
		{Kind: sessions.StepModel, Message: &msg},
		{Kind: sessions.StepToolStart, CallID: callID("a")},
		{Kind: sessions.StepToolStart, CallID: callID("b")},
		{Kind: sessions.StepToolStart, CallID: callID("c")},
		{Kind: sessions.StepToolDone, CallID: callID("c"), Message: &done},
	}
	var j journal
	turn.Record = j.record
	send, look := newCounter("send"), newCounter("look")
	look.spec.Repeatable = true
	m := newScript(t, say("Done."))
	res := run(t, newAgent(t, m, agent.Options{}, send, look), turn)
	want := `user: go
assistant:  [a send {}] [b look {}] [c send {}]
tool(a)*: interrupted: it may or may not have happened
tool(b): look ran with {}
tool(c): sent before
assistant: Done.
`
	if got := show(res.Messages); got != want {
		t.Errorf("Messages:\n%s\nwant:\n%s", got, want)
	}
	if got, want := j.shape(), "tool_done:a tool_start:b tool_done:b"; got != want {
		t.Errorf("journal = %q, want %q", got, want)
	}
	if len(send.calls()) != 0 || len(m.requests()) != 1 || res.Steps != 2 {
		t.Errorf("send ran %d times, %d model calls, %d steps", len(send.calls()), len(m.requests()), res.Steps)
	}
}

// TestResumeSteered: steering and notes of the earlier run are in the turn, and a
// step limit that was reached before the crash still holds.
func TestResumeSteered(t *testing.T) {
	msg := response("", "tool_calls", parseCalls([]string{"a get {}"})...).Message
	done := sessions.Message{Role: sessions.RoleTool, ToolCallID: callID("a"), Name: "get", Content: "x"}
	steer := sessions.Message{Role: sessions.RoleUser, Content: "faster", Sender: "8"}
	note := sessions.Message{Role: sessions.RoleUser, Content: "a note", Synthetic: true}
	turn := turnOf("go")
	turn.Steps = []sessions.Step{
		{Kind: sessions.StepModel, Message: &msg},
		{Kind: sessions.StepToolStart, CallID: callID("a")},
		{Kind: sessions.StepToolDone, CallID: callID("a"), Message: &done},
		{Kind: sessions.StepNote, Message: &note},
		{Kind: sessions.StepSteer, Message: &steer},
	}
	m := newScript(t, say("Done."))
	res := run(t, newAgent(t, m, agent.Options{MaxSteps: 2}, newCounter("get")), turn)
	want := "user: go\nassistant:  [a get {}]\ntool(a): x\nuser*: a note\nuser: faster\nassistant: Done.\n"
	if got := show(res.Messages); got != want {
		t.Errorf("Messages:\n%s\nwant:\n%s", got, want)
	}
	if m.requests()[0].Tools != nil {
		t.Error("the last step has tools")
	}
}

// TestRunTwiceWithSpareCapacity: a turn that is tried again has the same history, even if the
// first run used the spare capacity of its slice.
func TestRunTwiceWithSpareCapacity(t *testing.T) {
	m := newScript(t, say("one"), say("one"))
	a := newAgent(t, m, agent.Options{})
	turn := turnOf("again?")
	turn.History.Messages = append(make([]sessions.Message, 0, 8),
		sessions.Message{Role: sessions.RoleUser, Content: "hi"}, sessions.Message{Role: sessions.RoleAssistant, Content: "hello"})
	before := slices.Clone(turn.History.Messages)
	first := run(t, a, turn)
	second := run(t, a, turn)
	if diff := cmp.Diff(first.Messages, second.Messages); diff != "" {
		t.Errorf("Messages of both runs (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(before, turn.History.Messages); diff != "" {
		t.Errorf("the history after both (-before +after):\n%s", diff)
	}
	requests := m.requests()
	if got, want := show(requests[1].Messages), "user: hi\nassistant: hello\nuser: again?\n"; got != want || show(requests[0].Messages) != want {
		t.Errorf("requests:\n%s\n%s", show(requests[0].Messages), got)
	}
}
