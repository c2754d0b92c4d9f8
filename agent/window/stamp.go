package window

import (
	"slices"
	"strings"
	"time"

	"dragoman/sessions"
)

// stampLayout is the line that a model reads before a message of a person. It
// always has the same shape, so that it can be found again.
const (
	stampLayout = "[Mon 2006-01-02 15:04 -07:00]"
	stampSign   = len("[Mon 2006-01-02 15:04 ") // where + or - stands
)

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
	const days = "MonTueWedThuFriSatSun"
	for i := range min(len(s), len(stampLayout)) {
		want, c := stampLayout[i], s[i]
		ok := c == want
		switch {
		case i >= 1 && i <= 3:
			day := strings.Index(days, s[1:i+1])
			ok = day >= 0 && day%3 == 0
		case want >= '0' && want <= '9':
			ok = c >= '0' && c <= '9'
		case i == stampSign:
			ok = c == '+' || c == '-'
		}
		if !ok {
			return 0, false
		}
	}
	switch n = len(stampLayout); {
	case len(s) < n:
		return 0, true
	case len(s) == n:
		return n, true // the line break may come
	case s[n] == '\n':
		return n + 1, false
	default:
		return n, false
	}
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
