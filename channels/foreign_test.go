package channels_test

import (
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/markup"
)

// Whatever a server says is shown letter for letter, and nothing of it is markup.
func TestForeign(t *testing.T) {
	for words, want := range map[string]string{
		"":                                    "",
		" \n ":                                "",
		"no such key":                         "no such key",
		"[click](http://evil.example) here":   "[click](http://evil.example) here",
		"pay at\n\n# http://evil.example now": "pay at # http://evil.example now",
		"**bold** `code` and ``two``":         "**bold** `code` and ``two``",
		"`starts and ends`":                   "`starts and ends`",
		"```sh\nrm -rf /\n```":                "```sh rm -rf / ```",
		"![x](http://evil.example/p.png)":     "![x](http://evil.example/p.png)",
		"<b>raw</b> | a | b \\":               "<b>raw</b> | a | b \\",
		"{\"error\": \"\x00\xff\u202e\"}":     "{\"error\": \"\uFFFD\"}",
	} {
		var p codePen
		md := "The server says: " + channels.Foreign(words) + " Bye."
		markup.Walk(markup.Tidy(md), &p)
		got := strings.TrimSuffix(strings.TrimPrefix(p.shown, "The server says: "), " Bye.")
		if got != want || p.code != want || p.marks != 0 {
			t.Errorf("Foreign(%q) is shown as %q, with %q as code and %d marks; want %q", words, got, p.code, p.marks, want)
		}
	}
}

// codePen notes what is shown, what of it as code, and how many other marks there are.
type codePen struct {
	shown, code string
	marks       int
}

func (p *codePen) Words(s string)        { p.shown += s }
func (p *codePen) Gap(markup.Gap)        { p.marks++ }
func (p *codePen) Table([][]markup.Body) { p.marks++ }

func (p *codePen) Within(_ markup.Mark, body markup.Body) {
	p.marks++
	body(p)
}

func (p *codePen) Code(c markup.Code) {
	p.shown += c.Text
	p.code += c.Text
}
