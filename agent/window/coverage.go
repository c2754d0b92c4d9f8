package window

import "dragoman/sessions"

// Uncovered counts the messages that h lost: those between the end of its summary (or
// the start of the generation, if it has none) and its first message, less those that
// h.Omitted and h.Replaced account for. Stores number the messages of a generation without
// gaps. A blank summary is never shown, so it covers nothing.
func Uncovered(h sessions.History) int {
	next := h.FirstSeq
	if h.Summary != nil && !blank(h.Summary.Text) {
		next = h.Summary.CoversSeq + 1
	}
	if next == 0 || len(h.Messages) == 0 || h.Messages[0].Seq == 0 {
		return 0
	}
	return int(max(h.Messages[0].Seq-next-int64(h.Omitted+h.Replaced), 0))
}

// DropOrphanResults returns h without leading tool results whose calls were not
// loaded, and counts them as omitted.
func DropOrphanResults(h sessions.History) sessions.History {
	for h.Omitted > 0 && len(h.Messages) > 0 && h.Messages[0].Role == sessions.RoleTool {
		h.DropFirst(1)
	}
	return h
}

// Missing counts the messages of all that view does not show. Tool results that
// answer no call and messages without content are not counted: no request may show
// them.
func Missing(all, view []sessions.Message) int {
	// Usually the view shows all messages, or the newest ones.
	for len(all) > 0 && len(view) > 0 && identify(&all[len(all)-1]) == identify(&view[len(view)-1]) {
		all, view = all[:len(all)-1], view[:len(view)-1]
	}
	if len(all) == 0 {
		return 0
	}
	missing := make(map[identity]int)
	pairs := pair(all)
	for i := range all {
		m := &all[i]
		_, answers := pairs.owner[i]
		if m.Role == sessions.RoleUser || m.Role == sessions.RoleAssistant && (!blank(m.Content) || len(m.ToolCalls) > 0) || answers {
			missing[identify(m)]++
		}
	}
	for i := range view {
		missing[identify(&view[i])]--
	}
	n := 0
	for _, left := range missing {
		n += max(left, 0)
	}
	return n
}

// identity tells the messages of a conversation apart.
type identity struct {
	seq  int64
	turn string
	role sessions.Role
}

func identify(m *sessions.Message) identity { return identity{m.Seq, m.Turn, m.Role} }
