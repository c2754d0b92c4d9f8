package agent_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/sessions"
)

// allowance lets some calls begin.
type allowance struct {
	left  int
	sizes []int
	used  []*sessions.Usage
}

func (a *allowance) Begin(_ context.Context, _ string, input int) (string, error) {
	if a.left == 0 {
		return "That was all for today.", nil
	}
	a.left--
	a.sizes = append(a.sizes, input)
	return "", nil
}

func (a *allowance) Used(u *sessions.Usage) { a.used = append(a.used, u) }

// A turn that may make no further call ends with what it has said, and the meter's sentence.
func TestAMeterEndsATurn(t *testing.T) {
	look := tool{agent.Spec{Name: "look"}, func(context.Context, agent.Call) (string, error) { return "nothing", nil }}
	m := newScript(t, func(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) {
		resp := response("I look.", "tool_calls", sessions.ToolCall{ID: "c", Name: "look", Arguments: `{}`})
		resp.Usage = &sessions.Usage{Input: 7, Output: 3}
		return resp, nil
	})
	a := newAgent(t, m, agent.Options{}, look)
	turn := turnOf("Look.")
	meter := &allowance{left: 1}
	turn.Meter = meter
	res := run(t, a, turn)
	if want := "I look.\n\nThat was all for today."; res.Text != want {
		t.Errorf("the answer is %q, want %q", res.Text, want)
	}
	if n := len(m.requests()); n != 1 {
		t.Errorf("the model was asked %d times, want once", n)
	}
	last := res.Messages[len(res.Messages)-1]
	if !last.Synthetic || last.Content != "That was all for today." {
		t.Errorf("the transcript ends with %+v", last)
	}
	if diff := cmp.Diff([]*sessions.Usage{{Input: 7, Output: 3}}, meter.used); diff != "" || len(meter.sizes) != 1 || meter.sizes[0] <= 0 {
		t.Errorf("the meter heard of %v tokens and (-want +got):\n%s", meter.sizes, diff)
	}
}
