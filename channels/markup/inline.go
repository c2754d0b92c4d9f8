package markup

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// bareAddress keeps underscores in a web address, as in https://a.example/__init__.py,
// from becoming emphasis.
type bareAddress struct{}

// Trigger implements [parser.InlineParser]. goldmark also reports the start of a line as
// a space.
func (bareAddress) Trigger() []byte { return []byte{' ', '('} }

// Parse implements [parser.InlineParser]. It returns nil to leave the text to the other
// parsers.
func (bareAddress) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	from := 0
	if line[0] == ' ' || line[0] == '(' {
		from = 1
	}
	if rest := line[from:]; !bytes.HasPrefix(rest, []byte("http://")) && !bytes.HasPrefix(rest, []byte("https://")) {
		return nil
	}
	n := bytes.IndexAny(line[from:], " \t\r\n<>`*()[]|~\\&")
	if n < 0 {
		n = len(line) - from
	}
	block.Advance(from + n)
	return ast.NewTextSegment(segment.WithStop(segment.Start + from + n))
}

// multiplies reports whether the stars between two characters are multiplication, as in
// 2*3*4 and 2**10, rather than emphasis, which would remove them. Markdown has no such
// rule: it lets emphasis begin and end inside a word.
func multiplies(before rune, stars int, after rune) bool {
	switch stars {
	case 1:
		return isDigit(before) && isNameChar(after) || isNameChar(before) && isDigit(after)
	case 2: // **5**x is more often a bold number
		return isDigit(before) && isDigit(after)
	}
	return false
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isNameChar(r rune) bool { return isDigit(r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// beforeEmphasis is a priority in goldmark's order of parsers; its emphasis has 500.
const beforeEmphasis = 400

// stars leaves multiplication stars as text.
type stars struct{}

// Trigger implements [parser.InlineParser].
func (stars) Trigger() []byte { return []byte{'*'} }

// Parse implements [parser.InlineParser]. It returns nil to leave the star to the other
// parsers.
func (stars) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	n := 0
	for n < len(line) && line[n] == '*' {
		n++
	}
	if n == len(line) || !multiplies(block.PrecendingCharacter(), n, rune(line[n])) {
		return nil
	}
	block.Advance(n)
	return ast.NewTextSegment(segment.WithStop(segment.Start + n))
}
