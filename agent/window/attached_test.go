package window_test

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// Data that a provider attached counts as part of the window.
func TestAttachedTakesRoom(t *testing.T) {
	plain := sessions.Message{Role: sessions.RoleAssistant, Content: "four"}
	sealed := plain
	sealed.Attached = &sessions.Attached{Data: json.RawMessage(`"` + strings.Repeat("A", 3998) + `"`)}
	without, with := []sessions.Message{plain}, []sessions.Message{sealed}
	for name, count := range map[string]func([]sessions.Message) int{
		"UpperBound": window.UpperBound,
		"Count":      func(m []sessions.Message) int { return window.Count(m, func(s string) int { return len(s) }) },
	} {
		if got := count(with) - count(without); got != 1000 {
			t.Errorf("%s counts %d tokens for 4000 attached bytes, want 1000", name, got)
		}
	}
}

// An excerpt of an answer has no data that was attached to the whole answer.
func TestAttachedOfAnExcerpt(t *testing.T) {
	attached := &sessions.Attached{Data: json.RawMessage(`"` + strings.Repeat("A", 400) + `"`)}
	view, _ := window.Fit([]sessions.Message{
		{Role: sessions.RoleUser, Content: "go"},
		{Role: sessions.RoleAssistant, Content: strings.Repeat("word ", 50_000), Attached: attached, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "get", Arguments: `{}`}}},
		{Role: sessions.RoleTool, ToolCallID: "a", Content: "ok"},
	}, 1, 2000, nil)
	for _, m := range view {
		if m.Role == sessions.RoleAssistant && (m.Attached != nil || len(m.Content) > 20_000) {
			t.Errorf("the answer has %d bytes and %v attached, want an excerpt and nothing attached", len(m.Content), m.Attached)
		}
	}
}
