package window

import (
	"fmt"
	"unicode/utf8"
)

// Excerpt returns s if it takes at most tokens tokens. Otherwise it returns the
// beginning and the end, with a note between them that says how much is missing. The
// note is never cut, so for very few tokens the result is a little longer.
func Excerpt(s string, tokens int) string {
	size := EstimateText(s)
	if size <= tokens {
		return s
	}
	for keep := len(s) / size * tokens; keep > 0; keep = keep * 3 / 4 {
		if e := Clip(s, keep); EstimateText(e) <= tokens {
			return e
		}
	}
	return Clip(s, 0)
}

// Clip returns s if it has at most most bytes. Otherwise it returns the beginning and
// the end, together at most most bytes, with a note between them that says how much
// is missing. It cuts between runes.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head := max(most, 0) / 2
	tail := len(s) - (max(most, 0) - head)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	note := fmt.Sprintf("[… %d of %d bytes left out here …]", tail-head, len(s))
	return around(s[:head], note, s[tail:])
}

// around joins the beginning and the end of a text with the note between them.
func around(head, note, tail string) string {
	if head != "" {
		note = head + "\n" + note
	}
	if tail != "" {
		note += "\n" + tail
	}
	return note
}

// Ends returns the first head and the last tail characters of s, with a note between
// them that says how long s is. The result is valid UTF-8. A text that is not longer
// than head and tail together is returned unchanged.
func Ends(s string, head, tail int) string {
	runes := []rune(s)
	head, tail = max(head, 0), max(tail, 0)
	left := len(runes) - head - tail
	if left <= 0 {
		return s
	}
	note := fmt.Sprintf("[… %d of %d characters left out here to save room …]", left, len(runes))
	return around(string(runes[:head]), note, string(runes[len(runes)-tail:]))
}
