package window

import (
	"slices"
	"strings"

	"dragoman/sessions"
)

const (
	// continuePrompt is a user message where a server requires one and there is none.
	continuePrompt = "[The conversation goes on here.]"
	// bridge is an assistant message between tool results and a user message, for
	// templates that require alternating roles.
	bridge = "(I have the results.)"
)

// Alternate returns msgs, which must be repaired, in a form that the templates of all
// models accept: a user message comes first, user and assistant alternate, and the
// assistant says something between tool results and a user message. Neighbouring user
// messages become one, and so do neighbouring assistant messages without calls.
//
// model is the model that reads them. Parallel calls of another model are shown one
// after another, each with its result, because the templates of Llama 3 take one call
// per message. What this model itself wrote stays as it is, and so does every message
// with data from its provider, which fits only the original.
//
// What it does to a message depends only on that message and the one before, so a
// growing history keeps its prefix. If there is nothing to change it returns msgs
// itself.
func Alternate(msgs []sessions.Message, model string) []sessions.Message {
	first := 0
	for first < len(msgs) && !needsChange(msgs, first, model) {
		first++
	}
	if first == len(msgs) {
		return msgs
	}
	out := slices.Grow(slices.Clone(msgs[:first]), len(msgs)-first+4)
	for i := first; i < len(msgs); i++ {
		m := msgs[i]
		if len(out) == 0 {
			if m.Role == sessions.RoleAssistant {
				out = append(out, sessions.Message{Role: sessions.RoleUser, Content: continuePrompt, Synthetic: true})
			}
		} else if last := &out[len(out)-1]; m.Role == sessions.RoleUser && last.Role == sessions.RoleUser {
			joinPeople(last, &m)
			continue
		} else if m.Role == sessions.RoleUser && last.Role == sessions.RoleTool {
			out = append(out, sessions.Message{Role: sessions.RoleAssistant, Content: bridge, Synthetic: true})
		} else if m.Role == sessions.RoleAssistant && last.Role == sessions.RoleAssistant {
			if !indivisible(last) && !indivisible(&m) {
				m.Content = strings.TrimSpace(last.Content + "\n\n" + m.Content)
				out = out[:len(out)-1]
			} else {
				out = append(out, sessions.Message{Role: sessions.RoleUser, Content: continuePrompt, Synthetic: true})
			}
		}
		if splitsCalls(&m, model) {
			end := groupEnd(msgs, i)
			out = appendOneByOne(out, m, msgs[i+1:end])
			i = end - 1
			continue
		}
		out = append(out, m)
	}
	return out
}

func needsChange(msgs []sessions.Message, i int, model string) bool {
	m := &msgs[i]
	if i == 0 {
		return m.Role == sessions.RoleAssistant || splitsCalls(m, model)
	}
	before := msgs[i-1].Role
	return m.Role == before && m.Role != sessions.RoleTool ||
		m.Role == sessions.RoleUser && before == sessions.RoleTool || splitsCalls(m, model)
}

// indivisible: m has data of its provider, or is a summary, and must not be joined.
func indivisible(m *sessions.Message) bool { return m.Attached != nil || m.Summary }

func joinPeople(last, m *sessions.Message) {
	last.Content += "\n\n" + m.Content
	last.Attachments = slices.Concat(last.Attachments, m.Attachments)
	last.Synthetic = last.Synthetic && m.Synthetic
}

func splitsCalls(m *sessions.Message, model string) bool {
	return len(m.ToolCalls) > 1 && m.Model != model && m.Attached == nil
}

// OneByOne returns msgs, which must be repaired, with at most one call in each
// assistant message, followed by its result.
func OneByOne(msgs []sessions.Message) []sessions.Message {
	out := make([]sessions.Message, 0, 2*len(msgs))
	for start := 0; start < len(msgs); {
		end := groupEnd(msgs, start)
		if len(msgs[start].ToolCalls) > 1 {
			out = appendOneByOne(out, msgs[start], msgs[start+1:end])
		} else {
			out = append(out, msgs[start:end]...)
		}
		start = end
	}
	return out
}

// appendOneByOne appends the calls of m, each with its result. The text beside them,
// and attached data, stay with the first.
func appendOneByOne(out []sessions.Message, m sessions.Message, results []sessions.Message) []sessions.Message {
	for i, c := range m.ToolCalls {
		m.ToolCalls = []sessions.ToolCall{c}
		out = append(out, m, results[i])
		m.Content, m.Attached = "", nil
	}
	return out
}
