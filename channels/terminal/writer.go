package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/internal/lazily"

	"github.com/rivo/uniseg"
)

// The styles that are used, as a terminal wants them.
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

// writer sets Markdown for a terminal while it comes: it wraps at words, makes
// headings and **bold** bold, strikes ~~this~~ and colours `code`, and leaves the rest as it
// was written. Text may be cut anywhere between two calls of write.
type writer struct {
	emit    func(string) // gets finished text; "\n" ends a line
	columns int
	styled  bool

	word   strings.Builder // not yet written; of a raw line, all of it
	spaces int             // before it
	column int
	hang   int    // where wrapped lines begin
	begun  bool   // the line's kind is known
	raw    bool   // the line is written as it is: a table's row, a fence
	fence  string // the mark of the code block that is open
	head   bool   // a heading
	bold   bool
	code   bool
	struck bool
	now    string // the style in force
}

// write takes more text.
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

// breaksAnywhere names the scripts without spaces, which are wrapped, and
// appear, at every character.
func breaksAnywhere(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || (r >= 0x3000 && r <= 0x303f)
}

// end finishes the text: the last word appears, and the line is ended if
// anything stands on it. What comes next is a new text.
func (w *writer) end() {
	if w.word.Len() > 0 || w.column > 0 {
		w.endLine()
	}
	w.style("")
	*w = writer{emit: w.emit, columns: w.columns, styled: w.styled}
}

func (w *writer) endLine() {
	if w.raw || w.fence != "" {
		w.rawLine(w.word.String())
		w.word.Reset()
	} else {
		w.endWord()
	}
	w.bold, w.code, w.struck, w.head = false, false, false, false
	w.style("")
	w.emit("\n")
	w.column, w.spaces, w.hang, w.begun, w.raw = 0, 0, 0, false, false
}

// rawLine writes a line of a table or of a code block as it is.
func (w *writer) rawLine(line string) {
	mark := fenceMark.Regexp().FindString(strings.TrimLeft(line, " "))
	switch {
	case w.fence != "" && strings.HasPrefix(mark, w.fence):
		w.fence = ""
		w.style(styleDim)
	case w.fence != "":
		w.style(styleCode)
	case mark != "":
		w.fence = mark
		w.style(styleDim)
	}
	w.emit(strings.Repeat(" ", min(w.spaces, w.columns/2)) + strings.ReplaceAll(line, "\t", strings.Repeat(" ", tabColumns)))
}

// endWord writes the word, if there is one. The first of a line says what the
// line is.
func (w *writer) endWord() {
	word := w.word.String()
	if word == "" {
		return
	}
	w.word.Reset()
	if !w.begun {
		w.spaces = min(w.spaces, w.columns/2) // or there is no room for the text
		w.begun, w.hang = true, w.spaces
		switch {
		case strings.Trim(word, "#") == "" && len(word) <= 6:
			w.head = true
		case word == "-" || word == "*" || word == "+" || word == ">" || orderedItem.Regexp().MatchString(word):
			w.hang = min(w.spaces+len(word)+1, w.columns*3/4)
			w.place(word)
			return
		}
	}
	w.inline(word)
}

// inline writes a word with the marks in it. Without styles the marks stay,
// or the emphasis would be lost.
func (w *writer) inline(word string) {
	if !w.styled || strings.Trim(word, "*~") == "" {
		w.place(word)
		return
	}
	plain := strings.NewReplacer("**", "", "~~", "", "`", "").Replace(word)
	w.room(uniseg.StringWidth(plain))
	rest, written := word, false
	for rest != "" {
		mark := strings.IndexAny(rest, "*~`")
		switch {
		case mark < 0:
			w.text(rest)
			return
		case mark > 0:
			w.text(rest[:mark])
			rest, written = rest[mark:], true
		case rest[0] == '`':
			w.code = !w.code
			w.unstyle()
			rest = rest[1:]
		case strings.HasPrefix(rest, "**") && !w.code && (w.bold || !written):
			w.bold = !w.bold
			w.unstyle()
			rest = rest[2:]
		case strings.HasPrefix(rest, "~~") && !w.code && (w.struck || !written):
			w.struck = !w.struck
			w.unstyle()
			rest = rest[2:]
		default:
			n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
			w.text(rest[:n])
			rest = rest[n:]
		}
	}
}

// place writes a word without looking into it.
func (w *writer) place(word string) {
	w.room(uniseg.StringWidth(word))
	w.text(word)
}

// room makes room for a word of so many columns: on this line, or on the next.
func (w *writer) room(width int) {
	if w.column > w.hang && w.column+w.spaces+width > w.columns {
		w.style("")
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

// text writes s in the style of now. What is wider than a line is cut where
// the line ends.
func (w *writer) text(s string) {
	look := ""
	switch {
	case w.code:
		look = styleCode
	case w.bold || w.head:
		look = styleBold
	}
	if w.struck {
		look += styleStruck
	}
	w.style(look)
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

// unstyle ends the style in force where a mark has ended it.
func (w *writer) unstyle() {
	if !w.bold && !w.code && !w.struck && !w.head {
		w.style("")
	}
}

// style changes the style in force.
func (w *writer) style(to string) {
	if !w.styled || to == w.now {
		return
	}
	if w.now != "" {
		w.emit(styleReset)
	}
	w.now = to
	if to != "" {
		w.emit(to)
	}
}

// oneLine is text in so many columns at most, for a look at what was said.
func oneLine(text string, columns int) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	if uniseg.StringWidth(text) <= columns {
		return text
	}
	var b strings.Builder
	width := 0
	for _, cluster := range graphemes(strings.ToValidUTF8(text[:min(len(text), columns*utf8.UTFMax*4)], "")) {
		if width += uniseg.StringWidth(cluster); width > columns-1 {
			break
		}
		b.WriteString(cluster)
	}
	return strings.TrimRight(b.String(), " ") + "…"
}
