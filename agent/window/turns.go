package window

import (
	"slices"
	"strings"

	"dragoman/sessions"
)

const (
	// prompt is a person's message where a server wants one and there is none.
	prompt = "[The conversation goes on here.]"
	// bridge is the model's message between results of tools and a person's
	// words, where templates that go by turns want one.
	bridge = "(I have the results.)"
)

// Alternate returns msgs, which must be repaired, as the templates of all models
// take them: a person's message comes first, people and the model speak in
// turn, and between the results of tools and a person's words the model says
// something. Messages of people in a row become one, as do those of the model
// without calls between them; what a person says begins with their name where
// that matters, so that it stays clear who said it.
//
// model is who reads it. Calls that another model made side by side follow each
// other instead, with their results: the templates of Llama 3 take one call a
// message. What model itself made stays as it made it, and so does everything
// that its provider attached something to, because it belongs to just that.
//
// What it does to a message depends on none but that and the one before, so a
// growing history keeps its prefix. Where there is nothing to do it returns
// msgs itself.
func Alternate(msgs []sessions.Message, model string) []sessions.Message {
	first := 0
	for first < len(msgs) && !joint(msgs, first, model) {
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
				out = append(out, sessions.Message{Role: sessions.RoleUser, Content: prompt, Synthetic: true})
			}
		} else if last := &out[len(out)-1]; m.Role == sessions.RoleUser && last.Role == sessions.RoleUser {
			joinPeople(last, &m)
			continue
		} else if m.Role == sessions.RoleUser && last.Role == sessions.RoleTool {
			out = append(out, sessions.Message{Role: sessions.RoleAssistant, Content: bridge, Synthetic: true})
		} else if m.Role == sessions.RoleAssistant && last.Role == sessions.RoleAssistant {
			if !whole(last) && !whole(&m) {
				m.Content = strings.TrimSpace(last.Content + "\n\n" + m.Content)
				out = out[:len(out)-1]
			} else {
				out = append(out, sessions.Message{Role: sessions.RoleUser, Content: prompt, Synthetic: true})
			}
		}
		if parts(&m, model) {
			end := groupEnd(msgs, i)
			out = appendOneByOne(out, m, msgs[i+1:end])
			i = end - 1
			continue
		}
		out = append(out, m)
	}
	return out
}

// joint reports whether Alternate has something to do at msgs[i].
func joint(msgs []sessions.Message, i int, model string) bool {
	m := &msgs[i]
	if i == 0 {
		return m.Role == sessions.RoleAssistant || parts(m, model)
	}
	before := msgs[i-1].Role
	return m.Role == before && m.Role != sessions.RoleTool ||
		m.Role == sessions.RoleUser && before == sessions.RoleTool || parts(m, model)
}

// whole reports whether m is not to be joined with others: a provider's data
// belongs to it, or it is a summary.
func whole(m *sessions.Message) bool { return m.Attached != nil || m.Summary }

// joinPeople adds m to last. What it says begins a paragraph.
func joinPeople(last, m *sessions.Message) {
	last.Content += "\n\n" + m.Content
	last.Attachments = slices.Concat(last.Attachments, m.Attachments)
	last.Synthetic = last.Synthetic && m.Synthetic
}

// parts reports whether the calls of m are to follow each other.
func parts(m *sessions.Message, model string) bool {
	return len(m.ToolCalls) > 1 && m.Model != model && m.Attached == nil
}

// OneByOne returns msgs, which must be repaired, with at most one call in each
// message of the model, and its result after it.
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

// appendOneByOne adds the calls of m, each with its result. What was said beside
// them, and what was attached, stays with the first.
func appendOneByOne(out []sessions.Message, m sessions.Message, results []sessions.Message) []sessions.Message {
	for i, c := range m.ToolCalls {
		m.ToolCalls = []sessions.ToolCall{c}
		out = append(out, m, results[i])
		m.Content, m.Attached = "", nil
	}
	return out
}
