package telegram

import (
	"net/url"
	"strconv"
	"strings"

	"dragoman/channels/markup"
	"dragoman/internal/lazily"
)

// page is one message's text in both forms: with markup, and as people see it.
type page struct {
	html, plain string
	under       button
}

// marks is how many entities Telegram makes of p: a language is a part of its
// block.
func (p page) marks() int {
	return strings.Count(p.html, "</") - strings.Count(p.html, "</code></pre>")
}

// render turns Markdown into the small HTML that Telegram knows. The HTML is
// always well-formed, because tags are only written in pairs around what they
// hold. Neither form is ever empty. Should the parser panic, the text is shown
// as it was written.
func render(md string) (p page) {
	defer func() {
		if recover() != nil {
			text := markup.Tidy(md)
			p = page{html: escapeHTML.Replace(text), plain: text}
		}
	}()
	return typeset(markup.Tidy(md))
}

// typeset is render for tidy text.
func typeset(md string) page {
	p := &pen{}
	markup.Walk(md, p)
	if strings.TrimSpace(p.plain.String()) == "" {
		return page{html: "…", plain: "…"}
	}
	return page{html: p.html.String(), plain: p.plain.String()}
}

var escapeHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// pen writes both forms of a text side by side.
type pen struct {
	html   strings.Builder
	plain  strings.Builder
	quoted bool // inside a blockquote, which Telegram does not nest
	linked bool // inside a link
	raw    bool // inside code, where Telegram allows no other markup
	indent string
}

// Words adds visible text. Line breaks carry the indentation of lists.
func (p *pen) Words(s string) {
	if p.indent != "" && !p.raw {
		s = strings.ReplaceAll(s, "\n", "\n"+p.indent)
	}
	p.plain.WriteString(s)
	_, _ = escapeHTML.WriteString(&p.html, s) // a Builder does not fail
}

// in writes body between <tag> and </tag>, or without them inside code.
func (p *pen) in(tag, attribute string, body func()) {
	if p.raw {
		body()
		return
	}
	p.html.WriteString("<" + tag + attribute + ">")
	body()
	p.html.WriteString("</" + tag + ">")
}

// Gap keeps items together, and does not indent a code block: Telegram would
// show the spaces as a line of their own.
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

// tags are the HTML for what is marked by a pair of tags alone.
var tags = map[markup.Kind]string{markup.Heading: "b", markup.Bold: "b", markup.Italic: "i", markup.Struck: "s"}

// Within writes body with the tags that m has.
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

// A quote that is longer than this is shown folded.
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
	if len(p.indent) < 16 { // deeper ones stay where they are
		p.indent += strings.Repeat(" ", min(len([]rune(mark)), 4))
	}
	body(p)
	p.indent = outer
}

// tab is how a tab in code is shown; Telegram's would be one space.
const tab = "    "

var languageForm = lazily.Compile(`^[A-Za-z0-9_+#.-]{1,32}`)

// Code writes a block or a span. Telegram is told a block's language, if that
// looks like one.
func (p *pen) Code(c markup.Code) {
	c.Text = strings.ReplaceAll(c.Text, "\t", tab)
	if !c.Block && p.linked {
		p.verbatim(c.Text) // Telegram keeps one of link and code: the address is worth more
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

// link writes body as a link if Telegram should open it; else, so that nothing
// is lost, its words and where it points.
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

// mostColumn bounds how wide a column is made: one long cell should not push
// every other row off the screen.
const mostColumn = 30

// Table writes a table with aligned columns in fixed width, since Telegram
// has none.
func (p *pen) Table(rows [][]markup.Body) {
	grid := markup.Lay(rows, func(body markup.Body) string {
		inner := &pen{}
		body(inner)
		return strings.Join(strings.Fields(inner.plain.String()), " ")
	})
	var rule []string
	for i, width := range grid.Widths {
		grid.Widths[i] = min(width, mostColumn)
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
