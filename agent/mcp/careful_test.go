package mcp_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
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

// A call that breaks off while its question waits ends when there is an answer, and with the
// pool if there is none.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(mcptest.Handler("leaves@old"))
	t.Cleanup(web.Close)
	for _, s := range []mcp.Server{{Name: "x", URL: web.URL}, {Name: "x", Command: mcptest.Command("leaves@old")}} {
		tool := named(t, open(t, &notes{}, mcp.Options{}, s), "x__work")
		a := asks(t, tool, nil)
		ctx, cancel := context.WithTimeout(t.Context(), stuck)
		defer cancel()
		got, err := tool.Run(ctx, agent.Call{Args: json.RawMessage("{}"), Answer: &agent.Answer{State: a.State, Action: agent.Declined}})
		if err == nil || ctx.Err() != nil {
			t.Errorf("it gives %q, %v", got, err)
		}
		_ = asks(t, tool, nil) // the pool ends meanwhile
	}
}
