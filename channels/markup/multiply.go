package markup

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// times reports whether so many stars between two characters multiply, as in
// 2*3*4 and 2**10, rather than mark what stands between them and the next
// ones: then they would vanish. Markdown knows no such rule; it lets emphasis
// begin and end within a word, which numbers have no use for.
func times(before rune, stars int, after rune) bool {
	switch stars {
	case 1:
		return isNumber(before) && isName(after) || isName(before) && isNumber(after)
	case 2: // **5**x is more often a bold number
		return isNumber(before) && isNumber(after)
	}
	return false
}

func isNumber(r rune) bool { return r >= '0' && r <= '9' }

func isName(r rune) bool { return isNumber(r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// beforeEmphasis is a place in the parser's order: its emphasis has 500.
const beforeEmphasis = 400

// stars leaves those that multiply as they are.
type stars struct{}

// Trigger implements [parser.InlineParser].
func (stars) Trigger() []byte { return []byte{'*'} }

// Parse implements [parser.InlineParser]; nil leaves the star to the others.
func (stars) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	n := 0
	for n < len(line) && line[n] == '*' {
		n++
	}
	if n == len(line) || !times(block.PrecendingCharacter(), n, rune(line[n])) {
		return nil
	}
	block.Advance(n)
	return ast.NewTextSegment(segment.WithStop(segment.Start + n))
}
