package mcp_test

import (
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/mcp"
	"dragoman/agent/mcp/mcptest"
)

// A question whose schema refers to itself is put as far as it can be, and its answer arrives.
func TestEndlessForm(t *testing.T) {
	t.Parallel()
	tool := named(t, open(t, &notes{}, mcp.Options{}, mcp.Server{Name: "x", Command: mcptest.Command("endless-form@old")}), "x__work")
	a := asks(t, tool, nil)
	got, err := run2(t, tool, &agent.Answer{State: a.State, Action: agent.Accepted, Values: map[string]any{"name": "Ann"}})
	if err != nil || !strings.Contains(got, `"action":"accept"`) || !strings.Contains(got, "Ann") {
		t.Errorf("with an answer it gives %q, %v", got, err)
	}
}
