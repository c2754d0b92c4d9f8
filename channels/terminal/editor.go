package terminal

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

const (
	prompt     = "› "
	indent     = "  " // of the later lines of the text being edited
	tabColumns = 4
	maxHistory = 200
)

// editor holds the line being edited as grapheme clusters, the cursor among them, and the
// history. It does no input or output.
type editor struct {
	line     []string // grapheme clusters; "\n" and "\t" are one each
	at       int      // the cursor, an index into line
	commands []string // for completion, with the "/"

	history []string
	shown   int    // index into history; len(history): the line being edited
	draft   string // the line being edited, while history is shown
}

func (e *editor) text() string { return strings.Join(e.line, "") }

func (e *editor) set(text string) {
	e.line = graphemes(text)
	e.at = len(e.line)
}

func graphemes(text string) []string {
	var list []string
	for state := -1; text != ""; {
		var cluster string
		cluster, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		list = append(list, cluster)
	}
	return list
}

// insert inserts text at the cursor. Text may join with its neighbours into new clusters
// (a combining accent typed alone), so the whole line is split again.
func (e *editor) insert(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	before := strings.Join(e.line[:e.at], "") + printable(text)
	after := strings.Join(e.line[e.at:], "")
	e.line = graphemes(before + after)
	e.at = min(len(graphemes(before)), len(e.line))
}

// printable drops control characters, which could steer the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// take returns the line, adds it to the history and starts a new one.
func (e *editor) take() string {
	text := e.text()
	e.remember(text)
	e.set("")
	return text
}

func (e *editor) remember(text string) {
	if n := len(e.history); strings.TrimSpace(text) != "" && (n == 0 || e.history[n-1] != text) {
		e.history = append(e.history, text)
	}
	e.history = e.history[max(0, len(e.history)-maxHistory):]
	e.shown, e.draft = len(e.history), ""
}

// press handles an editing key. It returns the candidates if Tab found several.
func (e *editor) press(k key) (candidates []string) {
	switch edit := edits[k.name]; {
	case edit != nil:
		edit(e)
	case k.name == keyText || k.name == keyPaste:
		e.insert(k.text)
	case k.name == keyTab:
		return e.complete()
	}
	return nil
}

// edits are the keys that always do the same.
var edits = map[keyName]func(*editor){
	keyNewline:   func(e *editor) { e.insert("\n") },
	keyBackspace: func(e *editor) { e.cut(e.at-1, e.at) },
	keyDelete:    func(e *editor) { e.cut(e.at, e.at+1) },
	keyKillWord:  func(e *editor) { e.cut(e.wordLeft(), e.at) },
	keyKillLine:  func(e *editor) { e.cut(0, e.at) },
	keyKillRest:  func(e *editor) { e.cut(e.at, len(e.line)) },
	keyLeft:      func(e *editor) { e.at = max(0, e.at-1) },
	keyRight:     func(e *editor) { e.at = min(len(e.line), e.at+1) },
	keyHome:      func(e *editor) { e.at = 0 },
	keyEnd:       func(e *editor) { e.at = len(e.line) },
	keyWordLeft:  func(e *editor) { e.at = e.wordLeft() },
	keyWordRight: func(e *editor) { e.at = e.wordRight() },
	keyUp:        func(e *editor) { e.browse(-1) },
	keyDown:      func(e *editor) { e.browse(+1) },
}

func blank(cluster string) bool { return strings.TrimSpace(cluster) == "" }

func (e *editor) wordLeft() int {
	at := e.at
	for at > 0 && blank(e.line[at-1]) {
		at--
	}
	for at > 0 && !blank(e.line[at-1]) {
		at--
	}
	return at
}

func (e *editor) wordRight() int {
	at := e.at
	for at < len(e.line) && blank(e.line[at]) {
		at++
	}
	for at < len(e.line) && !blank(e.line[at]) {
		at++
	}
	return at
}

// cut removes the clusters from..to, clamped to the line.
func (e *editor) cut(from, to int) {
	from, to = max(0, from), min(len(e.line), to)
	if from >= to {
		return
	}
	e.line = append(e.line[:from:from], e.line[to:]...)
	e.at = from
}

func (e *editor) browse(step int) {
	to := e.shown + step
	if to < 0 || to > len(e.history) {
		return
	}
	if e.shown == len(e.history) {
		e.draft = e.text()
	}
	e.shown = to
	if to == len(e.history) {
		e.set(e.draft)
	} else {
		e.set(e.history[to])
	}
}

// complete completes a command as far as it is unambiguous, and returns the candidates
// if it is not.
func (e *editor) complete() []string {
	typed := e.text()
	if !strings.HasPrefix(typed, "/") || strings.ContainsAny(typed, " \n\t") || e.at != len(e.line) {
		return nil
	}
	var fits []string
	for _, c := range e.commands {
		if strings.HasPrefix(c, typed) {
			fits = append(fits, c)
		}
	}
	if len(fits) == 0 {
		return nil
	}
	common := fits[0]
	for _, c := range fits[1:] {
		for !strings.HasPrefix(c, common) {
			common = common[:len(common)-1]
		}
	}
	e.set(common)
	if len(fits) == 1 {
		return nil
	}
	return fits
}

// layout returns the line as rows of a screen of that many columns, and the cursor's row
// and column.
func (e *editor) layout(columns int) (rows []string, row, column int) {
	columns = max(columns, 8)
	var b strings.Builder
	b.WriteString(prompt)
	at := uniseg.StringWidth(prompt)
	feed := func(begin string) {
		rows = append(rows, b.String())
		b.Reset()
		b.WriteString(begin)
		at = uniseg.StringWidth(begin)
	}
	for i := 0; ; i++ {
		if at >= columns { // the row is full: the cursor is on the next
			feed("")
		}
		if i == e.at {
			row, column = len(rows), at
		}
		if i == len(e.line) {
			break
		}
		shown, width := cell(e.line[i])
		switch {
		case e.line[i] == "\n":
			feed(indent)
			continue
		case at+width > columns:
			feed("")
			if i == e.at {
				row, column = len(rows), at
			}
		}
		b.WriteString(shown)
		at += width
	}
	return append(rows, b.String()), row, column
}

// cell returns how a cluster is shown and how many columns that needs.
func cell(cluster string) (string, int) {
	if cluster == "\t" {
		return strings.Repeat(" ", tabColumns), tabColumns
	}
	return cluster, uniseg.StringWidth(cluster)
}
