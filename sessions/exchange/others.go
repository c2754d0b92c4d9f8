package exchange

import (
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// dialect finds out whether the document around the messages is Molf's or
// Terrarium's, and takes the fields that only these have. It is "" for others.
func (t *talk) dialect(f fieldSet) Format {
	var id, kind string
	switch {
	case f["key"] != nil: // it came from us
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

// kindsOfSentinel say for each kind of message whose it is, and in which field
// its text is. A generic message has a field for its role.
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

// decodeSentinel understands a line of Sentinel's: it gives the fields the names
// that others use.
func (t *talk) decodeSentinel(line json.RawMessage) (entry, error) {
	f, err := parse(line)
	if err != nil {
		return entry{}, err
	}
	var what, failed, session string
	take(f, "messageType", &what)
	kind, ok := kindsOfSentinel[strings.ToUpper(what)]
	if !ok {
		return entry{}, fmt.Errorf("%w: there is no kind of message %.40q", ErrFormat, what)
	}
	role := kind.role
	if role == "" {
		take(f, "role", &role)
		role, _, _ = strings.Cut(strings.ToLower(role), "_") // tool_call
	}
	f["role"], _ = json.Marshal(role)
	f.rename(kind.text, "content", "runId", "turn", "stats", "usage")
	if what == "TOOL_CALL_REQUEST_MESSAGE" {
		call := map[string]json.RawMessage{"id": f["toolCallId"], "name": f["toolName"], "arguments": f["arguments"]}
		for _, name := range []string{"toolCallId", "toolName", "arguments"} {
			delete(f, name)
		}
		f["tool_calls"], _ = json.Marshal([]any{call})
	}
	if json.Unmarshal(f["errorType"], &failed) == nil && failed != "SUCCESS" {
		f["failed"] = json.RawMessage("true")
	}
	if take(f, "sessionId", &session); t.name == "" {
		t.name = session
	}
	return entryOf(f)
}

// join gives m the calls of next, if both are calls of one answer.
func join(m *sessions.Message, next sessions.Message) bool {
	for _, m := range []*sessions.Message{m, &next} {
		if m.Role != sessions.RoleAssistant || m.Content != "" || len(m.ToolCalls) == 0 || m.Turn != next.Turn {
			return false
		}
	}
	m.ToolCalls = append(m.ToolCalls, next.ToolCalls...)
	return true
}

// is reports whether Sentinel gave the message that id.
func (e *entry) is(id string) bool {
	var own string
	return id != "" && json.Unmarshal(e.Extra["messageId"], &own) == nil && own == id
}

// usageOfOthers understands a usage with the names that OpenAI, Anthropic, Molf
// or Sentinel write, or ours among others. Nil: there is nothing that counts.
func usageOfOthers(raw json.RawMessage) *sessions.Usage {
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

// tokens is the first number in f under one of names, or 0.
func tokens(f map[string]any, names ...string) int {
	for _, name := range names {
		if n, ok := f[name].(float64); ok && n > 0 {
			return int(n)
		}
	}
	return 0
}
