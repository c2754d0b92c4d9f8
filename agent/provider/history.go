package provider

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// shaped is a history as a model with these traits takes it. It is list itself
// if there is nothing to change.
func shaped(list []sessions.Message, t *wire.Traits) []sessions.Message {
	calls := func(least int) bool {
		return slices.ContainsFunc(list, func(m sessions.Message) bool { return len(m.ToolCalls) >= least })
	}
	switch {
	case t.NoTools && calls(1):
		return told(list)
	case t.OneCall && calls(2):
		return window.OneByOne(list)
	}
	return list
}

// told says in words which tools were called, for a model that has none: results
// become a message of the user's side, so that the roles go on taking turns.
func told(list []sessions.Message) []sessions.Message {
	out := slices.Clone(list)
	names := make(map[string]string)
	for i := range out {
		m := &out[i]
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
			m.Content = strings.TrimSpace(m.Content + fmt.Sprintf("\n(I called the tool %s with %s.)", c.Name, c.Arguments))
			m.Attached = nil
		}
		m.ToolCalls = nil
		if m.Role == sessions.RoleTool {
			*m = sessions.Message{Role: sessions.RoleUser, Content: fmt.Sprintf("(The tool %s answered: %s)", names[m.ToolCallID], m.Content)}
		}
	}
	return window.Alternate(out, "")
}
