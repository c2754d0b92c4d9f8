// Package markup reads the Markdown that models write and hands it, piece by
// piece, to the pen of a chat network, which knows how things look there.
//
// [Walk] goes through a text once and in order; a [Pen] gets words, styles,
// code and tables, and never sees the parser. [Split] cuts a text that is too
// long for one message, measured as the network measures. [Tidy] makes any
// text fit for a chat.
//
// Whatever the text is (not UTF-8, empty, megabytes of brackets), there is an
// answer, and Split loses nothing that can be seen. Parsers of other people's
// text sometimes panic: Walk lets that through, and a channel shows the text
// as it was written then, because an answer must not be lost for its looks.
// Nothing here starts goroutines or keeps state; all of it is safe for
// concurrent use.
package markup

import (
	"bufio"
	"bytes"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// Pen writes what a walk finds, in a network's own marks.
type Pen interface {
	// Words adds visible text. It may have line breaks.
	Words(s string)
	// Gap stands between two blocks.
	Gap(g Gap)
	// Within writes what body finds, inside m. The body may be given another
	// pen, to look at what it writes first, and may be left out.
	Within(m Mark, body Body)
	// Code writes code, which has no markup inside.
	Code(c Code)
	// Table writes a table: rows of cells, the first is its head.
	Table(rows [][]Body)
}

// Body walks through what is inside of something with the pen it is given.
type Body func(Pen)

// Gap says what is between two blocks.
type Gap struct {
	Tight bool // the author left no empty line in this list
	Item  bool // what follows is an item of a list
	Code  bool // what follows is a code block or a table
}

// Kind says what a [Mark] is.
type Kind int

// The kinds of marks.
const (
	Heading Kind = iota + 1
	Bold
	Italic
	Struck
	Link
	Quote
	Item
)

// Mark is something that has an inside.
type Mark struct {
	Kind Kind
	// To is where a link or picture points to; it can be anything.
	To string
	// Number is that of an item, if Ordered.
	Number  int
	Ordered bool
	// Next is the character that follows, 0 if that is not easy to tell.
	Next rune
}

// Code is a code block, or a span in a line.
type Code struct {
	Text     string
	Block    bool
	Language string // what the author wrote behind the fence; it can be anything
}

// Tidy makes text fit for a chat: UTF-8, one kind of line end, no control
// characters, and none that turn the reading direction of what follows.
func Tidy(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\v' || r == '\f' || r == 0x2028 || r == 0x2029:
			return '\n'
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff:
			return -1
		}
		return r
	}, s)
}

// Line keeps a name or title, which can be anything at all, from looking like
// more than that.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}

// Clip cuts s to at most n characters, the last of which says that there was
// more.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}

// Escape makes s mean itself in Markdown.
func Escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if util.IsPunct(s[i]) {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// resolve undoes backslash escapes and entities in ordinary text.
func resolve(value []byte) string {
	if !bytes.ContainsAny(value, `\&`) {
		return string(value)
	}
	var b bytes.Buffer
	out := bufio.NewWriterSize(&b, 256) // the kind of writer that goldmark wants
	gmhtml.DefaultWriter.Write(out, value)
	_ = out.Flush() // into a Buffer
	return Tidy(html.UnescapeString(b.String()))
}
