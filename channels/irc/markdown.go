package irc

import (
	"strings"

	"dragoman/channels/markup"
)

// markdown writes r as Markdown that [parse] reads back as the same row, so
// that a cut answer can be stored in pieces. Where a style cannot be written
// without ambiguity the style goes and the text stays.
func (r row) markdown() string {
	text := textOf(r.cells)
	if r.verbatim {
		fence := strings.Repeat("~", max(3, longestRun(text, '~')+1))
		return fence + lineOfCode + "\n" + text + "\n" + fence
	}
	if md := r.styled(); readsAs(md, r.wire()) {
		return md
	}
	return markup.Escape(text)
}

// readsAs reports whether md is one row that looks like wire.
func readsAs(md, wire string) bool {
	if strings.HasPrefix(md, restMark) {
		return false
	}
	rows := parse(md)
	return len(rows) == 1 && rows[0].wire() == wire
}

// styled writes r with the usual marks and as few backslashes as it can.
func (r row) styled() string {
	var b strings.Builder
	for i := 0; i < len(r.cells); {
		st, j := r.cells[i].style, i
		for j < len(r.cells) && r.cells[j].style == st {
			j++
		}
		text := textOf(r.cells[i:j])
		mark := [...]string{0: "", bold: "**", italic: "*", bold | italic: "***"}[st&(bold|italic)]
		if st&code1 == 0 || len(text) < 3 || text[0] != '`' || longestRun(text[1:len(text)-1], '`') > 0 || text[len(text)-1] != '`' {
			text = escape(text, i == 0)
		}
		if st&struck != 0 {
			text = "~~" + mark + text + mark + "~~"
		} else {
			text = mark + text + mark
		}
		b.WriteString(text)
		i = j
	}
	return b.String()
}

// escape puts a backslash before what would be markup, but not inside web
// addresses, where parse looks for none.
func escape(s string, first bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if isURL(s[i:]) {
			n := urlLen(s[i:])
			b.WriteString(strings.ReplaceAll(s[i:i+n], `\`, `\\`))
			i += n
			continue
		}
		if strings.IndexByte("\\`*_[<", s[i]) >= 0 || first && i == 0 && strings.IndexByte("#+~", s[i]) >= 0 || strings.HasPrefix(s[i:], "~~") {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

func longestRun(s string, ch byte) int {
	longest := 0
	for i := 0; i < len(s); i++ {
		if n := runLen(s[i:], ch); n > 0 {
			longest = max(longest, n)
			i += n - 1
		}
	}
	return longest
}
