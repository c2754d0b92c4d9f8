package irc

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// style is how a piece of text looks.
type style uint8

const (
	bold style = 1 << iota
	italic
	struck
	code1 // a code span, backticks included; nothing on the wire

	visible = bold | italic | struck // what has a code on the wire
)

// The codes that switch a style on and off. A line ends all of them.
const (
	codeBold   = "\x02"
	codeItalic = "\x1d"
	codeStruck = "\x1e"
)

// codes switches every style of s on, or off.
func (s style) codes() string {
	var b strings.Builder
	for bit, code := range [...]string{codeBold, codeItalic, codeStruck} {
		if s&(1<<bit) != 0 {
			b.WriteString(code)
		}
	}
	return b.String()
}

// cell is one grapheme, what a person takes for one character: a letter with
// its accents, a flag, a family of four.
type cell struct {
	text  string
	style style
}

// maxCell bounds a grapheme. Real ones stay far below it (the longest emoji
// have 35 bytes); a letter with a thousand accents is cut.
const maxCell = 64

// cellsOf appends the graphemes of s.
func cellsOf(s string, st style, out []cell) []cell {
	state := -1
	for s != "" {
		var c string
		c, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		for len(c) > maxCell {
			n := maxCell
			for !utf8.RuneStart(c[n]) {
				n--
			}
			out = append(out, cell{c[:n], st})
			c = c[n:]
		}
		out = append(out, cell{c, st})
	}
	return out
}

func (c cell) isSpace() bool {
	r, _ := utf8.DecodeRuneInString(c.text)
	return unicode.IsSpace(r)
}

func textOf(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.text)
	}
	return b.String()
}

// row is one line as people see it.
type row struct {
	cells    []cell
	verbatim bool // from a code block: its spaces matter
	cut      bool // the next piece of the same row goes on after this one
	spaced   bool // and a space between them was left out
}

// blank reports whether there is nothing to see in r.
func (r row) blank() bool {
	for _, c := range r.cells {
		for _, ch := range c.text {
			if unicode.IsGraphic(ch) && !unicode.IsSpace(ch) {
				return false
			}
		}
	}
	return true
}

// tidy drops trailing spaces and makes the style of spaces that of their
// surroundings, so that equal looks have equal codes.
func (r row) tidy() row {
	for !r.verbatim && len(r.cells) > 0 && r.cells[len(r.cells)-1].isSpace() {
		r.cells = r.cells[:len(r.cells)-1]
	}
	before := style(0)
	for i := 0; i < len(r.cells); {
		if !r.cells[i].isSpace() || r.cells[i].style&code1 != 0 {
			before = r.cells[i].style
			i++
			continue
		}
		j := i
		for j < len(r.cells) && r.cells[j].isSpace() && r.cells[j].style&code1 == 0 {
			j++
		}
		after := style(0)
		if j < len(r.cells) {
			after = r.cells[j].style
		}
		for ; i < j; i++ {
			r.cells[i].style = before & after & visible
		}
	}
	return r
}

// cost is how many bytes c takes on the wire after a cell of style prev.
func (c cell) cost(prev style) int {
	return len(c.text) + bits.OnesCount8(uint8((prev^c.style)&visible))
}

// wire is r as IRC sends it.
func (r row) wire() string {
	var (
		b    strings.Builder
		prev style
	)
	for _, c := range r.cells {
		b.WriteString((prev ^ c.style).codes())
		b.WriteString(c.text)
		prev = c.style
	}
	return b.String()
}

// glued is r as IRC sends it where the next piece follows in the same line.
func (r row) glued() string {
	text := r.wire()
	if !r.cut {
		return text
	}
	text += r.cells[len(r.cells)-1].style.codes()
	if r.spaced {
		text += " "
	}
	return text
}

// wrap cuts r into rows of at most budget bytes on the wire, at spaces where
// that does not leave less than half a row, else between graphemes. Spaces at
// the cut vanish, except in code.
func (r row) wrap(budget int) []row {
	var out []row
	cells := r.cells
	for len(cells) > 0 {
		n, space, used := 0, 0, 0
		prev := style(0)
		for n < len(cells) {
			used += cells[n].cost(prev)
			if used > budget && n > 0 {
				break
			}
			prev = cells[n].style
			if cells[n].isSpace() && used > budget/2 {
				space = n
			}
			n++
		}
		end, rest := n, n
		switch {
		case n == len(cells):
		case r.verbatim && space > 0:
			end, rest = space+1, space+1
		case r.verbatim:
		case cells[n].isSpace():
		case space > 0:
			end, rest = space, space
		}
		piece := row{cells: append([]cell(nil), cells[:end]...), verbatim: r.verbatim}.tidy()
		if !piece.blank() || r.verbatim && r.blank() {
			out = append(out, piece)
		}
		from := rest
		for !r.verbatim && rest < len(cells) && cells[rest].isSpace() {
			rest++
		}
		if cells = cells[rest:]; len(out) > 0 {
			last := &out[len(out)-1]
			last.cut, last.spaced = true, last.spaced || rest > from
		}
	}
	if len(out) > 0 {
		out[len(out)-1].cut = false
	}
	return out
}
