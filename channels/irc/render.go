package irc

import (
	"math"
	"strings"

	"dragoman/channels/markup"
)

// The codes that switch a style on and off. A line ends all of them.
const (
	codeBold   = "\x02"
	codeItalic = "\x1d"
	codeStruck = "\x1e"
	styles     = codeBold + codeItalic + codeStruck
)

// verbatim begins a line of code, whose spaces matter. It is IRC's code for
// monospace and is not sent, because many clients show it as garbage.
const verbatim = "\x11"

// render turns Markdown into lines of any length, as IRC shows them. Only code keeps
// its empty lines. If the parser panics, the text is shown as written.
func render(md string) (lines []string) {
	defer func() {
		if recover() != nil {
			lines = shownLines(markup.Tidy(md))
		}
	}()
	p := &pen{}
	for _, piece := range markup.Split(md, markup.Ruler{Most: math.MaxInt}) { // one piece, with every address where it is used
		markup.Walk(piece, p)
	}
	return shownLines(p.out.String())
}

// shownLines splits text into lines and drops those without visible characters. A
// style that is still on at the end of a line continues on the next.
func shownLines(text string) (lines []string) {
	on := ""
	for line := range strings.SplitSeq(text, "\n") {
		begins := on
		on = stylesAfter(on, line)
		switch {
		case strings.HasPrefix(line, verbatim):
			lines = append(lines, line)
		case !blank(line):
			lines = append(lines, begins+strings.TrimRight(line, " "+styles))
		}
	}
	return lines
}

// stylesAfter returns the styles that are on after text, if those in on are before it.
func stylesAfter(on, text string) string {
	for i := range len(text) {
		code := text[i : i+1]
		switch {
		case !strings.Contains(styles, code):
		case strings.Contains(on, code):
			on = strings.ReplaceAll(on, code, "")
		default:
			on += code
		}
	}
	return on
}

// pen writes Markdown as IRC formatting codes. Codes end with the line, so it
// repeats those that are on.
type pen struct {
	out  strings.Builder
	lead markup.Lead
	on   string // the codes of the styles that are on
}

// Words adds visible text. A tab is one space, because many clients show none.
func (p *pen) Words(s string) {
	s = strings.ReplaceAll(s, "\t", " ")
	p.out.WriteString(strings.ReplaceAll(s, "\n", "\n"+string(p.lead)))
}

// Gap begins a new line: IRC has no paragraphs.
func (p *pen) Gap(markup.Gap) { p.Words("\n") }

var codes = map[markup.Kind]string{markup.Heading: codeBold, markup.Bold: codeBold, markup.Italic: codeItalic, markup.Struck: codeStruck}

// Within writes body in its style.
func (p *pen) Within(m markup.Mark, body markup.Body) {
	switch {
	case p.lead.Indent(m, p, body):
	case m.Kind == markup.Link:
		p.link(m.To, body)
	default:
		p.styled(codes[m.Kind], body)
	}
}

func (p *pen) styled(code string, body markup.Body) {
	if strings.Contains(p.on, code) {
		body(p)
		return
	}
	outer := p.on
	p.on += code
	p.out.WriteString(code)
	body(p)
	p.out.WriteString(code)
	p.on = outer
}

// link writes the words and the address: IRC has no hidden links.
func (p *pen) link(to string, body markup.Body) {
	before := p.out.Len()
	body(p)
	switch words := strings.TrimSpace(stripCodes(p.out.String()[before:])); {
	case to == "" || words == to || "http://"+words == to || "https://"+words == to || "mailto:"+words == to:
	case words == "":
		p.Words(to)
	default:
		p.Words(" (" + to + ")")
	}
}

// Code shows the backticks, which people on IRC write themselves. A block of one
// line becomes a span: one line instead of three.
func (p *pen) Code(c markup.Code) {
	if !c.Block {
		p.Words("`" + c.Text + "`")
		return
	}
	lines := strings.Split(strings.ReplaceAll(c.Text, "\t", "    "), "\n")
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	switch {
	case len(lines) == 0:
	case len(lines) == 1 && !strings.Contains(lines[0], "`"):
		p.Words("`" + strings.TrimSpace(lines[0]) + "`")
	default:
		for _, line := range append(append([]string{"```" + c.Language}, lines...), "```") {
			if blank(line) {
				line = " " // IRC has no empty line, and this looks like one
			}
			p.out.WriteString("\n" + verbatim + line)
		}
	}
}

// Table writes the rows as in Markdown.
func (p *pen) Table(rows [][]markup.Body) {
	for i, row := range rows {
		if i > 0 {
			p.Words("\n")
		}
		for _, cell := range row {
			p.Words("| ")
			cell(p)
			p.Words(" ")
		}
		p.Words("|")
	}
}
