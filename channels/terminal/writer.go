package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/internal/lazily"

	"github.com/rivo/uniseg"
)

// The terminal's codes for the styles we use.
const (
	styleBold   = "\x1b[1m"
	styleDim    = "\x1b[2m"
	styleCode   = "\x1b[36m"
	styleStruck = "\x1b[9m"
	styleReset  = "\x1b[0m"
)

var (
	orderedItem = lazily.Compile(`^\d{1,9}[.)]$`)
	fenceMark   = lazily.Compile("^(```+|~~~+)")
)

// writer formats Markdown for a terminal while it arrives: it wraps at words, makes
// headings and **bold** bold, strikes ~~this~~ out, colours `code`, and leaves the rest as
// written. Text may be split anywhere between two calls of write.
type writer struct {
	emit    func(string) // gets finished text; "\n" ends a line
	columns int
	styled  bool

	word    strings.Builder // not yet written; in a raw line, the whole line
	spaces  int             // before it
	column  int
	hang    int    // column where wrapped lines begin
	begun   bool   // the line's kind is known
	raw     bool   // the line is written unchanged: a table row or a fence
	fence   string // mark of the open code block; "" outside
	heading bool
	bold    bool
	code    bool
	struck  bool
	formula string // what ends the open formula; "" outside
	style   string // in force
}

func (w *writer) write(text string) {
	for _, r := range printable(text) {
		switch {
		case r == '\n':
			w.endLine()
		case w.raw || w.fence != "":
			w.word.WriteRune(r)
		case r == ' ' || r == '\t':
			w.endWord()
			w.spaces++
			if r == '\t' {
				w.spaces += tabColumns - 1
			}
		case breaksAnywhere(r):
			w.endWord()
			w.word.WriteRune(r)
			w.endWord()
		default:
			w.word.WriteRune(r)
			w.raw = !w.begun && (w.word.String() == "|" || w.word.String() == "```" || w.word.String() == "~~~")
		}
	}
}

// breaksAnywhere reports whether r belongs to a script without spaces, which is wrapped
// and shown character by character.
func breaksAnywhere(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || (r >= 0x3000 && r <= 0x303f)
}

// end writes the last word and ends the line, if there is one. The next text starts
// afresh.
func (w *writer) end() {
	if w.word.Len() > 0 || w.column > 0 {
		w.endLine()
	}
	w.setStyle("")
	*w = writer{emit: w.emit, columns: w.columns, styled: w.styled}
}

func (w *writer) endLine() {
	if !w.begun && w.word.Len() == 0 {
		w.formula = "" // a formula has no empty line
	}
	if w.raw || w.fence != "" {
		w.rawLine(w.word.String())
		w.word.Reset()
	} else {
		w.endWord()
	}
	w.bold = false
	w.code = false
	w.struck = false
	w.heading = false
	w.setStyle("")
	w.emit("\n")
	w.column = 0
	w.spaces = 0
	w.hang = 0
	w.begun = false
	w.raw = false
}

// rawLine writes a line of a table or of a code block unchanged.
func (w *writer) rawLine(line string) {
	mark := fenceMark.Regexp().FindString(strings.TrimLeft(line, " "))
	switch {
	case w.fence != "" && strings.HasPrefix(mark, w.fence):
		w.fence = ""
		w.setStyle(styleDim)
	case w.fence != "":
		w.setStyle(styleCode)
	case mark != "":
		w.fence = mark
		w.setStyle(styleDim)
	}
	w.emit(strings.Repeat(" ", min(w.spaces, w.columns/2)) + strings.ReplaceAll(line, "\t", strings.Repeat(" ", tabColumns)))
}

// endWord writes the current word. The first word of a line decides the line's kind.
func (w *writer) endWord() {
	word := w.word.String()
	if word == "" {
		return
	}
	w.word.Reset()
	if !w.begun {
		w.spaces = min(w.spaces, w.columns/2) // leave room for the text
		w.begun, w.hang = true, w.spaces
		switch {
		case w.formula != "":
		case strings.Trim(word, "#") == "" && len(word) <= 6:
			w.heading = true
		case word == "-" || word == "*" || word == "+" || word == ">" || orderedItem.Regexp().MatchString(word):
			w.hang = min(w.spaces+len(word)+1, w.columns*3/4)
			w.putPlain(word)
			return
		}
	}
	w.inline(word)
}

// inline writes a word and applies the marks in it. Without styles the marks stay
// visible, so that emphasis is not lost.
func (w *writer) inline(word string) {
	if !w.styled || w.formula == "" && strings.Trim(word, "*~") == "" {
		w.putPlain(word)
		return
	}
	plain := strings.NewReplacer("**", "", "~~", "", "`", "").Replace(word)
	w.makeRoom(uniseg.StringWidth(plain))
	rest, written := word, false
	for rest != "" {
		if n := w.formulaLength(rest); n > 0 {
			w.put(rest[:n])
			rest, written = rest[n:], true
			continue
		}
		mark := strings.IndexAny(rest, "*~`\\$")
		switch {
		case mark < 0:
			w.put(rest)
			return
		case mark > 0:
			w.put(rest[:mark])
			rest, written = rest[mark:], true
		case rest[0] == '`':
			w.code = !w.code
			w.resetStyle()
			rest = rest[1:]
		case strings.HasPrefix(rest, "**") && !w.code && (w.bold || !written):
			w.bold = !w.bold
			w.resetStyle()
			rest = rest[2:]
		case strings.HasPrefix(rest, "~~") && !w.code && (w.struck || !written):
			w.struck = !w.struck
			w.resetStyle()
			rest = rest[2:]
		default:
			n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
			w.put(rest[:n])
			rest = rest[n:]
		}
	}
}

// formulaEnds has what ends a formula, by what begins it.
var formulaEnds = map[string]string{`\(`: `\)`, `\[`: `\]`, "$$": "$$"}

// formulaLength returns how much of text, a part of a word, is in a formula. It opens and
// closes formulas.
func (w *writer) formulaLength(text string) int {
	from := 0
	if w.formula == "" && !w.code && len(text) >= 2 {
		w.formula = formulaEnds[text[:2]]
		from = 2
	}
	if w.formula == "" {
		return 0
	}
	n := strings.Index(text[from:], w.formula)
	if n < 0 {
		return len(text)
	}
	n += from + len(w.formula)
	w.formula = ""
	return n
}

func (w *writer) putPlain(word string) {
	w.makeRoom(uniseg.StringWidth(word))
	w.put(word)
}

// makeRoom prepares for a word of that width: on this line, or on the next.
func (w *writer) makeRoom(width int) {
	if w.column > w.hang && w.column+w.spaces+width > w.columns {
		w.setStyle("")
		w.emit("\n" + strings.Repeat(" ", w.hang))
		w.column, w.spaces = w.hang, 0
		return
	}
	if w.spaces > 0 {
		w.spaces = min(w.spaces, max(0, w.columns-1))
		w.emit(strings.Repeat(" ", w.spaces))
		w.column += w.spaces
		w.spaces = 0
	}
}

// put writes s in the current style. It breaks a word that is wider than a line.
func (w *writer) put(s string) {
	look := ""
	switch {
	case w.code:
		look = styleCode
	case w.bold || w.heading:
		look = styleBold
	}
	if w.struck {
		look += styleStruck
	}
	w.setStyle(look)
	var b strings.Builder
	for state := -1; s != ""; {
		var cluster string
		var width int
		cluster, s, width, state = uniseg.FirstGraphemeClusterInString(s, state)
		if w.column+width > w.columns && w.column > w.hang {
			b.WriteString("\n" + strings.Repeat(" ", w.hang))
			w.column = w.hang
		}
		b.WriteString(cluster)
		w.column += width
	}
	w.emit(b.String())
}

// resetStyle ends the style in force after its closing mark.
func (w *writer) resetStyle() {
	if !w.bold && !w.code && !w.struck && !w.heading {
		w.setStyle("")
	}
}

func (w *writer) setStyle(to string) {
	if !w.styled || to == w.style {
		return
	}
	if w.style != "" {
		w.emit(styleReset)
	}
	w.style = to
	if to != "" {
		w.emit(to)
	}
}

// oneLine shortens text to one line of at most that many columns.
func oneLine(text string, columns int) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	if uniseg.StringWidth(text) <= columns {
		return text
	}
	var b strings.Builder
	width := 0
	for _, cluster := range graphemes(strings.ToValidUTF8(text[:min(len(text), columns*utf8.UTFMax*4)], "")) {
		width += uniseg.StringWidth(cluster)
		if width > columns-1 {
			break
		}
		b.WriteString(cluster)
	}
	return strings.TrimRight(b.String(), " ") + "…"
}
