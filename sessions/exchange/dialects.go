package exchange

import (
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// dialect recognizes documents of Molf and Terrarium by the fields around the messages,
// and takes those that only these have. It returns "" for others.
func (t *conversation) dialect(f fieldSet) Format {
	var id, kind string
	switch {
	case f["key"] != nil: // ours
		return ""
	case f["workerId"] != nil && json.Unmarshal(f["sessionId"], &id) == nil && id != "":
		t.name = id
		f.rename("name", "title")
		return Molf
	case json.Unmarshal(f["session_id"], &id) != nil || id == "" || f["system_prompt"] == nil && f["context_type"] == nil:
		return ""
	}
	t.name = id
	_ = json.Unmarshal(f["context_type"], &kind)
	if name, rest, ok := strings.Cut(id, "_"); ok && kind == "" {
		switch name {
		case "irc":
			kind, id = name, "#"+rest
		case "web", "game":
			kind, id = name, rest
		}
	}
	if k, err := channels.NewKey(kind, id); err == nil {
		t.key = k.String()
	}
	return Terrarium
}

// kindsOfSentinel maps each kind of message to its role and the field with its text. A
// generic message has a field for its role.
var kindsOfSentinel = map[string]struct{ role, text string }{
	"SYSTEM_PROMPT_REQUEST_MESSAGE":      {"system", "content"},
	"USER_PROMPT_REQUEST_MESSAGE":        {"user", "content"},
	"TOOL_CALL_REQUEST_MESSAGE":          {"assistant", "content"},
	"TOOL_CALL_RESPONSE_MESSAGE":         {"tool", "response"},
	"TEXT_RESPONSE_MESSAGE":              {"assistant", "content"},
	"STRUCTURED_OUTPUT_RESPONSE_MESSAGE": {"assistant", "content"},
	"GENERIC_TEXT_MESSAGE":               {"", "text"},
	"GENERIC_RESOURCE_MESSAGE":           {"", "content"},
}

// decodeSentinel decodes a line of Sentinel's. It renames the fields to the names that
// entryOf takes.
func (t *conversation) decodeSentinel(line json.RawMessage) (entry, error) {
	f, err := parse(line)
	if err != nil {
		return entry{}, err
	}
	var messageType, failed, session string
	take(f, "messageType", &messageType)
	kind, ok := kindsOfSentinel[strings.ToUpper(messageType)]
	if !ok {
		return entry{}, fmt.Errorf("%w: there is no kind of message %.40q", ErrFormat, messageType)
	}
	role := kind.role
	if role == "" {
		take(f, "role", &role)
		role, _, _ = strings.Cut(strings.ToLower(role), "_") // tool_call
	}
	f["role"], _ = json.Marshal(role)
	f.rename(kind.text, "content", "runId", "turn", "stats", "usage")
	if messageType == "TOOL_CALL_REQUEST_MESSAGE" {
		call := map[string]json.RawMessage{"id": f["toolCallId"], "name": f["toolName"], "arguments": f["arguments"]}
		for _, name := range []string{"toolCallId", "toolName", "arguments"} {
			delete(f, name)
		}
		f["tool_calls"], _ = json.Marshal([]any{call})
	}
	if json.Unmarshal(f["errorType"], &failed) == nil && failed != "SUCCESS" {
		f["failed"] = json.RawMessage("true")
	}
	take(f, "sessionId", &session)
	if t.name == "" {
		t.name = session
	}
	return entryOf(f)
}

// joinCalls moves the calls of next to m if both messages only have calls of one answer.
func joinCalls(m *sessions.Message, next sessions.Message) bool {
	for _, m := range []*sessions.Message{m, &next} {
		if m.Role != sessions.RoleAssistant || m.Content != "" || len(m.ToolCalls) == 0 || m.Turn != next.Turn {
			return false
		}
	}
	m.ToolCalls = append(m.ToolCalls, next.ToolCalls...)
	return true
}

// hasSentinelID reports whether Sentinel gave the message that id.
func (e *entry) hasSentinelID(id string) bool {
	var own string
	return id != "" && json.Unmarshal(e.Extra["messageId"], &own) == nil && own == id
}

// foreignUsage reads a usage in the form of OpenAI, Anthropic, Molf or Sentinel, or ours
// with more fields. It returns nil if no number in it counts.
func foreignUsage(raw json.RawMessage) *sessions.Usage {
	var f map[string]any
	if json.Unmarshal(raw, &f) != nil {
		return nil
	}
	cost, _ := f["cost"].(float64)
	n := sessions.Usage{
		Input:  tokens(f, "input", "prompt_tokens", "input_tokens", "inputTokens", "requestTokens"),
		Output: tokens(f, "output", "completion_tokens", "output_tokens", "outputTokens", "responseTokens"),
		Cached: tokens(f, "cached", "cacheReadTokens"),
		Cost:   cost,
	}
	for _, name := range []string{"prompt_tokens_details", "requestTokenDetails"} {
		if details, ok := f[name].(map[string]any); ok && n.Cached == 0 {
			n.Cached = tokens(details, "cached_tokens", "cachedTokens")
		}
	}
	if n == (sessions.Usage{}) {
		return nil
	}
	return &n
}

// tokens returns the first positive number in f under one of names, or 0.
func tokens(f map[string]any, names ...string) int {
	for _, name := range names {
		if n, ok := f[name].(float64); ok && n > 0 {
			return int(n)
		}
	}
	return 0
}
