package agent_test

import (
	"context"
	"errors"
	"testing"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// TestUnexplainedRefusals: a server that refuses the longest request so far without a
// reason is tried once with half of it. If that passes, the length was the reason, and
// later requests are shorter. Nothing else is tried again.
func TestUnexplainedRefusals(t *testing.T) {
	invalid := modelError(agent.ErrorInvalid, 0)
	filtered := &agent.ModelError{Kind: agent.ErrorInvalid, Cause: agent.CauseFilter, Err: errors.New("filtered")}
	busy := modelError(agent.ErrorRefused, 0)
	short := sixty()[:4]
	for name, test := range map[string]struct {
		takes    int   // tokens
		says     error // about more
		saysHalf error // about half, if not the same
		history  []sessions.Message
		known    bool // a request of this length was answered before
		requests int
		want     error
	}{
		"too long":                      {takes: 4096, says: invalid, history: sixty(), requests: 2},
		"even half is too long":         {takes: 100, says: invalid, history: sixty(), requests: 2, want: invalid},
		"half is refused otherwise":     {takes: 100, says: invalid, saysHalf: busy, history: sixty(), requests: 2, want: busy},
		"a known reason":                {takes: 4096, says: filtered, history: sixty(), requests: 1, want: filtered},
		"a short request":               {takes: 100, says: invalid, history: short, requests: 1, want: invalid},
		"as long as one that passed":    {takes: 4096, says: invalid, history: sixty(), known: true, requests: 1, want: invalid},
		"a refusal that is not a 400":   {takes: 4096, says: busy, history: sixty(), requests: 1, want: busy},
		"a server that takes it anyway": {takes: 100_000, says: invalid, history: sixty(), requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			takes := test.takes
			refused := 0
			m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
				if window.Count(r.Messages, nil)+window.EstimateText(r.System) <= takes {
					return response("I see.", "stop"), nil
				}
				refused++
				if refused == 2 && test.saysHalf != nil {
					return agent.Response{}, test.saysHalf
				}
				return agent.Response{}, test.says
			})
			a := newAgent(t, m, agent.Options{ContextWindow: 32_768, Compaction: without(), Tries: 1})
			turn := turnOf("And now?")
			turn.History = sessions.History{Generation: "g", Messages: test.history}
			before := 0
			if test.known {
				takes = 100_000
				runUnsummarised(t, a, turn)
				takes, before = test.takes, 1
			}
			_, err := a.Run(t.Context(), turn)
			if made := len(m.requests()) - before; made != test.requests || test.want == nil && err != nil || test.want != nil && !errors.Is(err, test.want) {
				t.Fatalf("Run() = %v after %d requests, want %v after %d", err, made, test.want, test.requests)
			}
			if test.requests != 2 || test.want != nil {
				return
			}
			// What was learned holds for the next turn.
			turn.ID = "t2"
			runUnsummarised(t, a, turn)
			if made := len(m.requests()); made != test.requests+1 {
				t.Errorf("the next turn makes %d requests, want one", made-test.requests)
			}
		})
	}
}
