package markup_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/channels/markup"

	"github.com/google/go-cmp/cmp"
)

var seeds = []string{
	"plain", "", " \n ", "**bold** *it* ~~gone~~ `code` [a](https://b.c?d=1&e=2)", "# H\n\ntext\n---\n> q\n> > qq",
	"1. a\n   ```go\n   x\n   ```\n2. b\n    - c\n", "|a|b|\n|-|-|\n|1|2|\n", "<b>raw</b> <!-- c --> &amp; &lt; \\* &#0; &#x1F600;",
	"```\nnever closed", "~~~go x\n```\n~~~", "[x]: http://y\n\n[x]", "![](tg://user?id=1) ![alt](javascript:x)", "<https://e.org> <a@b.c>",
	"- [ ] todo\n- [x] done", "\x00\xff\u202e\u2028", "👨‍👩‍👧‍👦🇮🇹", "* * *\n***a***", "[a[b](https://c)](https://d)", "`` ` ``", "<script>\n\nx",
	"    indented\n\n\tcode", "a\\\nb  \nc", "> ```\n> x\n", "|`a|b`|c|\n|-|-|", "\"quotes\" <a href=\"x\">", "- a\n\n- b\n  > c", "```\n````\n`x",
	`\(a^2\) $$x$$ \[ y`, "$$\na\n- b\n$$ $c_1$", "> \\[\n> x \\\\\n> \\]", "\\begin{a}\nx\\end{a} \ufdd0\ufdd1", "\ufdd00\ufdd1 \\(x\\)",
}

// pen records its calls.
type pen struct{ b strings.Builder }

func (p *pen) Words(s string) { p.b.WriteString(s) }

func (p *pen) Gap(g markup.Gap) {
	p.b.WriteString("\n")
	for name, is := range map[string]bool{"-": g.Item, "`": g.Code} {
		if is {
			p.b.WriteString(name)
		}
	}
	if !g.Tight {
		p.b.WriteString("\n")
	}
}

var names = map[markup.Kind]string{
	markup.Heading: "h", markup.Bold: "b", markup.Italic: "i", markup.Struck: "s", markup.Link: "a", markup.Quote: "q", markup.Item: "li",
}

func (p *pen) Within(m markup.Mark, body markup.Body) {
	p.b.WriteString("<" + names[m.Kind])
	if m.To != "" {
		p.b.WriteString(" to " + m.To)
	}
	if m.Ordered {
		fmt.Fprintf(&p.b, " %d", m.Number)
	}
	if m.Next != 0 {
		p.b.WriteString(" before " + string(m.Next))
	}
	p.b.WriteString(">")
	body(p)
	p.b.WriteString("</>")
}

func (p *pen) Code(c markup.Code) {
	fmt.Fprintf(&p.b, "{%s %v:%s}", c.Language, c.Block, c.Text)
}

func (p *pen) Table(rows [][]markup.Body) {
	g := markup.Lay(rows, func(body markup.Body) string {
		var cell pen
		body(&cell)
		return cell.b.String()
	})
	for i := range g.Rows {
		fmt.Fprintf(&p.b, "%s;", g.Line(i, "|"))
	}
}

func walk(md string) string {
	var p pen
	markup.Walk(markup.Tidy(md), &p)
	return p.b.String()
}

func TestWalk(t *testing.T) {
	tests := []struct{ name, md, want string }{
		{"styles", "**b** *i*_x ~~s~~.", "<b before  >b</> <i before _>i</>_x <s before .>s</>."},
		{"both", "***x***", "<i><b>x</></>"},
		{"products", "2*3*4=24, 2*x+2*y, n*2*m, 2**8**2, **2*3** *2 pi*.", "2*3*4=24, 2*x+2*y, n*2*m, 2**8**2, <b before  >2*3</> <i before .>2 pi</>."},
		{"a bold number", "**5**x **2 + 3**", "<b before x>5</>x <b>2 + 3</>"},
		{"within a word", "un*believ*able 这*重*点", "un<i before a>believ</>able 这<i before 点>重</>点"},
		{"heading and text", "# A *b*\n\nc", "<h>A <i>b</></>\n\nc"},
		{"tight list", "- a\n- b", "<li>a</>\n-<li>b</>"},
		{"loose list", "- a\n\n- b", "<li>a</>\n-\n<li>b</>"},
		{"numbers", "7. a\n8. b", "<li 7>a</>\n-<li 8>b</>"},
		{"code in a list", "- a\n  ```go\n  b\n  ```", "<li>a\n`{go true:b\n}</>"},
		{"code without a fence", "    a\n", "{ true:a\n}"},
		{"code span", "a `b\nc`", "a { false:b c}"},
		{"quotes", "> a\n> > b", "<q>a\n\n<q>b</></>"},
		{"link", `[a](https://b.c/?d=1&amp;e "f")`, "<a to https://b.c/?d=1&e>a “f”</>"},
		{"text at a fence", "``` go x", "{ true:go x\n}"},
		{"picture", "![a](b)", "<a to b>a</>"},
		{"table", "|a|long|\n|-|-|\n|**1**||", "a      |long;<b>1</>|;"},
		{"escaped entity", `\&amp; &amp;amp; \*`, "&amp; &amp; *"},
		{"definition", "[1]: https://go.dev", "[1]: https://go.dev"},
		{"html", "<div>\nx\n</div>\n\n<b>", "<div>\nx\n</div>\n\n<b>"},
		{"breaks", "a<br>b<br/>c<BR />\nd <b>", "a\nb\nc\nd <b>"},
		{"a break alone", "a\n\n<br>\n\nb\n\n<br>\nc", "a\n\n\n\nb\n\nc"},
		{"breaks in cells", "|a<br>b|c|\n|-|-|\n|1<br />2|3|", "a b|c;1 2|3;"},
		{"a break in code", "`a<br>b`\n\n    <br>", "{ false:a<br>b}\n`\n{ true:<br>\n}"},
		{"formulas", `\(a^2\), \[ E \] and \(x*y*z\): **\(b_1\)**`, `\(a^2\), \[ E \] and \(x*y*z\): <b>\(b_1\)</>`},
		{"a formula in lines", "so\n$$\na \\, b \\\\\n- c\n# d\n$$\n*x*", "so\n$$\na \\, b \\\\\n- c\n# d\n$$\n<i>x</>"},
		{"a formula in a list", "- one\n  \\[\n  a = b \\, c\n  \\]\n- two", "<li>one\n\\[\na = b \\, c\n\\]</>\n-<li>two</>"},
		{"a formula in a quote", "> \\[\n> a = b\n> \\]\n> *c*", "<q>\\[\na = b\n\\]\n<i>c</></>"},
		{"an environment", "\\begin{align}\na &= b \\\\\n\\end{align}", "\\begin{align}\na &= b \\\\\n\\end{align}"},
		{"a dollar", `$\{a_1\}$ costs $5 *and* $6`, `$\{a_1\}$ costs $5 <i before  >and</> $6`},
		{"a formula in a cell", "|a|b|\n|-|-|\n|\\(|x|\\)|c|", "a      |b;\\(|x|\\)|c;"},
		{"a formula in a link", `[\(a\)](https://b.c)`, `<a to https://b.c>\(a\)</>`},
		{"no formulas", `\[sic\] \[x\](y) 5\$ \*a\* \(open \\(b\\)`, `[sic] [x](y) 5$ *a* (open \(b\)`},
		{"delimiters in code", "`\\(` is closed by `\\)`, *so*\n```\n\\[\n```\n*x* \\]", "{ false:\\(} is closed by { false:\\)}, <i>so</>\n`\n{ true:\\[\n}\n\n<i before  >x</> ]"},
		{"an empty line ends no formula", "\\[ a\n\n*b* \\]", "[ a\n\n<i before  >b</> ]"},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, walk(tt.md)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzWalk checks that the output is valid text and has every letter of the input.
func FuzzWalk(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, md string) {
		got := walk(md)
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		if strings.ContainsAny(md, "[]()|&\\~`") {
			return // cells too many and a second word behind a fence are left out
		}
		rest := letters(got)
		for _, r := range letters(md) {
			i := strings.IndexRune(rest, r)
			if i < 0 {
				t.Fatalf("%q lost the letter %q: %q", md, r, got)
			}
			rest = rest[i+utf8.RuneLen(r):]
		}
	})
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{" a\n\tb ": "a b", "a\u202eb\u200d\x00c\xff": "a b c", "": ""} {
		if got := markup.Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"}, {"", 1, ""}} {
		if got := markup.Clip(tt.in, tt.n); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}
