package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/sessions"
)

var by = sessions.Provenance{API: "chat", Host: "api.example", Model: "scripted"}

// thinker is a model whose provider attaches a thought to each answer, and which
// refuses a conversation where one is missing.
func thinker(t *testing.T) *script {
	return newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		n := 0
		for _, m := range r.Messages {
			if m.Role != sessions.RoleAssistant {
				continue
			}
			if got, want := string(m.AttachedBy(by)), thought(n); got != want {
				t.Errorf("answer %d comes back with %s, want %s", n, got, want)
			}
			n++
		}
		resp := response("Done.", "stop")
		if n%2 == 0 {
			resp = response("Looking.", "tool_calls", parseCalls([]string{"x look {}", "y look {}"})...)
		}
		resp.Message.Model = by.Model
		resp.Message.Attached = &sessions.Attached{By: by, Data: json.RawMessage(thought(n))}
		return resp, nil
	})
}

func thought(n int) string { return fmt.Sprintf(`{"thought":%d}`, n) }

// Data that a provider attached is sent back with every message, in the turn and in
// later ones, even after a crash at any write of the journal.
func TestAttachedComesBack(t *testing.T) {
	a := newAgent(t, thinker(t), agent.Options{}, newCounter("look"))
	turn := turnOf("go")
	first := run(t, a, turn)
	if m := first.Messages[len(first.Messages)-1]; string(m.AttachedBy(by)) != thought(1) || m.Model != by.Model {
		t.Errorf("the answer is %+v, want it by %s with what was attached", m, by.Model)
	}
	next := turnOf("again")
	next.History.Messages = first.Messages
	run(t, a, next)

	for at := 0; ; at++ {
		var j journal
		j.fail = func(sessions.Step) error {
			if len(j.steps) == at {
				return errCrash
			}
			return nil
		}
		broken := turnOf("go")
		broken.Record = j.record
		_, err := a.Run(t.Context(), broken)
		if err == nil {
			if at < 5 {
				t.Fatalf("the turn has %d journal entries, want a step and two calls", at)
			}
			return
		}
		if !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		j.fail = nil
		broken.Steps = j.steps
		again := run(t, a, broken)
		for i, m := range again.Messages {
			if diff := cmp.Diff(first.Messages[i].Attached, m.Attached); diff != "" {
				t.Errorf("after a crash at entry %d, message %d (-want +got):\n%s", at, i, diff)
			}
		}
	}
}

// A text that replaces an answer in the transcript has none of its attached data.
func TestReplacedTextHasNoAttachedData(t *testing.T) {
	m := newScript(t, func(_ context.Context, _ agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		resp := response("", "length")
		resp.Message.Attached = &sessions.Attached{By: by, Data: json.RawMessage(`1`)}
		return resp, nil
	})
	res := run(t, newAgent(t, m, agent.Options{}), turnOf("go"))
	for _, m := range res.Messages {
		if m.Attached != nil {
			t.Errorf("%q has %s", m.Content, m.Attached.Data)
		}
	}
}
