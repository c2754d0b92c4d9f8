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
