package window

import (
	"slices"

	"dragoman/sessions"
)

// WithoutFailed returns a view of msgs, which must be repaired, without the
// calls of tools that only failed and their results, but for those of the
// running turn, which is the work of its model. left is how many messages are
// not in it: what was said beside a call stays. What is left out of one request
// is left out of all that follow, because a turn that has ended does not begin
// again.
func WithoutFailed(msgs []sessions.Message, running string) (view []sessions.Message, left int) {
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
			m.ToolCalls, m.Attached = nil, nil // it was of all of them
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
