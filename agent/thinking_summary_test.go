package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/sessions"
)

// TestThinkingSummaries: a model whose thoughts use up the tokens of a summary is asked
// once more with room for them and little effort, and from then on at once. If that is
// too little too, the error says what to raise.
func TestThinkingSummaries(t *testing.T) {
	for name, test := range map[string]struct {
		needs  int // tokens
		window int
		want   []string // tokens and effort of the requests of two summaries
		fails  string
	}{
		"enough":                 {1000, 128_000, []string{"4096", "4096"}, ""},
		"thoughts":               {16_000, 128_000, []string{"4096", "16384 low", "16384 low"}, ""},
		"a little more":          {5000, 128_000, []string{"4096", "16384 low", "16384 low"}, ""},
		"more than there is":     {40_000, 128_000, []string{"4096", "16384 low", "16384 low", "16384 low"}, "raise summary.max_tokens"},
		"the window has no more": {16_000, 16_384, nil, "raise summary.max_tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
				asked = append(asked, strings.TrimSpace(fmt.Sprint(r.MaxTokens, " ", r.Effort)))
				if r.MaxTokens < test.needs {
					resp := response("", "length")
					resp.Thought = true
					return resp, nil
				}
				return response("## Goal\n"+theyTalked, "stop"), nil
			})
			compaction := keeping(8)
			compaction.MaxTokens = 4096
			a := newAgent(t, m, agent.Options{ContextWindow: test.window, Compaction: compaction})
			for range 2 {
				_, err := a.Summarize(t.Context(), sessions.History{Generation: "g", FirstSeq: 1, Messages: sixty()}, nil)
				if failed := errors.Is(err, recap.ErrBadSummary); failed != (test.fails != "") || failed && !strings.Contains(err.Error(), test.fails) {
					t.Fatalf("Summarize() = %v, want %q", err, test.fails)
				}
			}
			if got := strings.Join(asked, ", "); test.want != nil && got != strings.Join(test.want, ", ") {
				t.Errorf("asked with %s tokens, want %s", got, strings.Join(test.want, ", "))
			}
		})
	}
}
