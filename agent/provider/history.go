package provider

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/agent/window"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// adaptHistory returns list in a form that a model with these traits accepts.
// It returns list itself if that is already so.
func adaptHistory(list []sessions.Message, t *wire.Traits) []sessions.Message {
	hasCalls := func(least int) bool {
		return slices.ContainsFunc(list, func(m sessions.Message) bool { return len(m.ToolCalls) >= least })
	}
	switch {
	case t.NoTools && hasCalls(1):
		return toolsAsText(list)
	case t.SingleCall && hasCalls(2):
		return window.OneByOne(list)
	}
	return list
}

// toolsAsText turns calls and results into text, for a model without tools.
// Results become messages of the user, so that the roles still alternate.
func toolsAsText(list []sessions.Message) []sessions.Message {
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
