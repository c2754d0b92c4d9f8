package markup

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Models write formulas in the notation of TeX. To Markdown, their backslashes are escapes,
// their stars emphasis and their bars columns, so nothing may read them: they are shown as
// they were written, like code.

// span is a part of a text, in bytes.
type span struct{ from, to int }

// closers has what ends a formula, by what begins it.
var closers = map[string]string{`\(`: `\)`, `\[`: `\]`, `$$`: `$$`, `$`: `$`}

// environment matches the beginning of an environment without delimiters.
var environment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\\begin\{([a-zA-Z]+\*?)\}`) })

// formulas finds the formulas in md that are not in code. A formula has no empty line.
func formulas(md string) (found []span) {
	if !strings.ContainsAny(md, `\$`) {
		return nil
	}
	lines := strings.Split(md, "\n")
	code := inFences(lines)
	for i, at := 0, 0; i < len(lines); {
		from := at
		for i < len(lines) && !code[i] && strings.Trim(lines[i], " \t>") != "" {
			at += len(lines[i]) + 1
			i++
		}
		if at > from {
			found = append(found, formulasIn(md, span{from, min(at, len(md))})...)
			continue
		}
		at += len(lines[i]) + 1 // a line of code, or an empty one
		i++
	}
	return found
}

// formulaLines reports in which lines of md formulas of several lines begin.
func formulaLines(md string) map[int]bool {
	begins := map[int]bool{}
	line, done := 0, 0
	for _, f := range formulas(md) {
		line += strings.Count(md[done:f.from], "\n")
		if within := strings.Count(md[f.from:f.to], "\n"); within > 0 {
			begins[line] = true
			line += within
		}
		done = f.to
	}
	return begins
}

// formulasIn finds the formulas in a paragraph of md.
func formulasIn(md string, p span) (found []span) {
	missing := map[string]bool{} // what does not end in the rest of the paragraph
	for i := p.from; i < p.to; {
		next := strings.IndexAny(md[i:p.to], "`\\$")
		if next < 0 {
			break
		}
		i += next
		rest := md[i:p.to]
		open := opener(rest)
		switch {
		case rest[0] == '`':
			i += codeLength(rest, missing)
			continue
		case open == "" && rest[0] == '\\':
			i += min(2, len(rest)) // an escape
			continue
		case open == "" || missing[open]:
			i += max(1, len(open))
			continue
		}
		n := inside(rest[len(open):], closerOf(open))
		switch {
		case n < 0 && open != "$": // a single $ may be closed in a later line
			missing[open] = true
			i += len(open)
		case n < 0 || !isFormula(open, rest[len(open):len(open)+n], rest[len(open)+n+len(closerOf(open)):]):
			i += len(open)
		default:
			end := i + len(open) + n + len(closerOf(open))
			found = append(found, span{i, end})
			i = end
		}
	}
	return found
}

// opener returns what at the start of text begins a formula, or "".
func opener(text string) string {
	if strings.HasPrefix(text, `\begin{`) {
		return environment().FindString(text)
	}
	for _, open := range []string{`\(`, `\[`, `$$`, `$`} {
		if strings.HasPrefix(text, open) {
			return open
		}
	}
	return ""
}

// closerOf returns what ends a formula that open begins.
func closerOf(open string) string {
	if end, known := closers[open]; known {
		return end
	}
	return `\end` + strings.TrimPrefix(open, `\begin`)
}

// inside returns how many bytes of text come before end, or -1. A $ ends within its line.
func inside(text, end string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], end):
			return i
		case text[i] == '\\':
			i++
		case text[i] == '\n' && end == "$":
			return -1
		}
	}
	return -1
}

// codeLength returns how long the code is that begins text, with its backticks, or only
// they if nothing closes them.
func codeLength(text string, missing map[string]bool) int {
	mark := text[:len(text)-len(strings.TrimLeft(text, "`"))]
	if missing[mark] {
		return len(mark)
	}
	for i := len(mark); i < len(text); i++ {
		if text[i] != '`' {
			continue
		}
		run := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		if run == len(mark) {
			return i + run
		}
		i += run - 1
	}
	missing[mark] = true
	return len(mark)
}

// isFormula tells formulas from brackets that somebody escaped (\[sic\]) and from amounts
// of money. after follows the formula.
func isFormula(open, body, after string) bool {
	switch {
	case strings.TrimSpace(body) == "":
		return false
	case open == `\[`: // \[x\](…) and \[1\] are escaped brackets
		return strings.ContainsAny(body, `\^_={}+<>*/|`) || strings.TrimLeft(body, " \t\n") != body
	case open == "$":
		tight := strings.TrimSpace(body) == body
		digit := after != "" && after[0] >= '0' && after[0] <= '9'
		return tight && !digit && strings.ContainsAny(body, `\^_{`)
	}
	return true
}

// A shielded text has a sign in place of each formula: signOpens, a number, signCloses.
// Unicode promises that these two are no characters of any text.
const (
	signOpens  = '\uFDD0'
	signCloses = '\uFDD1'
)

var sign = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(string(signOpens) + `(\d+)` + string(signCloses))
})

// shield keeps the formulas of a text from whatever reads the text.
type shield []string

// shielded replaces the formulas of md by signs. written has them as they are in md, shown
// without the marks and the indentation of the quote or list that they are in.
func shielded(md string) (text string, written, shown shield) {
	spans := formulas(md)
	if len(spans) == 0 || strings.ContainsRune(md, signOpens) {
		return md, nil, nil
	}
	var b strings.Builder
	done := 0
	for i, f := range spans {
		b.WriteString(md[done:f.from] + string(signOpens) + strconv.Itoa(i) + string(signCloses))
		written = append(written, md[f.from:f.to])
		shown = append(shown, unquoted(md[f.from:f.to], md[strings.LastIndexByte(md[:f.from], '\n')+1:f.from]))
		done = f.to
	}
	b.WriteString(md[done:])
	return b.String(), written, shown
}

// unquoted is formula without what its lines have in front of them because before, which
// stands before the first line, is in a quote or a list.
func unquoted(formula, before string) string {
	marks := " \t"
	if strings.HasPrefix(strings.TrimLeft(before, " "), ">") {
		marks = " \t>"
	}
	lines := strings.Split(formula, "\n")
	for i := 1; i < len(lines); i++ {
		n := 0
		for n < min(len(before), len(lines[i])) && strings.IndexByte(marks, lines[i][n]) >= 0 {
			n++
		}
		lines[i] = lines[i][n:]
	}
	return strings.Join(lines, "\n")
}

// restore replaces signs by their formulas.
func (s shield) restore(text string) string {
	if len(s) == 0 || !strings.ContainsRune(text, signOpens) {
		return text
	}
	return sign().ReplaceAllStringFunc(text, func(at string) string {
		n, err := strconv.Atoi(strings.Trim(at, string(signOpens)+string(signCloses)))
		if err != nil || n >= len(s) {
			return at
		}
		return s[n]
	})
}

// shieldedPen restores the formulas in whatever it gives to its pen.
type shieldedPen struct {
	Pen
	formulas shield
}

// Words implements [Pen].
func (p shieldedPen) Words(s string) { p.Pen.Words(p.formulas.restore(s)) }

// Within implements [Pen].
func (p shieldedPen) Within(m Mark, body Body) {
	m.To = p.formulas.restore(m.To)
	if m.Next == signOpens {
		m.Next = '\\'
	}
	p.Pen.Within(m, p.body(body))
}

// Code implements [Pen].
func (p shieldedPen) Code(c Code) {
	c.Text = p.formulas.restore(c.Text)
	c.Language = p.formulas.restore(c.Language)
	p.Pen.Code(c)
}

// Table implements [Pen].
func (p shieldedPen) Table(rows [][]Body) {
	for _, cells := range rows {
		for i := range cells {
			cells[i] = p.body(cells[i])
		}
	}
	p.Pen.Table(rows)
}

// body is body with formulas, whichever pen it is given.
func (p shieldedPen) body(body Body) Body {
	return func(inner Pen) { body(shieldedPen{inner, p.formulas}) }
}
