package whatsapp

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown parses what models write; safe for concurrent use. Definitions of
// links are left as text: their uses may stand in another message.
var markdown = goldmark.New(
	goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
	)),
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
).Parser()

// render turns Markdown into what WhatsApp shows as it was meant: *bold*,
// _italic_, ~struck~, `code`, code blocks, quotes and lists. It is never empty.
// Should the parser panic, the text is sent as it was written: an answer must
// not be lost for its looks.
func render(md string) (out string) {
	md = tidy(md)
	defer func() {
		if recover() != nil {
			out = md
		}
		if strings.TrimSpace(out) == "" {
			out = "…"
		}
	}()
	w := &writer{source: []byte(md)}
	w.blocks(markdown.Parse(text.NewReader(w.source)))
	return strings.TrimRight(w.out.String(), " \n")
}

// writer walks a parsed text. lead is what every new line begins with, inside
// quotes and lists.
type writer struct {
	source []byte
	out    strings.Builder
	last   rune // the last character written, without marks
	lead   string
	bold   bool // inside a heading or bold text, which cannot be nested
}

func (w *writer) write(s string) {
	if s == "" {
		return
	}
	w.last, _ = utf8.DecodeLastRuneInString(s)
	w.out.WriteString(strings.ReplaceAll(s, "\n", "\n"+w.lead))
}

func (w *writer) blocks(n ast.Node) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if child.PreviousSibling() != nil {
			w.write(gap(child))
		}
		w.block(child)
	}
}

// gap is what separates a block from the one before it.
func gap(n ast.Node) string {
	list, _ := n.Parent().(*ast.List)
	if item, inside := n.Parent().(*ast.ListItem); inside {
		list, _ = item.Parent().(*ast.List)
	}
	if list != nil && (list.IsTight || n.Kind() == ast.KindList) {
		return "\n"
	}
	return "\n\n"
}

func (w *writer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		w.styled("*", n)
	case *ast.Paragraph, *ast.TextBlock:
		w.inlines(n)
	case *ast.Blockquote:
		w.indented("> ", "> ", n)
	case *ast.ListItem:
		first := "- "
		if list, ok := n.Parent().(*ast.List); ok && list.IsOrdered() {
			at := list.Start
			for before := n.PreviousSibling(); before != nil; before = before.PreviousSibling() {
				at++
			}
			first = strconv.Itoa(at) + ". "
		}
		w.indented(first, "  ", n)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		w.code(w.lines(n))
	case *ast.ThematicBreak:
		w.write("———")
	case *ast.HTMLBlock:
		body := w.lines(n)
		if n.HasClosure() {
			body += string(n.ClosureLine.Value(w.source))
		}
		w.write(strings.TrimRight(body, "\n"))
	case *extast.Table:
		w.table(n)
	default:
		w.blocks(n)
	}
}

// mostLead keeps deep lists on the screen; what is deeper stays there.
const mostLead = 16

// indented writes n behind first, and its further lines behind rest.
func (w *writer) indented(first, rest string, n ast.Node) {
	w.write(first)
	outer := w.lead
	if len(w.lead) < mostLead {
		w.lead += rest
	}
	w.blocks(n)
	w.lead = outer
}

// lines is the raw text of a block.
func (w *writer) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		b.Write(segment.Value(w.source))
	}
	return b.String()
}

const fence = "```"

// code writes a block. Three backticks inside it would end it.
func (w *writer) code(body string) {
	body = strings.ReplaceAll(strings.TrimRight(body, "\n"), fence, "'''")
	if body == "" {
		return
	}
	w.write(fence + "\n" + body + "\n" + fence)
}

func (w *writer) inlines(n ast.Node) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		w.inline(child)
	}
}

func (w *writer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		value := n.Segment.Value(w.source)
		if n.IsRaw() {
			w.write(string(value))
		} else {
			w.write(resolve(value))
		}
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.write("\n")
		}
	case *ast.String:
		w.write(string(n.Value))
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Emphasis:
		w.styled(map[int]string{1: "_", 2: "*"}[min(n.Level, 2)], n)
	case *extast.Strikethrough:
		w.styled("~", n)
	case *ast.Link:
		w.link(n, string(n.Destination))
	case *ast.Image:
		w.link(n, string(n.Destination))
	case *ast.AutoLink:
		w.write(string(n.Label(w.source)))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			w.write(string(segment.Value(w.source)))
		}
	case *extast.TaskCheckBox:
		w.write(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked])
	default:
		w.inlines(n)
	}
}

// resolve undoes backslash escapes and entities in ordinary text.
func resolve(value []byte) string {
	if !bytes.ContainsAny(value, `\&`) {
		return string(value)
	}
	return tidy(html.UnescapeString(string(util.UnescapePunctuations(value))))
}

// styled writes n between two marks, where WhatsApp takes them as marks: at
// the borders of a word, on one line, around text without marks of their kind.
func (w *writer) styled(mark string, n ast.Node) {
	inner := &writer{source: w.source, lead: w.lead, bold: w.bold || mark == "*"}
	inner.inlines(n)
	s := inner.out.String()
	before, after := w.last, firstRune(n.NextSibling(), w.source)
	switch {
	case strings.TrimSpace(s) != s, s == "", strings.Contains(s, mark), strings.Contains(s, "\n"),
		mark == "*" && w.bold, isWord(before), isWord(after):
	default:
		s = mark + s + mark
	}
	w.out.WriteString(s) // it has its leads already
	if inner.last != 0 {
		w.last = inner.last
	}
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// firstRune is the first character of n, as far as that is easy to tell.
func firstRune(n ast.Node, source []byte) rune {
	if t, ok := n.(*ast.Text); ok {
		if v := t.Segment.Value(source); len(v) > 0 {
			r, _ := utf8.DecodeRune(v)
			return r
		}
	}
	return 0
}

func (w *writer) codeSpan(n ast.Node) {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			b.Write(t.Segment.Value(w.source))
		}
	}
	code := strings.ReplaceAll(b.String(), "\n", " ")
	if !strings.Contains(code, "`") {
		code = "`" + code + "`"
	}
	w.write(code)
}

// link writes the words and where they point: WhatsApp has no hidden links.
func (w *writer) link(n ast.Node, destination string) {
	destination = resolve([]byte(destination))
	inner := &writer{source: w.source, lead: w.lead, last: w.last, bold: w.bold}
	inner.inlines(n)
	words := inner.out.String()
	w.out.WriteString(words)
	w.last = inner.last
	switch {
	case destination == "" || strings.TrimSpace(words) == destination || "mailto:"+strings.TrimSpace(words) == destination:
	case strings.TrimSpace(words) == "":
		w.write(destination)
	default:
		w.write(" (" + destination + ")")
	}
}

// mostWidth is what a phone shows of a line of code without breaking it.
const mostWidth = 36

// table writes a narrow table as code, so that its columns stand, and a wide
// one as a list of its rows.
func (w *writer) table(n *extast.Table) {
	var rows [][]string
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			inner := &writer{source: w.source, bold: true}
			inner.inlines(cell)
			cells = append(cells, strings.TrimSpace(inner.out.String()))
			if i := len(cells) - 1; i < len(widths) {
				widths[i] = max(widths[i], uniseg.StringWidth(cells[i]))
			} else {
				widths = append(widths, uniseg.StringWidth(cells[i]))
			}
		}
		rows = append(rows, cells)
	}
	total := 0
	for _, width := range widths {
		total += width + 2
	}
	if total > mostWidth {
		w.write(asList(rows))
		return
	}
	var b strings.Builder
	for _, cells := range rows {
		line := ""
		for i, cell := range cells {
			line += cell + strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	w.code(b.String())
}

// asList writes every row as its cells behind the names of their columns.
func asList(rows [][]string) string {
	if len(rows) == 1 {
		return strings.Join(rows[0], " · ")
	}
	var lines []string
	for _, cells := range rows[1:] {
		var named []string
		for i, cell := range cells {
			switch {
			case cell == "":
			case i > 0 && i < len(rows[0]) && rows[0][i] != "":
				named = append(named, rows[0][i]+": "+cell)
			default:
				named = append(named, cell)
			}
		}
		lines = append(lines, "- "+strings.Join(named, "; "))
	}
	return strings.Join(lines, "\n")
}
