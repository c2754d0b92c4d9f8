package telegram_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/telegram"

	"github.com/google/go-cmp/cmp"
)

func TestRender(t *testing.T) {
	tests := map[string]struct{ md, html string }{
		"plain":           {"a < b & c", "a &lt; b &amp; c"},
		"formulas":        {`*so* \(a_1 \, *b* < c\)`, `<i>so</i> \(a_1 \, *b* &lt; c\)`},
		"emphasis":        {"**b** *i* _i_ ~~s~~ `c<d`", "<b>b</b> <i>i</i> <i>i</i> <s>s</s> <code>c&lt;d</code>"},
		"bold italic":     {"***x***", "<i><b>x</b></i>"},
		"heading":         {"# Title\n\ntext", "<b>Title</b>\n\ntext"},
		"lines":           {"one\ntwo  \nthree\\\nfour", "one\ntwo\nthree\nfour"},
		"code":            {"```go\nif a < b {\n}\n```", "<pre><code class=\"language-go\">if a &lt; b {\n}</code></pre>"},
		"code, no name":   {"```\nx\n```", "<pre>x</pre>"},
		"code, bad name":  {"```\"><b>\nx\n```", "<pre>&quot;&gt;&lt;b&gt;\nx</pre>"},
		"text at a fence": {"``` the answer is 42", "<pre>the answer is 42</pre>"},
		"a word at one":   {"```42", "<pre>42</pre>"},
		"code in a link":  {"[`f()`](https://a.example/)", "<a href=\"https://a.example/\">f()</a>"},
		"tabs":            {"```\n\tx\n```", "<pre>    x</pre>"},
		"code, not ended": {"```py\nprint(1)", "<pre><code class=\"language-py\">print(1)</code></pre>"},
		"list":            {"- a\n- b\n  - c\n", "• a\n• b\n  • c"},
		"numbers":         {"3. a\n4. b", "3. a\n4. b"},
		"code in a list":  {"1. do\n   ```sh\n   ls\n   ```\n2. done", "1. do\n<pre><code class=\"language-sh\">ls</code></pre>\n2. done"},
		"tasks":           {"- [x] a\n- [ ] b", "• ☑ a\n• ☐ b"},
		"quote":           {"> a\n> > b", "<blockquote>a\n\n» b</blockquote>"},
		"rule":            {"a\n\n---\n\nb", "a\n\n———\n\nb"},
		"quotes in link":  {"[here](https://e.org/?a=1&b=\"2\")", "here (https://e.org/?a=1&amp;b=&quot;2&quot;)"},
		"good link":       {"[here](https://e.org/?a=1&b=2)", "<a href=\"https://e.org/?a=1&amp;b=2\">here</a>"},
		"tg link":         {"[chat](tg://resolve?domain=x)", "<a href=\"tg://resolve?domain=x\">chat</a>"},
		"bad link":        {"[click](javascript:alert(1))", "click (javascript:alert(1))"},
		"relative link":   {"[file](docs/a.md)", "file (docs/a.md)"},
		"link definition": {"[1]: https://e.org", "[1]: https://e.org"},
		"image":           {"![a cat](https://e.org/c.png)", "<a href=\"https://e.org/c.png\">a cat</a>"},
		"bare address":    {"see https://e.org/x_y_z now", "see https://e.org/x_y_z now"},
		"auto link":       {"<https://e.org>", "https://e.org"},
		"raw html":        {"a <b>x</b> <script>", "a &lt;b&gt;x&lt;/b&gt; &lt;script&gt;"},
		"html block":      {"<div>\nx\n</div>", "&lt;div&gt;\nx\n&lt;/div&gt;"},
		"entities":        {"&lt;b&gt; &amp;amp; &copy; \\*x\\*", "&lt;b&gt; &amp;amp; © *x*"},
		"spoiler":         {"||x||", "||x||"},
		"nul and bidi":    {"a\x00b\u202ec", "abc"},
		"nothing":         {" \n", "…"},
		"long quote":      {"> a\n> b\n> c\n> d\n> e\n> f\n> g\n> h\n> i", "<blockquote expandable>a\nb\nc\nd\ne\nf\ng\nh\ni</blockquote>"},
		"table":           {"| a | long |\n|---|:-:|\n| **1** | `x` |\n| äöü | 2 |", "<pre>a   | long\n----+-----\n1   | x\näöü | 2</pre>"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got, _ := telegram.Render(c.md)
			if diff := cmp.Diff(c.html, got); diff != "" {
				t.Errorf("Render(%q) (-want +got):\n%s", c.md, diff)
			}
		})
	}
}

// Split replaces markup that Telegram does not have.
func TestSplitPrepares(t *testing.T) {
	tests := map[string]struct{ md, html string }{
		"surplus cells":   {"| a | b |\n|---|---|\n| 1 | 2 | 3 | `4` |\n| 5 |", "<pre>a | b\n--+----------\n1 | 2 | 3 | 4\n5 | </pre>"},
		"reference":       {"see [the *docs*][1] and [2].\n\n[1]: https://a.example/ \"Manual\"\n[2]: https://b.example", "see <a href=\"https://a.example/\">the <i>docs</i> “Manual”</a> and <a href=\"https://b.example\">2</a>."},
		"no reference":    {"a[0] and [x][y] ```[1]```\n\n[1]: https://a.example", "a[0] and [x][y] <code>[1]</code>\n\n[1]: https://a.example"},
		"details":         {"<details>\n<summary>More & more</summary>\n\n**body**\n\n</details>", "<b>More &amp; more</b>\n\n<b>body</b>"},
		"table, details":  {"|a|b|\n|-|-|\n|1|2|\n<details><summary>S</summary></details>\n|c|\n|-|\n|1|2|", "<pre>a | b\n--+--\n1 | 2</pre>\n\n<b>S</b>\n\n<pre>c\n---\n1|2</pre>"},
		"escaped pipe":    {"| a | b |\n|---|---|\n| 1 | x \\| y |", "<pre>a | b\n--+------\n1 | x | y</pre>"},
		"reference twice": {"[a][X] and [b][x]\n\n[x]: <https://a.example>", "<a href=\"https://a.example\">a</a> and <a href=\"https://a.example\">b</a>"},
		"odd definition":  {"[1]\n<details>[1]: https://a.example", "[1]\n[1]: https://a.example"},
		"footnote":        {"so[^1]\n\n[^1]: https://a.example", "so[^1]\n\n[^1]: https://a.example"},
		"code":            {"```\n<details>\n[a][1]\n```\n\n[1]: https://a.example", "<pre>&lt;details&gt;\n[a][1]</pre>\n\n[1]: https://a.example"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got, _ := telegram.Render(split(t, c.md)[0])
			if diff := cmp.Diff(c.html, got); diff != "" {
				t.Errorf("Render(Split(%q)) (-want +got):\n%s", c.md, diff)
			}
		})
	}
}

// TestNothingIsDropped: for any Markdown, every word of an answer arrives, in order.
func TestNothingIsDropped(t *testing.T) {
	for _, a := range channeltest.NastyAnswers(400) {
		var shown strings.Builder
		for _, piece := range split(t, a.Markdown) {
			_, plain := telegram.Render(piece)
			shown.WriteString(plain + "\n")
		}
		a.EveryWord(t, shown.String(), channeltest.But{
			Lost:  []channeltest.Place{channeltest.Language, channeltest.Surplus},
			Moved: []channeltest.Place{channeltest.Definition},
		})
	}
}

// texts are those of pieces.
func texts(pieces []channels.Piece) (all []string) {
	for _, p := range pieces {
		all = append(all, p.Text)
	}
	return all
}

func split(t *testing.T, md string) []string {
	t.Helper()
	c, err := telegram.New("telegram", telegram.Options{Token: "1:x"})
	if err != nil {
		t.Fatal(err)
	}
	pieces := texts(c.Split(channels.MustKey("telegram:1"), md))
	for i, p := range pieces {
		if n := telegram.Units(p); n > 4096 {
			t.Errorf("piece %d has %d units", i, n)
		}
	}
	return pieces
}

func TestSplitReopensCode(t *testing.T) {
	var b strings.Builder
	b.WriteString("Here:\n\n```go\n")
	for i := range 600 {
		fmt.Fprintf(&b, "\tline%d()\n", i)
	}
	b.WriteString("```\n\nThat is all.")
	pieces := split(t, b.String())
	var code []string
	for i, p := range pieces {
		html, _ := telegram.Render(p)
		if !strings.Contains(html, `<code class="language-go">`) || strings.Contains(html, "```") {
			t.Errorf("piece %d is not a whole code block:\n%.200s", i, html)
		}
		for _, l := range strings.Split(p, "\n") {
			if strings.HasPrefix(l, "\tline") {
				code = append(code, l)
			}
		}
	}
	if len(pieces) < 2 || len(code) != 600 || code[599] != "\tline599()" {
		t.Errorf("%d pieces with %d lines of code, want 600 in order", len(pieces), len(code))
	}
	if !strings.HasSuffix(pieces[len(pieces)-1], "```\n\nThat is all.") {
		t.Errorf("the last piece is %q, want the end of the code and the sentence", pieces[len(pieces)-1])
	}
}

func TestSplitKeepsCodeTogether(t *testing.T) {
	code := "```go\n" + strings.Repeat("x := 1\n", 100) + "```"
	pieces := split(t, strings.Repeat("A sentence of words. ", 170)+"\n\n"+code+"\n\nend")
	if len(pieces) != 2 || !strings.HasPrefix(pieces[1], code) {
		t.Errorf("a code block that fits in one message was cut: %d pieces, the second begins %.30q", len(pieces), pieces[1])
	}
}

func TestSplitIndentedCodeOfAList(t *testing.T) {
	md := "1. step\n\n    ```sh\n" + strings.Repeat("    echo one two three\n", 400) + "    ```\n\n2. next"
	for i, p := range split(t, md) {
		html, _ := telegram.Render(p)
		if strings.Contains(html, "```") || strings.Contains(html, "<pre>") && !strings.Contains(html, "language-sh") {
			t.Errorf("piece %d shows the fence of the code:\n%.150s", i, html)
		}
	}
}

func TestSplitRepeatsTableHead(t *testing.T) {
	md := "| name | value |\n|---|---|\n" + strings.Repeat("| some name | some value |\n", 400)
	pieces := split(t, md)
	rows := 0
	for i, p := range pieces {
		html, _ := telegram.Render(p)
		if !strings.HasPrefix(html, "<pre>name") {
			t.Errorf("piece %d has no table head: %.80q", i, html)
		}
		rows += strings.Count(p, "some name")
	}
	if len(pieces) < 2 || rows != 400 {
		t.Errorf("%d pieces, %d rows, want 400", len(pieces), rows)
	}
}

func TestSplitPrefersParagraphsThenWords(t *testing.T) {
	paragraph := strings.Repeat("word ", 500)
	pieces := split(t, paragraph+"\n\n"+paragraph+"\n\n"+paragraph)
	for i, p := range pieces {
		if i < 2 && strings.TrimSpace(p) != strings.TrimSpace(paragraph) && len(p) < 2000 {
			t.Errorf("piece %d is cut inside a paragraph", i)
		}
	}
	for i, p := range split(t, strings.Repeat("abcdefg ", 2000)) {
		if !strings.HasSuffix(p, "abcdefg") || !strings.HasPrefix(p, "abcdefg") {
			t.Errorf("piece %d cuts a word: %.20q … %q", i, p, p[len(p)-10:])
		}
	}
	link := "[some words here](https://example.org/a-long-address) "
	for i, p := range split(t, strings.Repeat(link, 300)) {
		if strings.Count(p, "[") != strings.Count(p, ")") {
			t.Errorf("piece %d cuts a link: … %q", i, p[len(p)-60:])
		}
	}
}

// Telegram drops markup beyond the hundredth entity of a message.
func TestSplitKeepsMarkup(t *testing.T) {
	pieces := split(t, strings.Repeat("**bold** and `code` and\n", 80))
	for _, piece := range pieces {
		if html, _ := telegram.Render(piece); strings.Count(html, "</") > 100 {
			t.Errorf("a piece has %d entities, want at most 100", strings.Count(html, "</"))
		}
	}
	if len(pieces) > 3 {
		t.Errorf("%d pieces for 160 entities, want at most 3", len(pieces))
	}
}

func TestSplitHuge(t *testing.T) {
	// The time for a 12 MB line without a space must grow linearly with its size.
	pieces := split(t, strings.Repeat("0123456789ab", 1<<20))
	if got := len(strings.Join(pieces, "")); got != 12<<20 {
		t.Errorf("%d characters in %d pieces, want %d", got, len(pieces), 12<<20)
	}
}

func BenchmarkRender(b *testing.B) {
	md := "# Answer\n\nSome **bold** words, a [link](https://e.org) and `code`.\n\n- one\n- two\n\n```go\nfmt.Println(1)\n```\n"
	for b.Loop() {
		telegram.Render(md)
	}
}
