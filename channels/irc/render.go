package irc

import (
	"slices"
	"strings"

	"dragoman/channels/markup"
	"dragoman/internal/lazily"
)

// parse reads Markdown into rows. It follows what models write rather than the
// whole of CommonMark: a line break is a line break, since IRC has no
// paragraphs, and emphasis does not cross it. Only code has empty rows.
func parse(markdown string) []row {
	var (
		rows []row
		code *codeBlock // that we are in
	)
	for line := range strings.SplitSeq(markup.Tidy(markdown), "\n") {
		switch mark, isFence := fenceOf(line); {
		case code != nil && isFence && closes(line, code.fence):
			rows, code = code.rows(rows), nil
		case code != nil:
			code.lines = append(code.lines, cutIndent(line, code.indent))
		case isFence:
			indent := len(line) - len(strings.TrimLeft(line, " "))
			code = &codeBlock{fence: mark, indent: indent, info: strings.TrimSpace(line[indent+len(mark):])}
		default:
			if r := (row{cells: block(strings.ReplaceAll(line, "\t", " "))}).tidy(); !r.blank() {
				rows = append(rows, r)
			}
		}
	}
	if code != nil {
		rows = code.rows(rows)
	}
	return rows
}

// lineOfCode is what follows the fence of one line of code that a cut answer
// is stored in: the lines around it show where the code begins and ends.
const lineOfCode = "irc-line"

// codeBlock is code between fences.
type codeBlock struct {
	fence, info string
	indent      int
	lines       []string
}

// rows appends the code to out, between two rows that show where it begins and
// ends. One line alone is shown as a code span, in one row instead of three.
func (b *codeBlock) rows(out []row) []row {
	blank := func(line string) bool { return row{cells: cellsOf(line, 0, nil)}.blank() }
	lines := b.lines
	if b.info != lineOfCode {
		if b.info != "" && (!markup.IsLanguage(b.info) || !slices.ContainsFunc(lines, func(l string) bool { return !blank(l) })) {
			lines, b.info = append([]string{strings.ReplaceAll(b.info, "\t", " ")}, lines...), "" // text, and no language
		}
		for len(lines) > 0 && blank(lines[0]) {
			lines = lines[1:]
		}
		for len(lines) > 0 && blank(lines[len(lines)-1]) {
			lines = lines[:len(lines)-1]
		}
		switch {
		case len(lines) == 0:
			return out
		case len(lines) == 1 && !strings.Contains(lines[0], "`"):
			return append(out, row{cells: cellsOf("`"+strings.TrimSpace(lines[0])+"`", code1, nil)})
		}
		out = append(out, row{cells: cellsOf("```"+b.info, 0, nil)}.tidy())
	}
	for _, line := range lines {
		if blank(line) {
			line = " " // IRC has no empty line, and this looks like one.
		}
		out = append(out, row{cells: cellsOf(line, 0, nil), verbatim: true})
	}
	if b.info != lineOfCode {
		out = append(out, row{cells: cellsOf("```", 0, nil)})
	}
	return out
}

// turnsAround reports whether r makes what follows it run in another direction,
// over the end of the text: with it a line can show other words than it has.
func turnsAround(r rune) bool {
	return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

// fenceOf returns the run of backticks or tildes that opens or closes a code
// block on this line.
func fenceOf(line string) (mark string, ok bool) {
	s := strings.TrimLeft(line, " ")
	for _, ch := range []string{"`", "~"} {
		rest := strings.TrimLeft(s, ch)
		if n := len(s) - len(rest); n >= 3 && (ch == "~" || !strings.Contains(rest, "`")) {
			return s[:n], true
		}
	}
	return "", false
}

// closes reports whether line, which has a fence, ends the block that opened
// with open: the same character, at least as many, and nothing after it.
func closes(line, open string) bool {
	s := strings.Trim(line, " \t")
	return s[0] == open[0] && len(s) >= len(open) && strings.Trim(s, open[:1]) == ""
}

// cutIndent takes away what the fence itself was indented by, and lays out
// tabs, which many clients do not show.
func cutIndent(line string, most int) string {
	line = strings.ReplaceAll(line, "\t", "    ")
	n := 0
	for n < most && n < len(line) && line[n] == ' ' {
		n++
	}
	return line[n:]
}

var (
	headingLine = lazily.Compile(`^ {0,3}#{1,6}[ ]+(.*?)[ ]*#*[ ]*$`)
	ruleLine    = lazily.Compile(`^ {0,3}(?:(?:\*[ ]*){3,}|(?:-[ ]*){3,}|(?:_[ ]*){3,})$`)
	bulletLine  = lazily.Compile(`^([ ]*)[*+-][ ]+(.*)$`)
	tableRule   = lazily.Compile(`^[ ]*\|?[ ]*:?-+:?[ ]*(?:\|[ ]*:?-+:?[ ]*)+\|?[ ]*$`)
)

// block renders one source line outside code blocks.
func block(line string) []cell {
	switch {
	case ruleLine.Regexp().MatchString(line):
		return cellsOf("---", 0, nil)
	case tableRule.Regexp().MatchString(line):
		return nil // It only separates; the rows around it are shown.
	}
	if m := headingLine.Regexp().FindStringSubmatch(line); m != nil {
		return inline(m[1], bold, nil, 0)
	}
	if m := bulletLine.Regexp().FindStringSubmatch(line); m != nil {
		return inline(m[2], 0, cellsOf(m[1]+"- ", 0, nil), 0)
	}
	return inline(line, 0, nil, 0)
}
