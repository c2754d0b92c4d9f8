//go:build !nowhatsapp

package whatsapp

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/channels/markup"
)

// render turns Markdown into WhatsApp's formatting: *bold*, _italic_, ~struck~, `code`,
// code blocks, quotes and lists. The result is never empty. If the parser panics, the
// text is sent as written.
func render(md string) (out string) {
	md = markup.Tidy(md)
	defer func() {
		if recover() != nil {
			out = md
		}
		if strings.TrimSpace(out) == "" {
			out = "…"
		}
	}()
	p := &pen{}
	markup.Walk(md, p)
	return strings.TrimRight(p.out.String(), " \n")
}

// pen writes Markdown in WhatsApp's markup. It remembers the last character,
// because a mark next to a letter counts as text.
type pen struct {
	out  strings.Builder
	last rune // the last character that was written, not counting marks
	lead markup.Lead
	bold bool // inside a heading or bold text; bold cannot be nested
}

// Words adds visible text.
func (p *pen) Words(s string) {
	if s == "" {
		return
	}
	p.last, _ = utf8.DecodeLastRuneInString(s)
	p.out.WriteString(strings.ReplaceAll(s, "\n", "\n"+string(p.lead)))
}

// Gap writes an empty line. In a tight list it writes only a line break.
func (p *pen) Gap(g markup.Gap) {
	if g.Tight {
		p.Words("\n")
		return
	}
	p.Words("\n\n")
}

// marks are the characters on both sides of styled text.
var marks = map[markup.Kind]string{markup.Heading: "*", markup.Bold: "*", markup.Italic: "_", markup.Struck: "~"}

// Within writes body with WhatsApp's marks.
func (p *pen) Within(m markup.Mark, body markup.Body) {
	switch {
	case p.lead.Indent(m, p, body):
	case m.Kind == markup.Link:
		p.link(m.To, body)
	default:
		p.styled(marks[m.Kind], m.Next, body)
	}
}

const fence = "```"

// Code writes a block or a span. Three backticks inside a block become three quotes,
// because they would end it.
func (p *pen) Code(c markup.Code) {
	switch {
	case c.Block:
		code := strings.ReplaceAll(strings.TrimRight(c.Text, "\n"), fence, "'''")
		if code != "" {
			p.Words(fence + "\n" + code + "\n" + fence)
		}
	case strings.Contains(c.Text, "`"):
		p.Words(c.Text)
	default:
		p.Words("`" + c.Text + "`")
	}
}

// styled writes body between two marks if WhatsApp recognizes them there: next to no
// letter or digit, on one line, and around text without the same mark.
func (p *pen) styled(mark string, next rune, body markup.Body) {
	inner := &pen{lead: p.lead, bold: p.bold || mark == "*"}
	body(inner)
	s := inner.out.String()
	switch {
	case strings.TrimSpace(s) != s, s == "", strings.Contains(s, mark), strings.Contains(s, "\n"),
		mark == "*" && p.bold, isWord(p.last), isWord(next):
	default:
		s = mark + s + mark
	}
	p.out.WriteString(s) // Its lines have their leads already.
	if inner.last != 0 {
		p.last = inner.last
	}
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// link writes the words and the address, because WhatsApp has no hidden links.
func (p *pen) link(to string, body markup.Body) {
	inner := &pen{lead: p.lead, last: p.last, bold: p.bold}
	body(inner)
	words := inner.out.String()
	p.out.WriteString(words)
	p.last = inner.last
	switch said := strings.TrimSpace(words); {
	case to == "" || said == to || "mailto:"+said == to:
	case said == "":
		p.Words(to)
	default:
		p.Words(" (" + to + ")")
	}
}

// maxTableWidth is how many characters of code fit on one line of a phone.
const maxTableWidth = 36

// Table writes a narrow table as code, so that its columns are aligned, and a wide one as
// a list of its rows.
func (p *pen) Table(rows [][]markup.Body) {
	grid := markup.Lay(rows, func(body markup.Body) string {
		inner := &pen{bold: true}
		body(inner)
		return strings.TrimSpace(inner.out.String())
	})
	total := 0
	for _, width := range grid.Widths {
		total += width + 2
	}
	if total > maxTableWidth {
		p.Words(tableAsList(grid.Rows))
		return
	}
	var b strings.Builder
	for i := range grid.Rows {
		b.WriteString(strings.TrimRight(grid.Line(i, "  "), " ") + "\n")
	}
	p.Code(markup.Code{Text: b.String(), Block: true})
}

// tableAsList writes each row as "column: cell" pairs. The names of the first column and
// of empty columns are in a line above.
func tableAsList(rows [][]string) string {
	if len(rows) == 1 {
		return strings.Join(rows[0], " · ")
	}
	var lines, above []string
	for i, name := range rows[0] {
		if name != "" && (i == 0 || !slices.ContainsFunc(rows[1:], func(cells []string) bool { return i < len(cells) && cells[i] != "" })) {
			above = append(above, name)
		}
	}
	if len(above) > 0 {
		lines = append(lines, strings.TrimSuffix(strings.Join(above, " · "), ":")+":")
	}
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

// maxCharacters bounds a piece. WhatsApp accepts sixteen times as much, but phones fold
// long messages, and a failed piece is less to send again.
const maxCharacters = 4000

// Split cuts markdown into pieces of at most 4000 characters.
func (c *Channel) Split(_ channels.Key, markdown string) []channels.Piece {
	return channels.Pieces(markup.Split(markdown, markup.Ruler{Most: maxCharacters}))
}
