package telegram

import (
	"bytes"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// page is one message's text in both forms: with markup, and as people see it.
type page struct{ html, plain string }

// markdown parses what models write; safe for concurrent use. Definitions of
// links ("[1]: https://…") are left as text: their uses may stand in another
// message, and a definition without one would vanish.
var markdown = goldmark.New(
	goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
	)),
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
).Parser()

// render turns Markdown into the small HTML that Telegram knows. The HTML is
// always well-formed, because tags are only written in pairs around what they
// hold. Neither form is ever empty. Should the parser panic, as parsers of
// other people's text sometimes do, the text is shown as it was written: an
// answer must not be lost for its looks.
func render(md string) (p page) {
	defer func() {
		if recover() != nil {
			text := tidy(md)
			p = page{html: escapeHTML.Replace(text), plain: text}
		}
	}()
	return typeset(tidy(md))
}

// typeset is render for tidy text.
func typeset(md string) page {
	source := []byte(md)
	w := &writer{source: source}
	w.blocks(markdown.Parse(text.NewReader(source)))
	if strings.TrimSpace(w.plain.String()) == "" {
		return page{html: "…", plain: "…"}
	}
	return page{html: w.html.String(), plain: w.plain.String()}
}

// tidy makes text fit for a chat: UTF-8, one kind of line end, no control
// characters, and none that turn the reading direction of what follows.
func tidy(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == 0x2028 || r == 0x2029:
			return '\n'
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff:
			return -1
		}
		return r
	}, s)
}

var (
	escapeHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	special    = regexp.MustCompile("[\\\\`*_{}\\[\\]()#+.!|<>~&-]")
)

// escapeMarkdown makes s mean itself.
func escapeMarkdown(s string) string { return special.ReplaceAllString(s, `\$0`) }

// writer walks a parsed text and writes both forms side by side.
type writer struct {
	source []byte
	html   strings.Builder
	plain  strings.Builder
	quoted bool // inside a blockquote, which Telegram does not nest
	linked bool // inside a link
	raw    bool // inside code, where Telegram allows no other markup
	indent string
}

// write adds visible text. Line breaks carry the indentation of lists.
func (w *writer) write(s string) {
	if w.indent != "" && !w.raw {
		s = strings.ReplaceAll(s, "\n", "\n"+w.indent)
	}
	w.plain.WriteString(s)
	_, _ = escapeHTML.WriteString(&w.html, s) // a Builder does not fail
}

// in writes body between <tag> and </tag>, or without them inside code.
func (w *writer) in(tag, attribute string, body func()) {
	if w.raw {
		body()
		return
	}
	w.html.WriteString("<" + tag + attribute + ">")
	body()
	w.html.WriteString("</" + tag + ">")
}

// blocks writes the children of n with the space between them that they need.
func (w *writer) blocks(n ast.Node) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if child.PreviousSibling() != nil {
			w.gap(child)
		}
		w.block(child)
	}
}

// gap writes what separates n from the block before it. A code block is not
// indented: Telegram would show the spaces as a line of their own.
func (w *writer) gap(n ast.Node) {
	space := "\n\n"
	if tight(n) {
		space = "\n"
	}
	switch n.Kind() {
	case ast.KindCodeBlock, ast.KindFencedCodeBlock, extast.KindTable:
		w.verbatim(space)
	default:
		w.write(space)
	}
}

// tight reports whether n follows what is before it without an empty line.
func tight(n ast.Node) bool {
	parent, ok := n.Parent().(*ast.ListItem)
	if !ok {
		_, item := n.(*ast.ListItem)
		return item
	}
	list, ok := parent.Parent().(*ast.List)
	return !ok || list.IsTight || n.Kind() == ast.KindList
}

func (w *writer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		w.in("b", "", func() { w.inlines(n) })
	case *ast.Paragraph, *ast.TextBlock:
		w.inlines(n)
	case *ast.Blockquote:
		w.quote(n)
	case *ast.List:
		w.blocks(n)
	case *ast.ListItem:
		w.item(n)
	case *ast.FencedCodeBlock:
		w.code(w.lines(n), language(n.Language(w.source)))
	case *ast.CodeBlock:
		w.code(w.lines(n), "")
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

func (w *writer) quote(n ast.Node) {
	if w.quoted {
		w.write("» ")
		w.blocks(n)
		return
	}
	w.quoted = true
	w.in("blockquote", "", func() { w.blocks(n) })
	w.quoted = false
}

func (w *writer) item(n *ast.ListItem) {
	mark := "• "
	if list, ok := n.Parent().(*ast.List); ok && list.IsOrdered() {
		at := list.Start
		for before := n.PreviousSibling(); before != nil; before = before.PreviousSibling() {
			at++
		}
		mark = strconv.Itoa(at) + ". "
	}
	w.write(mark)
	outer := w.indent
	if len(w.indent) < 16 { // deeper ones stay where they are
		w.indent += strings.Repeat(" ", min(len([]rune(mark)), 4))
	}
	w.blocks(n)
	w.indent = outer
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

var languageForm = regexp.MustCompile(`^[A-Za-z0-9_+#.-]{1,32}`)

// language is what Telegram is told about a code block: the first word, if it
// looks like one.
func language(info []byte) string { return languageForm.FindString(string(info)) }

func (w *writer) code(body, lang string) {
	body = strings.TrimRight(body, "\n")
	w.in("pre", "", func() {
		inside := func() { w.verbatim(body) }
		if lang == "" {
			inside()
			return
		}
		w.in("code", ` class="language-`+escapeHTML.Replace(lang)+`"`, inside)
	})
}

// verbatim writes s without indentation or markup.
func (w *writer) verbatim(s string) {
	outer := w.raw
	w.raw = true
	w.write(s)
	w.raw = outer
}

// inlines writes the children of n.
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
		w.in("code", "", func() { w.verbatim(w.codeSpan(n)) })
	case *ast.Emphasis:
		w.in(map[int]string{1: "i", 2: "b"}[min(n.Level, 2)], "", func() { w.inlines(n) })
	case *extast.Strikethrough:
		w.in("s", "", func() { w.inlines(n) })
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
	var b bytes.Buffer
	out := newHTMLWriter(&b)
	gmhtml.DefaultWriter.Write(out, value)
	_ = out.Flush() // into a Buffer
	return tidy(html.UnescapeString(b.String()))
}

func (w *writer) codeSpan(n ast.Node) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			b.Write(t.Segment.Value(w.source))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// link writes n as a link if Telegram should open it; else, so that nothing
// is lost, its words and where it points.
func (w *writer) link(n ast.Node, destination string) {
	destination = resolve([]byte(destination))
	before := w.plain.Len()
	if !opens(destination) || w.linked {
		w.inlines(n)
		if words := w.plain.String()[before:]; destination != "" && words != destination {
			w.write(" (" + destination + ")")
		}
		return
	}
	w.linked = true
	w.in("a", ` href="`+escapeHTML.Replace(destination)+`"`, func() {
		w.inlines(n)
		if strings.TrimSpace(w.plain.String()[before:]) == "" {
			w.write(destination)
		}
	})
	w.linked = false
}

// opens reports whether a link may be one that a tap opens.
func opens(destination string) bool {
	u, err := url.Parse(destination)
	if err != nil || strings.ContainsAny(destination, " \n\t<>\"") {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.Host != ""
	case "tg":
		return true
	}
	return false
}
