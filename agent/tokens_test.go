package agent_test

import (
	"testing"

	"dragoman/agent"
	"dragoman/sessions"
)

// A conversation's size is counted like a request, including its summary.
func TestTokensOfAHistory(t *testing.T) {
	a := newAgent(t, newScript(t), agent.Options{Count: func(s string) int { return len(s) }})
	h := sessions.History{Messages: []sessions.Message{{Role: sessions.RoleUser, Content: "12345"}}}
	plain := a.Tokens(h)
	h.Summary = &sessions.Summary{Text: "1234567"}
	if got := a.Tokens(h); plain < 5 || got != plain+7 {
		t.Errorf("Tokens = %d, and %d with a summary of 7", plain, got)
	}
}
