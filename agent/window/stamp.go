package window

import (
	"slices"
	"strings"
	"time"

	"dragoman/sessions"
)

// stampLayout is the line that a model reads before a message of a person. It
// always has the same shape, so that it can be found again.
const stampLayout = "[Mon 2006-01-02 15:04 -07:00]"

// StampBytes is how much longer a stamp makes a message.
const StampBytes = len(stampLayout) + 1

// Stamped returns msgs as a model reads them: each user message begins with a
// line that says when it was written, in zone. The time is the stored one, so
// the same message always gets the same line, and a provider's cache keeps
// hitting. A message without a time gets none. A nil zone returns msgs itself.
func Stamped(msgs []sessions.Message, zone *time.Location) []sessions.Message {
	if zone == nil {
		return msgs
	}
	out := slices.Clone(msgs)
	var stamp [2 * StampBytes]byte
	for i := range out {
		if m := &out[i]; m.Role == sessions.RoleUser && !m.At.IsZero() {
			line := append(m.At.In(zone).AppendFormat(stamp[:0], stampLayout), '\n')
			m.Content = string(line) + m.Content
		}
	}
	return out
}

// StampIn returns the length of the stamp that s begins with, its line break
// included, or 0. partly says that there is none yet, but that more of s may
// make one.
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

// Unstamped is a text of [Stamped] messages as people wrote them, also where
// several became one.
func Unstamped(text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitAfterSeq(text, "\n\n") {
		n, _ := StampIn(paragraph)
		b.WriteString(paragraph[n:])
	}
	return b.String()
}
