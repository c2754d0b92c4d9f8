package telegram

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"

	"dragoman/channels"
	"dragoman/channels/markup"
	"dragoman/internal/lazily"
)

// page is the text of one message: as HTML, and as people see it.
type page struct {
	html, plain string
	keys        keys
}

// entities is how many entities Telegram makes of p. A code block and its language are
// one.
func (p page) entities() int {
	return strings.Count(p.html, "</") - strings.Count(p.html, "</code></pre>")
}

// render turns Markdown into the subset of HTML that Telegram allows. The HTML is always
// well-formed, because each pair of tags is written around its content. Neither form
// is ever empty. If the parser panics, the text is shown as written.
func render(md string) (p page) {
	defer func() {
		if recover() != nil {
			text := markup.Tidy(md)
			p = page{html: escapeHTML.Replace(text), plain: text}
		}
	}()
	return typeset(markup.Tidy(md))
}

// typeset is render for text from markup.Tidy, without the recovery.
func typeset(md string) page {
	p := &pen{}
	markup.Walk(md, p)
	if strings.TrimSpace(p.plain.String()) == "" {
		return page{html: "…", plain: "…"}
	}
	return page{html: p.html.String(), plain: p.plain.String()}
}

var escapeHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// pen writes Markdown as Telegram's HTML, and beside it as plain text, for when
// Telegram refuses the HTML.
type pen struct {
	html   strings.Builder
	plain  strings.Builder
	quoted bool // inside a blockquote; Telegram does not nest them
	linked bool // inside a link
	raw    bool // inside code; Telegram allows no other markup there
	indent string
}

// Words adds visible text. Inside a list its lines are indented.
func (p *pen) Words(s string) {
	if p.indent != "" && !p.raw {
		s = strings.ReplaceAll(s, "\n", "\n"+p.indent)
	}
	p.plain.WriteString(s)
	_, _ = escapeHTML.WriteString(&p.html, s) // a Builder does not fail
}

// in writes body between <tag> and </tag>. Inside code it leaves the tags out.
func (p *pen) in(tag, attribute string, body func()) {
	if p.raw {
		body()
		return
	}
	p.html.WriteString("<" + tag + attribute + ">")
	body()
	p.html.WriteString("</" + tag + ">")
}

// Gap writes the space between two blocks. List items get no empty line between them. A
// code block is not indented: Telegram would show the spaces as a separate line.
func (p *pen) Gap(g markup.Gap) {
	space := "\n\n"
	if g.Tight || g.Item {
		space = "\n"
	}
	if g.Code {
		p.verbatim(space)
		return
	}
	p.Words(space)
}

var tags = map[markup.Kind]string{markup.Heading: "b", markup.Bold: "b", markup.Italic: "i", markup.Struck: "s"}

// Within writes body with the markup of m.
func (p *pen) Within(m markup.Mark, body markup.Body) {
	switch m.Kind {
	case markup.Quote:
		p.quote(body)
	case markup.Item:
		p.item(m, body)
	case markup.Link:
		p.link(m.To, body)
	default:
		p.in(tags[m.Kind], "", func() { body(p) })
	}
}

// A longer quote is shown folded.
const (
	foldUnits = 600
	foldLines = 8
)

func (p *pen) quote(body markup.Body) {
	if p.quoted {
		p.Words("» ")
		body(p)
		return
	}
	inner := &pen{quoted: true, linked: p.linked, raw: p.raw, indent: p.indent}
	body(inner)
	attribute, plain := "", inner.plain.String()
	if units(plain) > foldUnits || strings.Count(plain, "\n") >= foldLines {
		attribute = " expandable"
	}
	p.in("blockquote", attribute, func() { p.html.WriteString(inner.html.String()) })
	p.plain.WriteString(plain)
}

func (p *pen) item(m markup.Mark, body markup.Body) {
	mark := "• "
	if m.Ordered {
		mark = strconv.Itoa(m.Number) + ". "
	}
	p.Words(mark)
	outer := p.indent
	if len(p.indent) < 16 { // deeper lists are not indented further
		p.indent += strings.Repeat(" ", min(len([]rune(mark)), 4))
	}
	body(p)
	p.indent = outer
}

// tab replaces a tab in code, which Telegram would show as one space.
const tab = "    "

var languageForm = lazily.Compile(`^[A-Za-z0-9_+#.-]{1,32}`)

// Code writes a block or a span. A block keeps its language if the name looks like
// one.
func (p *pen) Code(c markup.Code) {
	c.Text = strings.ReplaceAll(c.Text, "\t", tab)
	if !c.Block && p.linked {
		p.verbatim(c.Text) // Telegram shows either a link or code; the link is more useful.
		return
	}
	if !c.Block {
		p.in("code", "", func() { p.verbatim(c.Text) })
		return
	}
	p.in("pre", "", func() {
		inside := func() { p.verbatim(strings.TrimRight(c.Text, "\n")) }
		language := languageForm.Regexp().FindString(c.Language)
		if language == "" {
			inside()
			return
		}
		p.in("code", ` class="language-`+escapeHTML.Replace(language)+`"`, inside)
	})
}

// verbatim writes s without indentation or markup.
func (p *pen) verbatim(s string) {
	outer := p.raw
	p.raw = true
	p.Words(s)
	p.raw = outer
}

// link writes body as a link, if people should be able to open to. Otherwise it writes
// the words and the address, so that nothing is lost.
func (p *pen) link(to string, body markup.Body) {
	before := p.plain.Len()
	if !opens(to) || p.linked {
		body(p)
		if words := p.plain.String()[before:]; to != "" && words != to {
			p.Words(" (" + to + ")")
		}
		return
	}
	p.linked = true
	p.in("a", ` href="`+escapeHTML.Replace(to)+`"`, func() {
		body(p)
		if strings.TrimSpace(p.plain.String()[before:]) == "" {
			p.Words(to)
		}
	})
	p.linked = false
}

// opens reports whether a tap may open destination.
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

// maxColumn bounds the width of a column, so that one long cell does not push all rows
// off the screen.
const maxColumn = 30

// Table writes a table as a code block with aligned columns, because Telegram has no
// tables.
func (p *pen) Table(rows [][]markup.Body) {
	grid := markup.Lay(rows, func(body markup.Body) string {
		inner := &pen{}
		body(inner)
		return strings.Join(strings.Fields(inner.plain.String()), " ")
	})
	var rule []string
	for i, width := range grid.Widths {
		grid.Widths[i] = min(width, maxColumn)
		rule = append(rule, strings.Repeat("-", max(grid.Widths[i], 1)))
	}
	var b strings.Builder
	for i := range grid.Rows {
		b.WriteString(grid.Line(i, " | ") + "\n")
		if i == 0 {
			b.WriteString(strings.Join(rule, "-+-") + "\n")
		}
	}
	p.Code(markup.Code{Text: b.String(), Block: true})
}

// maxUnits is the most UTF-16 code units in one message.
const maxUnits = 4096

// Split cuts markdown into pieces of at most 4096 UTF-16 code units. Both the source
// and the rendered text fit, because tables grow when they are rendered.
func (c *Channel) Split(_ channels.Key, markdown string) []channels.Piece {
	return channels.Pieces(splitTo(markdown, maxUnits))
}

// maxEntities is the most entities (pieces of markup) in one message. Telegram drops
// the others.
const maxEntities = 100

// splitTo is Split with a limit of most units.
func splitTo(markdown string, most int) []string {
	return markup.Split(markdown, markup.Ruler{
		Most: most, Unit: utf16.RuneLen,
		Shown: func(piece string) int {
			p := render(piece)
			return max(units(p.plain), most*p.entities()/maxEntities)
		},
	})
}
