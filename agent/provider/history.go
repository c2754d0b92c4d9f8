package provider

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/agent/wire"
	"dragoman/sessions"
)

// shaped is a history as a model with these traits takes it. It is list itself
// if there is nothing to change.
func shaped(list []sessions.Message, t *wire.Traits) []sessions.Message {
	change := func(m sessions.Message) bool {
		return t.NoTools && (m.Role == sessions.RoleTool || len(m.ToolCalls) > 0) || t.OneCall && len(m.ToolCalls) > 1
	}
	switch {
	case !slices.ContainsFunc(list, change):
		return list
	case t.NoTools:
		return told(list)
	}
	return oneByOne(list)
}

// oneByOne has every assistant message call one tool, with its result after it.
// What was attached stays with the first.
func oneByOne(list []sessions.Message) []sessions.Message {
	out := make([]sessions.Message, 0, 2*len(list))
	for i := 0; i < len(list); i++ {
		m := list[i]
		if len(m.ToolCalls) < 2 {
			out = append(out, m)
			continue
		}
		after := results(list[i+1:])
		for n, c := range m.ToolCalls {
			part := sessions.Message{Role: m.Role}
			if n == 0 {
				part = m
			}
			part.ToolCalls = []sessions.ToolCall{c}
			out = append(out, part)
			for _, r := range after {
				if r.ToolCallID == c.ID {
					out = append(out, r)
				}
			}
		}
		i += len(after)
	}
	return out
}

// results are the messages of tools that list begins with.
func results(list []sessions.Message) []sessions.Message {
	for i := range list {
		if list[i].Role != sessions.RoleTool {
			return list[:i]
		}
	}
	return list
}

// told says in words which tools were called, for a model that has none: the
// results of a message's calls become one message of the user's side, so that
// the roles go on taking turns.
func told(list []sessions.Message) []sessions.Message {
	out := make([]sessions.Message, 0, len(list))
	names := make(map[string]string)
	for i := 0; i < len(list); i++ {
		m := list[i]
		var said []string
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
			said = append(said, fmt.Sprintf("(I called the tool %s with %s.)", c.Name, wire.Arguments(c.Arguments)))
		}
		if m.Role == sessions.RoleTool {
			after := results(list[i:])
			for _, r := range after {
				said = append(said, fmt.Sprintf("(The tool %s answered: %s)", names[r.ToolCallID], r.Content))
			}
			i += len(after) - 1
			m = sessions.Message{Role: sessions.RoleUser}
		}
		if said == nil {
			out = append(out, m)
			continue
		}
		m.Content = strings.TrimSpace(m.Content + "\n" + strings.Join(said, "\n"))
		m.ToolCalls, m.Attached = nil, nil
		if last := len(out) - 1; last >= 0 && out[last].Role == m.Role {
			out[last].Content += "\n" + m.Content
			continue
		}
		out = append(out, m)
	}
	return joined(out)
}

// joined makes one message of people's messages in a row.
func joined(list []sessions.Message) []sessions.Message {
	out := list[:0]
	for _, m := range list {
		if last := len(out) - 1; last >= 0 && m.Role == sessions.RoleUser && out[last].Role == m.Role {
			out[last].Content += "\n" + m.Content
			out[last].Attachments = slices.Concat(out[last].Attachments, m.Attachments)
			continue
		}
		out = append(out, m)
	}
	return out
}
