package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/sessions"
)

// claudePart is a part of a message in the form of Anthropic's API.
type claudePart struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	CallID string          `json:"tool_use_id"`
	Result json.RawMessage `json:"content"` // text, or a list of parts
}

// isClaudes reports whether one of the parts has a form that only Anthropic's API knows.
func isClaudes(parts []json.RawMessage) bool {
	return slices.ContainsFunc(parts, func(item json.RawMessage) bool {
		switch typeOf(item) {
		case "tool_use", "tool_result", "thinking", "redacted_thinking":
			return true
		}
		return false
	})
}

func typeOf(item json.RawMessage) string {
	var part struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(item, &part) // a text has no type
	return part.Type
}

// split gives e the texts and calls of Claude's parts and returns the messages that were
// in it: the results of tools come first, because they end the turn before.
func (e entry) split(parts []json.RawMessage) []entry {
	var results []entry
	var content []json.RawMessage
	thoughts := 0
	for _, item := range parts {
		var p claudePart
		_ = json.Unmarshal(item, &p) // anything else is content
		switch p.Type {
		case "tool_use":
			e.ToolCalls = append(e.ToolCalls, wireCall{ID: p.ID, Name: p.Name, Args: p.Input}.decode())
		case "tool_result":
			results = append(results, p.result(e))
		case "thinking", "redacted_thinking":
			thoughts++
		default:
			content = append(content, item)
		}
	}
	delete(e.Extra, "content")
	if thoughts > 0 {
		e.changes = append(e.changes, "its thoughts were left out")
	}
	if len(content) == 0 && len(results) > 0 && len(e.ToolCalls) == 0 {
		return results
	}
	e.Content = partsText(content)
	e.noteMarks(content)
	if raw, err := encode(content, "", ""); err == nil && len(marks(content)) > 0 {
		e.setExtra("content", raw)
	}
	return append(results, e)
}

// result is the message of a tool's result that was a part of e.
func (p claudePart) result(e entry) entry {
	r := entry{inputRole: string(sessions.RoleTool)}
	r.Role = sessions.RoleTool
	r.ToolCallID = p.CallID
	r.At = e.At
	var list []json.RawMessage
	switch {
	case json.Unmarshal(p.Result, &r.Content) == nil:
	case json.Unmarshal(p.Result, &list) == nil:
		r.Content = partsText(list)
		r.noteMarks(list)
	default:
		r.Content = string(p.Result)
	}
	return r
}

// marks counts the parts that have no text, by what is written in their place.
func marks(parts []json.RawMessage) map[string]int {
	counts := map[string]int{}
	for _, item := range parts {
		if mark := partMark(item); mark != "" {
			counts[mark]++
		}
	}
	return counts
}

// partMark is what stands for a part without text, or "".
func partMark(item json.RawMessage) string {
	var part struct {
		Text    *string `json:"text"`
		Refusal *string `json:"refusal"`
	}
	var text string
	_ = json.Unmarshal(item, &part) // what is no object has neither
	if part.Text != nil || part.Refusal != nil || json.Unmarshal(item, &text) == nil {
		return ""
	}
	return "[" + cmp.Or(sessions.OneLine(typeOf(item), 40), "part") + "]"
}

// noteMarks remembers what became of the parts without text.
func (e *entry) noteMarks(parts []json.RawMessage) {
	counts := marks(parts)
	var all []string
	for _, mark := range slices.Sorted(maps.Keys(counts)) {
		if counts[mark] > 1 {
			mark = fmt.Sprintf("%s (%d times)", mark, counts[mark])
		}
		all = append(all, mark)
	}
	if len(all) > 0 {
		e.changes = append(e.changes, "only a mark is left of what is no text: "+strings.Join(all, ", "))
	}
}
