package provider_test

import (
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// withCalls is a conversation in which another model made two calls at once.
func withCalls() agent.Request {
	return agent.Request{Messages: []sessions.Message{
		{Role: sessions.RoleUser, Content: "what time is it, and where?"},
		{Role: sessions.RoleAssistant, Content: "Let me see.", ToolCalls: []sessions.ToolCall{{ID: "abcdef001", Name: "time", Arguments: "{}"}, {ID: "abcdef002", Name: "place", Arguments: "{}"}}},
		{Role: sessions.RoleTool, ToolCallID: "abcdef001", Content: "noon"},
		{Role: sessions.RoleTool, ToolCallID: "abcdef002", Content: "Naxos"},
		{Role: sessions.RoleAssistant, Content: "Noon, in Naxos."},
		{Role: sessions.RoleUser, Content: "thanks"},
	}}
}

// A template that accepts one call per message, or none, gets the conversation
// in a form that it accepts, after one refusal.
func TestStrictHistory(t *testing.T) {
	for name, tt := range map[string]struct {
		said    string
		refused func(*agenttest.Request) bool
		learned string
		want    []string
	}{
		"one call": {
			"Jinja Exception: This model only supports single tool-calls at once!",
			func(r *agenttest.Request) bool { return r.Messages[1].ToolCalls > 1 },
			"parallel_calls=no",
			[]string{
				"user what time is it, and where?", "assistant Let me see.", "tool noon", "assistant ", "tool Naxos", "assistant Noon, in Naxos.", "user thanks",
			},
		},
		"no calls": {
			"Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...",
			func(r *agenttest.Request) bool { return r.Messages[2].Role == "tool" },
			"tools=no",
			[]string{
				"user what time is it, and where?",
				"assistant Let me see.\n(I called the tool time with {}.)\n(I called the tool place with {}.)",
				"user (The tool time answered: noon)\n\n(The tool place answered: Naxos)",
				"assistant Noon, in Naxos.", "user thanks",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := agenttest.Serve(t, agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
				if tt.refused(r) {
					return agenttest.StatusReply(400, nil, `{"error":{"message":"`+tt.said+`"}}`)
				}
				return nil
			}})
			m := model(t, s.URL())
			for range 2 {
				if _, _, _, err := complete(t, m, withCalls()); err != nil {
					t.Fatal(err)
				}
			}
			if s.Count() != 3 {
				t.Errorf("two calls made %d requests, want 3: what was refused once is not sent again", s.Count())
			}
			var got []string
			for _, r := range s.Requests()[2].Messages {
				got = append(got, r.Role+" "+r.Content)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if l := m.Learned(); len(l) != 1 || l[0].What != tt.learned || !strings.Contains(strings.ToLower(l[0].Said), "jinja") {
				t.Errorf("learned %+v, want %s", l, tt.learned)
			}
		})
	}
}
