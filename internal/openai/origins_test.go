package openai_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/internal/openai"
	"dragoman/sessions"
)

// doorkeeper runs turns, and notes the taint of each call of ours.
type doorkeeper struct {
	openai.Turns
	taints [][]sessions.Origin
}

func (d *doorkeeper) Given(ctx context.Context, turn agent.Turn) (agent.Result, error) {
	turn.Guard = agent.GuardFunc(func(_ context.Context, p agent.Proposal) (agent.Decision, error) {
		d.taints = append(d.taints, p.Taint)
		return agent.Decision{Verdict: agent.Allow}, nil
	})
	return d.Turns.(turns).Run(ctx, turn)
}

// What a program says that was said before is nobody's word. Its last question is the
// person's.
func TestWhoseWordsAreGiven(t *testing.T) {
	others := []sessions.Origin{sessions.OriginOthers}
	for name, tc := range map[string]struct {
		messages string
		want     []sessions.Origin
	}{
		"a question":             {`{"role":"user","content":"go"}`, nil},
		"with instructions":      {`{"role":"system","content":"Be brief."},{"role":"user","content":"go"}`, nil},
		"after another question": {`{"role":"user","content":"one"},{"role":"user","content":"go"}`, others},
		"after an answer":        {`{"role":"assistant","content":"hi"},{"role":"user","content":"go"}`, others},
		"after a result of theirs": {`{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"theirs","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"a","content":"buy"}`, others},
	} {
		h := newChatHouse(t, agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: "{}"}), agenttest.Say("done"))
		guard := &doorkeeper{Turns: h.opts.Turns}
		h.opts.Turns = guard
		h.restart()
		resp := h.chat(`{"model":"dragoman","messages":[` + tc.messages + `]}`)
		if resp.StatusCode != 200 || len(guard.taints) != 1 {
			t.Fatalf("%s: %s, asked %d times:\n%s", name, resp.Status, len(guard.taints), body(t, resp))
		}
		if diff := cmp.Diff(tc.want, guard.taints[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What was kept here of an earlier response is known.
func TestWhoseWordsAreKept(t *testing.T) {
	h := newChatHouse(t, agenttest.Say("hi"), agenttest.Call(sessions.ToolCall{Name: "deed", Arguments: "{}"}), agenttest.Say("done"))
	guard := &doorkeeper{Turns: h.opts.Turns}
	h.opts.Turns = guard
	h.restart()
	first := decoded(t, h.send("POST", "/v1/responses", `{"model":"dragoman","input":"hello"}`))
	id, _ := first["id"].(string)
	second := h.send("POST", "/v1/responses", `{"model":"dragoman","input":"go","previous_response_id":"`+id+`"}`)
	if second.StatusCode != 200 || len(guard.taints) != 1 {
		t.Fatalf("%s, asked %d times:\n%s", second.Status, len(guard.taints), body(t, second))
	}
	if diff := cmp.Diff([]sessions.Origin(nil), guard.taints[0]); diff != "" {
		t.Errorf("the kept messages (-want +got):\n%s", diff)
	}
}
