// Package webpage turns a page of the web, or a chapter of a book, into the text that
// a person would read.
//
// The promise: the text is UTF-8 without control characters, in the page's order, with
// its headings, lists, tables and links marked as in Markdown. Scripts, styles, menus
// and what is hidden are left out. Nothing is fetched.
//
// Failures: what is no text is named by its media type. A page that is nested too deep
// is none. Bytes that are no text of its character set become replacement characters.
// A page can be made so that reading it takes gigabytes: what is foreign and not short is
// read by a child ([Serve]), which has limits.
//
// Goroutines: none.
package webpage

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// Page is a document as a person would read it.
type Page struct {
	Title  string
	Text   string
	Binary string // its media type, if it is not text
}

// Read converts a body to text. contentType is the server's; if it is not usable, the
// first bytes of the body decide. Links are read from base.
func Read(base *url.URL, contentType string, body []byte) Page {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || media == "" || media == "application/octet-stream" {
		contentType = http.DetectContentType(body)
		media, _, _ = mime.ParseMediaType(contentType)
	}
	switch {
	case media == "text/html" || media == "application/xhtml+xml":
		return htmlPage(base, toUTF8(body, contentType))
	case isText(media):
		return Page{Text: tidyText(string(toUTF8(body, contentType)))}
	}
	return Page{Binary: media}
}

func isText(media string) bool {
	switch media {
	case "application/json", "application/xml", "application/javascript", "application/x-yaml", "application/yaml", "application/toml":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") && media != "image/svg+xml"
}

// toUTF8 decodes body by its declared or guessed character set. Invalid bytes become
// the replacement character.
func toUTF8(body []byte, contentType string) []byte {
	encoding, name, certain := charset.DetermineEncoding(body[:min(len(body), 1024)], contentType)
	// The guess is windows-1252 if the first kilobyte is ASCII, though most such
	// pages are UTF-8.
	if name == "utf-8" || !certain && utf8.Valid(body) {
		return bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	decoded, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return bytes.ToValidUTF8(decoded, []byte("\uFFFD"))
}

// tidyText drops control characters and trailing white space, and reduces several
// empty lines to one.
func tidyText(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\uFEFF' {
			return -1
		}
		return r
	}, s)
	var b strings.Builder
	empty := 0
	for line := range strings.Lines(s) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if line == "" {
			empty++
			continue
		}
		if b.Len() > 0 {
			b.WriteString(strings.Repeat("\n", min(empty, 1)+1))
		}
		empty = 0
		b.WriteString(line)
	}
	return b.String()
}

func htmlPage(base *url.URL, body []byte) Page {
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return Page{Binary: "a page that is nested too deep"}
	}
	w := &writer{base: base}
	w.findTitle(root)
	content := root
	if main := mainPart(root); main != nil {
		content = main
	}
	w.node(content)
	return Page{Title: w.title, Text: tidyText(w.b.String())}
}

// mainPart returns the only <main> or else the only <article> of a document, if it
// has enough text to be read alone; otherwise nil.
func mainPart(root *html.Node) *html.Node {
	for _, tag := range []atom.Atom{atom.Main, atom.Article} {
		var found []*html.Node
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && n.DataAtom == tag {
				found = append(found, n)
			}
		}
		if len(found) == 1 && textLength(found[0]) > 200 {
			return found[0]
		}
	}
	return nil
}

// textLength counts the bytes of visible text below n.
func textLength(n *html.Node) int {
	length := 0
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.DataAtom != atom.Script && d.Parent.DataAtom != atom.Style {
			length += len(strings.TrimSpace(d.Data))
		}
	}
	return length
}

// writer converts a document to text, in document order.
type writer struct {
	b     strings.Builder
	base  *url.URL
	title string
	// pre counts the enclosing elements that keep white space.
	pre int
	// gap says that white space was read and not yet written.
	gap bool
}

func (w *writer) findTitle(root *html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == atom.Title && n.FirstChild != nil {
			w.title = fmt.Sprintf("%.200s", strings.Join(strings.Fields(tidyText(n.FirstChild.Data)), " "))
			return
		}
	}
}

// hidden are elements whose content is not part of the page's text.
var hidden = map[atom.Atom]bool{
	atom.Head: true, atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true,
	atom.Svg: true, atom.Iframe: true, atom.Object: true, atom.Canvas: true, atom.Nav: true,
	atom.Button: true, atom.Select: true, atom.Textarea: true, atom.Dialog: true,
}

var blocks = map[atom.Atom]string{
	atom.P: "\n\n", atom.Div: "\n", atom.Section: "\n\n", atom.Article: "\n\n", atom.Main: "\n", atom.Header: "\n",
	atom.Footer: "\n\n", atom.Aside: "\n\n", atom.H1: "\n\n", atom.H2: "\n\n", atom.H3: "\n\n", atom.H4: "\n\n",
	atom.H5: "\n\n", atom.H6: "\n\n", atom.Ul: "\n\n", atom.Ol: "\n\n", atom.Li: "\n", atom.Dl: "\n\n", atom.Dt: "\n",
	atom.Dd: "\n", atom.Table: "\n\n", atom.Tr: "\n", atom.Pre: "\n\n", atom.Blockquote: "\n\n", atom.Hr: "\n\n",
	atom.Form: "\n", atom.Fieldset: "\n", atom.Figure: "\n\n", atom.Figcaption: "\n", atom.Details: "\n", atom.Summary: "\n",
	atom.Address: "\n", atom.Body: "\n",
}

// openings are written before the text of some elements.
var openings = map[atom.Atom]string{
	atom.H1: "# ", atom.H2: "## ", atom.H3: "### ", atom.H4: "#### ", atom.H5: "##### ", atom.H6: "###### ",
	atom.Li: "- ", atom.Dd: "  ", atom.Td: "| ", atom.Th: "| ", atom.Hr: "---",
}

// node writes n and everything below it. The parser limits the depth.
func (w *writer) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.words(n.Data)
		return
	case html.ElementNode:
		aria := attribute(n, "aria-hidden")
		if hidden[n.DataAtom] || attribute(n, "hidden") != nil || aria != nil && strings.EqualFold(*aria, "true") {
			return
		}
	case html.CommentNode, html.DoctypeNode:
		return
	}
	around := blocks[n.DataAtom]
	w.line(around)
	if open := openings[n.DataAtom]; open != "" {
		w.flushGap()
		w.b.WriteString(open)
	}
	switch n.DataAtom {
	case atom.Br:
		w.line("\n")
	case atom.Img:
		if alt := attribute(n, "alt"); alt != nil && strings.TrimSpace(*alt) != "" {
			w.words("[image: " + *alt + "]")
		}
	case atom.Pre:
		w.pre++
		defer func() { w.pre-- }()
	}
	for child := range n.ChildNodes() {
		w.node(child)
	}
	w.link(n)
	if n.DataAtom == atom.Td || n.DataAtom == atom.Th {
		w.gap = true
	}
	w.line(around)
}

// words writes text, with white space reduced to one space outside of pre.
func (w *writer) words(s string) {
	if w.pre > 0 {
		w.flushGap()
		w.b.WriteString(s)
		return
	}
	for _, r := range s {
		if unicode.IsSpace(r) {
			w.gap = true
			continue
		}
		w.flushGap()
		w.b.WriteRune(r)
	}
}

// flushGap writes one space for the white space that was read before, but not at the
// beginning of a line.
func (w *writer) flushGap() {
	if w.gap && !w.endsWith("\n") && !w.endsWith(" ") && w.b.Len() > 0 {
		w.b.WriteByte(' ')
	}
	w.gap = false
}

// line ends the current line with s, unless nothing was written since.
func (w *writer) line(s string) {
	if s == "" {
		return
	}
	w.gap = false
	if w.b.Len() > 0 && !w.endsWith(s) {
		w.b.WriteString(s)
	}
}

func (w *writer) endsWith(s string) bool {
	// A builder's String shares its bytes, so this copies nothing.
	return strings.HasSuffix(w.b.String(), s)
}

func (w *writer) link(n *html.Node) {
	href := attribute(n, "href")
	if n.DataAtom != atom.A || href == nil {
		return
	}
	target, err := w.base.Parse(strings.TrimSpace(*href))
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.User != nil {
		return
	}
	here, there := *w.base, *target
	here.Fragment, there.Fragment = "", ""
	if here.String() == there.String() {
		return // a link within the page
	}
	text := target.String()
	if len(text) <= 300 {
		w.gap = true
		w.flushGap()
		w.b.WriteString("<" + text + ">")
	}
}

func attribute(n *html.Node, key string) *string {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return &n.Attr[i].Val
		}
	}
	return nil
}
