package mcp

import (
	"strings"
	"unicode"
)

// hidden reports whether nobody sees r, or it changes how other characters look: controls,
// zero-width characters, marks of direction, tags.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\r' || r == '\t':
		return false
	case r == unicode.ReplacementChar:
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || r == '\u034F' || r == '\u115F' || r == '\u1160' ||
		r == '\u17B4' || r == '\u17B5' || r == '\u3164' || r == '\uFFA0' || r >= '\uFE00' && r <= '\uFE0F' || r >= 0xE0100 && r <= 0xE01EF
}

// visibleWords is foreign text with its lines, without what nobody sees, cut to most bytes.
func visibleWords(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.TrimSpace(text)
}

// cleanText is foreign text in one line of at most most bytes, without characters that nobody
// sees or that change how others look.
func cleanText(text string, most int) string {
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			continue
		}
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		if b.Len()+len(string(r)) > most {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}
