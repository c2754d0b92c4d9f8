package window

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Excerpt returns s if it takes at most tokens tokens, else its beginning and
// its end with a note between them that says how much is missing. The note
// itself is always whole, so for very few tokens the result is a little longer.
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

// Clip returns s if it has at most most bytes, else its beginning and its end,
// most bytes together, with a note between them that says how much is missing.
// It cuts between runes.
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
	var b strings.Builder
	b.Grow(head + len(note) + len(s) - tail + 2)
	if head > 0 {
		b.WriteString(s[:head])
		b.WriteByte('\n')
	}
	b.WriteString(note)
	if tail < len(s) {
		b.WriteByte('\n')
		b.WriteString(s[tail:])
	}
	return b.String()
}

// Ends returns the first head and the last tail characters of s, with a note
// between them that says how long s is. It cuts between grapheme clusters, so
// that no emoji, flag or accented letter is torn, and what it returns is valid
// UTF-8. A text that is not longer than head and tail together stays as it is.
func Ends(s string, head, tail int) string {
	size := utf8.RuneCountInString(s)
	head, tail = max(head, 0), max(tail, 0)
	if size <= head+tail {
		return s
	}
	first := strings.ToValidUTF8(s[:borderBefore(s, byteOfRune(s, head))], "\uFFFD")
	last := strings.ToValidUTF8(s[borderAfter(s, byteOfRuneFromEnd(s, tail)):], "\uFFFD")
	left := size - utf8.RuneCountInString(first) - utf8.RuneCountInString(last)
	note := fmt.Sprintf("[… %d of %d characters left out here to save room …]", left, size)
	if first != "" {
		note = first + "\n" + note
	}
	if last != "" {
		note += "\n" + last
	}
	return note
}

// byteOfRune is where the n-th rune of s begins.
func byteOfRune(s string, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}

// byteOfRuneFromEnd is where the last n runes of s begin.
func byteOfRuneFromEnd(s string, n int) int {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return i
}

// borderBefore is the last border between grapheme clusters of s at or before
// the byte at.
func borderBefore(s string, at int) int {
	border := clusterStart(s, at)
	for border < at {
		cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(s[border:], -1)
		if border+len(cluster) > at {
			break
		}
		border += len(cluster)
	}
	return border
}

// borderAfter is the first such border at or after the byte at.
func borderAfter(s string, at int) int {
	border := clusterStart(s, at)
	for border < at {
		cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(s[border:], -1)
		border += len(cluster)
	}
	return border
}

// clusterStart is a border a little before the byte at, from which to look for
// others: between two ASCII characters, unless they are a line break, there
// always is one. In text without any, it is a rune some way back.
func clusterStart(s string, at int) int {
	const far = 4096
	for i := at; i > 0; i-- {
		if i < len(s) && s[i] < utf8.RuneSelf && s[i-1] < utf8.RuneSelf && s[i] != '\n' {
			return i
		}
		if at-i > far && utf8.RuneStart(s[min(i, len(s)-1)]) {
			return i
		}
	}
	return 0
}
