package speaking

import (
	"strings"
	"unicode/utf8"

	"dragoman/channels/markup"
)

// MostSpoken is how many characters of an answer are spoken: a minute and a half. Nobody can
// leaf through a voice message, so longer answers are written.
const MostSpoken = 1200

// Spoken is a text in Markdown as it is said aloud. It is false for an answer that people
// have to see: a long one, or one with code, a table, an address or a formula.
func Spoken(text string) (said string, can bool) {
	if utf8.RuneCountInString(text) > MostSpoken || strings.Contains(text, "$$") || strings.Contains(text, `\(`) || strings.Contains(text, `\[`) {
		return "", false
	}
	p := &pen{}
	markup.Walk(text, p)
	said = strings.Join(strings.Fields(p.out.String()), " ")
	return said, !p.seen && said != ""
}

// pen writes Markdown as words alone.
type pen struct {
	out  strings.Builder
	seen bool // something has to be seen
}

// Words adds visible text. An address is for the eyes.
func (p *pen) Words(s string) {
	p.seen = p.seen || strings.Contains(s, "://") || strings.Contains(s, "www.")
	p.out.WriteString(s)
}

// Gap ends a sentence, so that the voice pauses.
func (p *pen) Gap(markup.Gap) {
	if written := strings.TrimSpace(p.out.String()); written != "" && !strings.ContainsAny(written[len(written)-1:], ".!?:,;") {
		p.out.WriteString(".")
	}
	p.out.WriteString("\n")
}

// Within writes what is inside, whatever it looks like.
func (p *pen) Within(m markup.Mark, body markup.Body) {
	p.seen = p.seen || m.Kind == markup.Link
	body(p)
}

// Code is said if it is a word in a line.
func (p *pen) Code(c markup.Code) {
	p.seen = p.seen || c.Block
	p.Words(c.Text)
}

// Table is for the eyes.
func (p *pen) Table([][]markup.Body) { p.seen = true }
