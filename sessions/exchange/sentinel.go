package exchange

import (
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/sessions"
)

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

// sentinel takes the fields of summary.json.
func (t *talk) sentinel(f fieldSet) {
	take(f, "sessionId", &t.name)
	take(f, "lastSummarizedMessageId", &t.until)
}

// decodeSentinel understands a line of Sentinel's: it gives the fields the names
// that others use.
func (t *talk) decodeSentinel(line json.RawMessage) (entry, error) {
	f, err := parse(line)
	if err != nil {
		return entry{}, err
	}
	var what, failed string
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
	f.rename(kind.text, "content")
	f.rename("runId", "turn")
	f.rename("stats", "usage")
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
	var session string
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
