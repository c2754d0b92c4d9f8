package window

import (
	"strings"
	"time"

	"dragoman/sessions"
)

// stampLayout is the line before a person's message that tells the model when it was
// written. Its shape never changes, so that it can be recognised.
const stampLayout = "[Mon 2006-01-02 15:04 -07:00]"

// StampBytes is the length of a stamp with its line break.
const StampBytes = len(stampLayout) + 1

// Stamped returns msgs as a model reads them: each user message begins with a line
// that says when it was written, in zone. The stored time is used, so a message
// always gets the same line, and a provider's cache keeps hitting. A message without
// a time gets none. If zone is nil, msgs is returned, else a copy: in room, if it is large
// enough.
func Stamped(msgs []sessions.Message, zone *time.Location, room []sessions.Message) []sessions.Message {
	if zone == nil {
		return msgs
	}
	out := append(room[:0], msgs...)
	var stamp [2 * StampBytes]byte
	for i := range out {
		if m := &out[i]; m.Role == sessions.RoleUser && !m.At.IsZero() {
			line := append(m.At.In(zone).AppendFormat(stamp[:0], stampLayout), '\n')
			m.Content = string(line) + m.Content
		}
	}
	return out
}

// StampIn returns the length of the stamp at the start of s, including its line
// break, or 0. partly says that s may still become a stamp with more text.
func StampIn(s string) (n int, partly bool) {
	n = len(stampLayout)
	switch {
	case s == "" || s[0] != '[':
		return 0, s == ""
	case len(s) < n:
		return 0, !strings.Contains(s, "]")
	}
	if _, err := time.Parse(stampLayout, s[:n]); err != nil {
		return 0, false
	}
	if len(s) > n && s[n] == '\n' {
		return n + 1, false
	}
	return n, len(s) == n // the line break may come
}

// Unstamped removes the stamps from the text of [Stamped] messages, including several
// that were joined.
func Unstamped(text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitAfterSeq(text, "\n\n") {
		n, _ := StampIn(paragraph)
		b.WriteString(paragraph[n:])
	}
	return b.String()
}
