package agent_test

import (
	"context"
	"errors"
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

// What a tool pays is in its result and told to the meter, also if the call fails.
func TestToolsPay(t *testing.T) {
	paint := tool{agent.Spec{Name: "paint", Effect: agent.EffectOwn}, func(_ context.Context, c agent.Call) (string, error) {
		c.Pay("painter", 0.04)
		if string(c.Args) != "{}" {
			return "", errors.New("the colours ran")
		}
		return "painted", nil
	}}
	m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		if r.Messages[len(r.Messages)-1].Role == sessions.RoleTool {
			return response("Here.", "stop"), nil
		}
		return response("", "tool_calls", sessions.ToolCall{ID: "c1", Name: "paint", Arguments: `{}`}, sessions.ToolCall{ID: "c2", Name: "paint", Arguments: `{"n":2}`}), nil
	})
	turn := turnOf("Paint.")
	meter := &allowance{left: 9}
	turn.Meter = meter
	var sum sessions.Usage
	for _, msg := range run(t, newAgent(t, m, agent.Options{}, paint), turn).Messages {
		if msg.Role != sessions.RoleTool {
			continue
		}
		if msg.Model != "painter" || msg.Usage == nil {
			t.Fatalf("the result %q was paid to %q: %+v", msg.Content, msg.Model, msg.Usage)
		}
		sum.Add(*msg.Usage)
	}
	told := 0.0
	for _, u := range meter.used {
		if u != nil {
			told += u.Cost
		}
	}
	if sum != (sessions.Usage{Cost: 0.08}) || told != 0.08 {
		t.Errorf("the results cost %+v, and the meter heard of %v", sum, told)
	}
}
