package mcp

// changeOf says what the last listing had in the place of t: "" (the same, or nothing was
// listed yet), "changed" or "gone".
func (l *link) changeOf(t pin) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found == nil {
		return ""
	}
	now, found := l.found.byOwn(t.Own)
	switch {
	case !found:
		return changeGone
	case now.hash != t.hash:
		return changeChanged
	}
	return ""
}

// The values of Listed.Change beside "".
const (
	changeNew     = "new"
	changeChanged = "changed"
	changeGone    = "gone"
	changeUnread  = "unread" // accepted as the first list, and nobody has looked
)
