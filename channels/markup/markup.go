// Package markup reads the Markdown that models write and passes it, element by
// element, to a chat network's [Pen], which knows how things look there.
//
// [Walk] goes through a text once and in order. The Pen gets words, styles, code and
// tables, and never sees the parser. [Split] cuts a text that is too long for one
// message, measured as the network measures. [Tidy] makes any text fit for a chat. What
// stands in a formula (\( \), \[ \], $$ $$, $ $) is not read as Markdown.
//
// Every text has a result, be it invalid UTF-8, empty or megabytes of brackets, and
// Split loses nothing visible. Parsers sometimes panic on unusual text. Walk does not
// recover: the channel then shows the text as written, because an answer must not be
// lost for its looks. The package starts no goroutines and keeps no state; all of it
// is safe for concurrent use.
package markup

import (
	"bufio"
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// Pen writes the elements of a text in a network's own markup.
type Pen interface {
	// Words adds visible text. It may have line breaks.
	Words(s string)
	// Gap separates two blocks.
	Gap(g Gap)
	// Within writes body inside m. It may first run body with another pen, to look at
	// the result, and may skip body.
	Within(m Mark, body Body)
	// Code writes code, which has no markup inside.
	Code(c Code)
	// Table writes a table: rows of cells. The first row is the head.
	Table(rows [][]Body)
}

// Body writes the inside of an element with the pen it is given.
type Body func(Pen)

// Gap describes what separates two blocks.
type Gap struct {
	Tight bool // the list has no empty line here
	Item  bool // an item of a list follows
	Code  bool // a code block or a table follows
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

// Mark is an element that has an inside.
type Mark struct {
	Kind Kind
	// To is the address of a link or picture; it can be any text.
	To string
	// Number is that of an item, if Ordered.
	Number  int
	Ordered bool
	// Next is the character that follows, 0 if unknown.
	Next rune
}

// Code is a code block, or a span in a line.
type Code struct {
	Text     string
	Block    bool
	Language string // as the author wrote it after the fence; it can be any text
}

// Tidy makes text fit for a chat: valid UTF-8, one kind of line end, and no control
// characters, including those that change the text direction.
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

// Line makes any text, such as a name or title, one line without control characters.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}

// Clip cuts s to at most n characters. The last one is then an ellipsis.
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

// Escape makes Markdown show s literally.
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

// resolve replaces backslash escapes and entities in ordinary text.
func resolve(value []byte) string {
	if !bytes.ContainsAny(value, `\&`) {
		return string(value)
	}
	var b bytes.Buffer
	out := bufio.NewWriterSize(&b, 256) // goldmark needs a BufWriter
	gmhtml.DefaultWriter.Write(out, value)
	_ = out.Flush() // into a Buffer
	return Tidy(html.UnescapeString(b.String()))
}

// Lead is the text that starts every line inside a quote or a list, on networks
// that show both in plain text. Its zero value is the outermost level.
type Lead string

// maxLead bounds the lead in bytes, so that deep lists stay readable. Deeper
// ones are indented no further.
const maxLead = 16

// Indent writes m with p if m is a quote or an item of a list: its sign ("> ",
// "- " or "3. "), then body with a longer lead. For every other kind it writes
// nothing and returns false.
func (l *Lead) Indent(m Mark, p Pen, body Body) bool {
	sign, rest := "- ", Lead("  ")
	switch {
	case m.Kind == Quote:
		sign, rest = "> ", "> "
	case m.Kind != Item:
		return false
	case m.Ordered:
		sign = strconv.Itoa(m.Number) + ". "
	}
	p.Words(sign)
	outer := *l
	if len(outer) < maxLead {
		*l += rest
	}
	body(p)
	*l = outer
	return true
}

// Grid is the text of a table and the widths of its columns on a screen.
type Grid struct {
	Rows   [][]string
	Widths []int
}

// Lay makes a grid of rows; cell returns the text of each cell.
func Lay(rows [][]Body, cell func(Body) string) Grid {
	var g Grid
	for _, bodies := range rows {
		var cells []string
		for i, body := range bodies {
			s := cell(body)
			cells = append(cells, s)
			if i == len(g.Widths) {
				g.Widths = append(g.Widths, 0)
			}
			g.Widths[i] = max(g.Widths[i], uniseg.StringWidth(s))
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// Line returns row i with aligned columns, separated by between. A cell that is wider than
// its column is not cut.
func (g Grid) Line(i int, between string) string {
	var b strings.Builder
	for j, cell := range g.Rows[i] {
		if j > 0 {
			b.WriteString(between)
		}
		b.WriteString(cell)
		if j < len(g.Rows[i])-1 {
			b.WriteString(strings.Repeat(" ", max(0, g.Widths[j]-uniseg.StringWidth(cell))))
		}
	}
	return b.String()
}
