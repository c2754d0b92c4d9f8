package window

import (
	"slices"

	"dragoman/sessions"
)

// WithoutFailed returns a view of msgs, which must be repaired, without tool calls
// that failed and their results. Those of the running turn are kept, because its
// model still works with them, and so is text beside a call. dropped is how many
// messages the view lacks. What one request leaves out, all later ones leave out too,
// because a finished turn never runs again.
func WithoutFailed(msgs []sessions.Message, running string) (view []sessions.Message, dropped int) {
	gone := func(m *sessions.Message) bool {
		return m.Role == sessions.RoleTool && m.Failed && m.Turn != running
	}
	if !slices.ContainsFunc(msgs, func(m sessions.Message) bool { return gone(&m) }) {
		return msgs, 0
	}
	view = make([]sessions.Message, 0, len(msgs))
	for start := 0; start < len(msgs); {
		end := groupEnd(msgs, start)
		m, results := msgs[start], msgs[start+1:end]
		if slices.ContainsFunc(results, func(m sessions.Message) bool { return gone(&m) }) {
			calls := m.ToolCalls
			m.ToolCalls, m.Attached = nil, nil // it belongs to all calls together
			for i := range results {
				if !gone(&results[i]) {
					m.ToolCalls = append(m.ToolCalls, calls[i])
				}
			}
		}
		if m.Role != sessions.RoleAssistant || len(m.ToolCalls) > 0 || !blank(m.Content) {
			view = append(view, m)
		}
		for i := range results {
			if !gone(&results[i]) {
				view = append(view, results[i])
			}
		}
		start = end
	}
	return view, len(msgs) - len(view)
}
