package markup

import (
	"strings"
	"sync"
	"unicode/utf8"

	"dragoman/internal/lazily"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown parses what models write; it is safe for concurrent use. Link definitions
// ("[1]: https://…") stay text: a definition may be used in another message, and an unused
// one would vanish.
var markdown = sync.OnceValue(func() parser.Parser {
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(parser.DefaultBlockParsers()...),
			parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(stars{}, beforeEmphasis), util.Prioritized(bareAddress{}, beforeEmphasis))...),
		)),
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
	).Parser()
})

// Walk writes tidy Markdown with p.
func Walk(md string, p Pen) {
	md, _, formulas := shielded(md)
	if len(formulas) > 0 {
		p = shieldedPen{p, formulas}
	}
	w := walk{source: []byte(md)}
	w.blocks(markdown().Parse(text.NewReader(w.source)), p)
}

// walk goes through parsed Markdown once and tells a [Pen] what to write. All
// networks share it; they differ in their pens only.
type walk struct {
	source []byte
	cell   bool // in a table, whose rows are lines
}

// breaks matches the one HTML tag that models write because Markdown has no equivalent,
// mostly in tables.
var breaks = lazily.Compile(`(?i)<br\s*/?>`)

// blocks writes the children of n and the gaps between them.
func (w walk) blocks(n ast.Node, p Pen) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if child.PreviousSibling() != nil {
			p.Gap(gapBefore(child))
		}
		w.block(child, p)
	}
}

func gapBefore(n ast.Node) Gap {
	list, _ := n.Parent().(*ast.List)
	if item, inside := n.Parent().(*ast.ListItem); inside {
		list, _ = item.Parent().(*ast.List)
	}
	g := Gap{Tight: list != nil && (list.IsTight || n.Kind() == ast.KindList), Item: n.Kind() == ast.KindListItem}
	switch n.Kind() {
	case ast.KindCodeBlock, ast.KindFencedCodeBlock, extast.KindTable:
		g.Code = true
	}
	return g
}

func (w walk) block(n ast.Node, p Pen) {
	switch n := n.(type) {
	case *ast.Heading:
		p.Within(Mark{Kind: Heading}, w.inlineBody(n))
	case *ast.Paragraph, *ast.TextBlock:
		w.inlines(n, p)
	case *ast.Blockquote:
		p.Within(Mark{Kind: Quote}, func(p Pen) { w.blocks(n, p) })
	case *ast.ListItem:
		p.Within(itemMark(n), func(p Pen) { w.blocks(n, p) })
	case *ast.FencedCodeBlock:
		p.Code(w.fenced(n))
	case *ast.CodeBlock:
		p.Code(Code{Text: w.lines(n), Block: true})
	case *ast.ThematicBreak:
		p.Words("———")
	case *ast.HTMLBlock:
		body := w.lines(n)
		if n.HasClosure() {
			body += string(n.ClosureLine.Value(w.source))
		}
		p.Words(strings.Trim(breaks.Regexp().ReplaceAllString(body, "\n"), "\n"))
	case *extast.Table:
		p.Table(w.rows(n))
	default: // lists and the document
		w.blocks(n, p)
	}
}

func itemMark(n *ast.ListItem) Mark {
	m := Mark{Kind: Item}
	if list, ok := n.Parent().(*ast.List); ok && list.IsOrdered() {
		m.Ordered, m.Number = true, list.Start
		for before := n.PreviousSibling(); before != nil; before = before.PreviousSibling() {
			m.Number++
		}
	}
	return m
}

// fenced returns a fenced code block. Text after the first fence that is no language, or
// a language with no code after it, belongs to the answer.
func (w walk) fenced(n *ast.FencedCodeBlock) Code {
	c := Code{Text: w.lines(n), Block: true}
	if n.Info == nil {
		return c
	}
	info := strings.TrimSpace(string(n.Info.Segment.Value(w.source)))
	if isLanguage(info) && strings.TrimSpace(c.Text) != "" {
		c.Language = info
	} else {
		c.Text = info + "\n" + c.Text
	}
	return c
}

func (w walk) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		b.Write(segment.Value(w.source))
	}
	return b.String()
}

func (w walk) rows(n *extast.Table) [][]Body {
	var rows [][]Body
	w.cell = true
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []Body
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, w.inlineBody(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}

func (w walk) inlineBody(n ast.Node) Body {
	return func(p Pen) { w.inlines(n, p) }
}

// linkBody returns the inside of a link and its title, which networks do not show.
func (w walk) linkBody(n ast.Node, title []byte) Body {
	return func(p Pen) {
		w.inlines(n, p)
		if text := strings.TrimSpace(resolve(title)); text != "" {
			p.Words(" “" + text + "”")
		}
	}
}

func (w walk) inlines(n ast.Node, p Pen) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		w.inline(child, p)
	}
}

func (w walk) inline(n ast.Node, p Pen) {
	switch n := n.(type) {
	case *ast.Text:
		value := n.Segment.Value(w.source)
		if n.IsRaw() {
			p.Words(string(value))
		} else {
			p.Words(resolve(value))
		}
		if n.SoftLineBreak() || n.HardLineBreak() {
			p.Words("\n")
		}
	case *ast.String:
		p.Words(string(n.Value))
	case *ast.CodeSpan:
		p.Code(Code{Text: w.codeSpan(n)})
	case *ast.Emphasis:
		p.Within(Mark{Kind: map[int]Kind{1: Italic, 2: Bold}[min(n.Level, 2)], Next: w.nextChar(n)}, w.inlineBody(n))
	case *extast.Strikethrough:
		p.Within(Mark{Kind: Struck, Next: w.nextChar(n)}, w.inlineBody(n))
	case *ast.Link:
		p.Within(Mark{Kind: Link, To: resolve(n.Destination)}, w.linkBody(n, n.Title))
	case *ast.Image:
		p.Within(Mark{Kind: Link, To: resolve(n.Destination)}, w.linkBody(n, n.Title))
	case *ast.AutoLink:
		p.Words(string(n.Label(w.source)))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			p.Words(w.tagText(n, string(segment.Value(w.source))))
		}
	case *extast.TaskCheckBox:
		p.Words(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked])
	default:
		w.inlines(n, p)
	}
}

// tagText returns the text for n, a piece of HTML: the HTML itself, or a line break for <br>.
func (w walk) tagText(n ast.Node, html string) string {
	next, is := n.NextSibling().(*ast.Text)
	switch {
	case !breaks.Regexp().MatchString(html):
		return html
	case w.cell:
		return " "
	case is && next.Segment.IsEmpty() && next.SoftLineBreak():
		return "" // the line ends here anyway
	}
	return "\n"
}

// nextChar returns the character after n, 0 if unknown.
func (w walk) nextChar(n ast.Node) rune {
	if t, ok := n.NextSibling().(*ast.Text); ok {
		if v := t.Segment.Value(w.source); len(v) > 0 {
			r, _ := utf8.DecodeRune(v)
			return r
		}
	}
	return 0
}

func (w walk) codeSpan(n ast.Node) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			b.Write(t.Segment.Value(w.source))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}
