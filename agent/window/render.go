package window

import (
	"strconv"
	"strings"
	"unicode"

	"dragoman/sessions"
)

// The tags that mark borders in what this package and the summariser write.
var borderTags = map[string]bool{
	"conversation_summary": true,
	"previous_summary":     true,
	"summary":              true,
	"transcript":           true,
	"message":              true,
	"system":               true,
}

// EscapeTags returns s with the "<" of every border tag in it written as
// "&lt;", so that quoted text cannot end the block that it stands in. Other
// markup stays as it is.
func EscapeTags(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '<' && borderTags[tagName(s[i+1:])] {
			b.WriteString(s[done:i])
			b.WriteString("&lt;")
			done = i + 1
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// tagName reads the name of a tag, in small letters, from what follows its
// "<". Models are not strict parsers, so spaces around the slash do not matter.
func tagName(s string) string {
	const longest = 32
	s = strings.TrimLeft(s[:min(len(s), 2*longest)], "/ \t\r\n")
	end := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' && r != '-' })
	if end < 0 {
		end = len(s)
	}
	return strings.ToLower(strings.ReplaceAll(s[:end], "-", "_"))
}

// Entry renders m for a summariser, as text that cannot be mistaken for
// another message: with its seq, its role, its time and its sender's name.
func Entry(m sessions.Message) string {
	var b strings.Builder
	b.WriteString(`<message seq="`)
	b.WriteString(strconv.FormatInt(m.Seq, 10))
	b.WriteString(`" role="`)
	b.WriteString(string(m.Role))
	b.WriteByte('"')
	if m.Name != "" {
		b.WriteString(` name="`)
		b.WriteString(attribute(m.Name))
		b.WriteByte('"')
	}
	if !m.At.IsZero() {
		b.WriteString(m.At.UTC().Format(` at="2006-01-02 15:04 UTC"`))
	}
	b.WriteString(">\n")
	if !blank(m.Content) {
		b.WriteString(EscapeTags(strings.TrimSpace(m.Content)))
		b.WriteByte('\n')
	}
	for _, c := range m.ToolCalls {
		b.WriteString("[called " + attribute(c.Name) + " with " + EscapeTags(c.Arguments) + "]\n")
	}
	b.WriteString("</message>\n")
	return b.String()
}

// attribute makes s fit between quotes: a sender's name may be anything.
func attribute(s string) string {
	const longest = 60
	n := 0
	return strings.Map(func(r rune) rune {
		n++
		switch {
		case n > longest, unicode.IsControl(r):
			return -1
		case strings.ContainsRune(`"<>`, r):
			return '_'
		default:
			return r
		}
	}, s)
}
