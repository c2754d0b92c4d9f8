package window

import (
	"strconv"
	"strings"
	"unicode"

	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// borderTag is the beginning of a tag that marks a border in what this package and
// the summariser write. Models are not strict parsers, so spaces around the slash
// do not matter.
var borderTag = lazily.Compile(`(?i)<([/\s]*(?:(?:conversation|previous)[_-]summary|summary|transcript|message|system)\b)`)

// EscapeTags returns s with the "<" of every border tag in it written as
// "&lt;", so that quoted text cannot end the block that it stands in. Other
// markup stays as it is.
func EscapeTags(s string) string { return borderTag.Regexp().ReplaceAllString(s, "&lt;$1") }

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
