package window

import (
	"fmt"
	"strings"
	"unicode"

	"dragoman/internal/lazily"
	"dragoman/sessions"
)

// borderTag matches the beginning of a tag that this package and the summariser use
// as a border. Models are not strict parsers, so spaces around the slash do not
// matter.
var borderTag = lazily.Compile(`(?i)<([/\s]*(?:(?:conversation|previous)[_-]summary|summary|transcript|message|system)\b)`)

// EscapeTags returns s with the "<" of every border tag replaced by "&lt;", so that
// quoted text cannot end the block it is in. Other markup stays.
func EscapeTags(s string) string { return borderTag.Regexp().ReplaceAllString(s, "&lt;$1") }

// Entry renders m for a summariser, with its seq, role, time and sender's name, so
// that no text in it can pass for another message.
func Entry(m sessions.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<message seq="%d" role="%s"`, m.Seq, m.Role)
	if m.Name != "" {
		fmt.Fprintf(&b, ` name="%s"`, attribute(m.Name))
	}
	if !m.At.IsZero() {
		b.WriteString(m.At.UTC().Format(` at="2006-01-02 15:04 UTC"`))
	}
	b.WriteString(">\n")
	if !blank(m.Content) {
		b.WriteString(EscapeTags(strings.TrimSpace(m.Content)) + "\n")
	}
	for _, c := range m.ToolCalls {
		b.WriteString("[called " + attribute(c.Name) + " with " + EscapeTags(c.Arguments) + "]\n")
	}
	b.WriteString("</message>\n")
	return b.String()
}

// attribute makes s safe between quotes: a sender's name may contain anything.
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
