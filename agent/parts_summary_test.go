package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/sessions"
)

// A long conversation is summarised in parts. If the server refuses a later part as too
// long, only that part is sent again, smaller: each message is in one accepted request.
func TestLaterPartIsRefused(t *testing.T) {
	for refused := range 4 { // the number of the request that is refused
		t.Run(fmt.Sprint("request ", refused), func(t *testing.T) {
			n := 0
			var accepted []string
			m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
				n++
				if n-1 == refused {
					return agent.Response{}, modelError(agent.ErrorContext, 0)
				}
				accepted = append(accepted, r.Messages[len(r.Messages)-1].Content)
				return response("## Goal\n"+theyTalked, "stop"), nil
			})
			a := newAgent(t, m, agent.Options{ContextWindow: 4096, Compaction: keeping(8)})
			if _, err := a.Summarize(t.Context(), sessions.History{Generation: "g", FirstSeq: 1, Messages: sixty()}, nil); err != nil {
				t.Fatal(err)
			}
			if len(accepted) < 3 {
				t.Fatalf("%d requests were accepted, want several parts", len(accepted))
			}
			for i := range 52 {
				word := fmt.Sprintf("message-%d words", i)
				in := 0
				for _, text := range accepted {
					in += strings.Count(text, word)
				}
				if in > 1 || in == 0 && refused > 0 && i < 20 {
					t.Errorf("%q is in %d accepted requests, want one", word, in)
				}
			}
		})
	}
}
