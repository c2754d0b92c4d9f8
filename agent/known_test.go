package agent_test

import (
	"context"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/sessions"
)

// What was remembered about a person is shown right in front of their newest words, at each
// step of the turn. Of the next turn's prompt it changes nothing that the provider may have
// in its cache.
func TestKnownStandsBeforeTheNewestWords(t *testing.T) {
	m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		if last := r.Messages[len(r.Messages)-1]; last.Role == sessions.RoleUser {
			return response("", "tool_calls", sessions.ToolCall{ID: "1", Name: "look", Arguments: `{"at":1}`}), nil
		}
		return response("It is raining.", "stop"), nil
	})
	a := newAgent(t, m, agent.Options{System: "Be kind."}, newCounter("look"))
	first := turnOf("How is the weather?")
	first.ID, first.Known = "first", "Known: likes rain."
	history := run(t, a, first).Messages
	second := turnOf("And now?")
	second.ID, second.Known = "second", "Known: likes snow."
	second.History.Messages = history
	run(t, a, second)

	reqs := m.requests()
	if len(reqs) != 4 {
		t.Fatalf("%d requests, want 4", len(reqs))
	}
	for i, want := range []string{"likes rain", "likes rain", "likes snow", "likes snow"} {
		if n := strings.Count(wire(t, reqs[i]), "Known:"); n != 1 {
			t.Errorf("request %d shows what is known %d times, want once", i, n)
		}
		at := 0
		if i > 1 {
			at = len(history)
		}
		words := reqs[i].Messages[at].Content
		said := strings.LastIndex(words, "weather") + strings.LastIndex(words, "And now?")
		if known := strings.Index(words, want); known < 0 || known > said {
			t.Errorf("message %d of request %d is %q, want what is known and then the person's words", at, i, words)
		}
	}
	if reqs[0].System != reqs[3].System {
		t.Errorf("the system prompt changed from %q to %q", reqs[0].System, reqs[3].System)
	}
	for i, h := range history {
		if got := reqs[3].Messages[i].Content; got != h.Content {
			t.Errorf("message %d of the second turn is %q, want it as it was kept: %q", i, got, h.Content)
		}
	}
}
