package window

import "dragoman/sessions"

// Uncovered counts the messages between the end of what h's summary covers, or
// the beginning of the generation if it has none, and the first one that is
// there, which h does not say were left out either. Stores number the messages
// of a generation without a gap. A blank summary is shown nowhere, and so
// stands for nothing.
func Uncovered(h sessions.History) int {
	next := h.FirstSeq
	if h.Summary != nil && !blank(h.Summary.Text) {
		next = h.Summary.CoversSeq + 1
	}
	if next == 0 || len(h.Messages) == 0 || h.Messages[0].Seq == 0 {
		return 0
	}
	return int(max(h.Messages[0].Seq-next-int64(h.Omitted), 0))
}

// WholeGroups returns h without the results at its beginning whose calls were
// not loaded, and says of them too that they were left out.
func WholeGroups(h sessions.History) sessions.History {
	for h.Omitted > 0 && len(h.Messages) > 0 && h.Messages[0].Role == sessions.RoleTool {
		h.Messages, h.Omitted = h.Messages[1:], h.Omitted+1
	}
	return h
}

// Missing counts the messages of all that view does not show. Results of tools
// that answer no call and messages without any content are not counted: no
// request may show them.
func Missing(all, view []sessions.Message) int {
	// Nearly always all of it is shown, or its end.
	for len(all) > 0 && len(view) > 0 && placeOf(&all[len(all)-1]) == placeOf(&view[len(view)-1]) {
		all, view = all[:len(all)-1], view[:len(view)-1]
	}
	if len(all) == 0 {
		return 0
	}
	missing := make(map[place]int)
	pairs := pair(all)
	for i := range all {
		m := &all[i]
		if m.Role == sessions.RoleUser || m.Role == sessions.RoleAssistant && (!blank(m.Content) || len(m.ToolCalls) > 0) || pairs.owner[i] >= 0 {
			missing[placeOf(m)]++
		}
	}
	for i := range view {
		missing[placeOf(&view[i])]--
	}
	n := 0
	for _, left := range missing {
		n += max(left, 0)
	}
	return n
}

// place tells the messages of a conversation apart.
type place struct {
	seq  int64
	turn string
	role sessions.Role
}

func placeOf(m *sessions.Message) place { return place{m.Seq, m.Turn, m.Role} }
