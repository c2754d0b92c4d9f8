package console_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
)

// rich has everything that the page draws.
const rich = `A sundial turns the **sun's path** into hours: a rod, the *gnomon*, throws a shadow on a plate.

## How it reads

| Time | Shadow points | Length |
|---|---|---:|
| 9:00 | north-west | 2.1 m |
| 12:00 | north | 1.4 m |
| 15:00 | north-east | 2.1 m |

1. Lean the rod by your latitude.
2. Point it at the pole:
   - north of the equator at the *north* pole
   - south of it at the south pole
3. Mark noon, then 15° for each hour.

` + "```go\n// hourAngle is how far the sun has turned since noon.\nfunc hourAngle(hours float64) float64 {\n\treturn 15 * (hours - 12)\n}\n```" + `

> The shadow knows nothing of time zones.

More at https://example.org/sundials, or ask me to check ` + "`hourAngle(9)`" + `.`

// render renders markdown with the page's renderer and returns the HTML for comparing.
func (v *tab) render(markdown string) string {
	v.t.Helper()
	source, err := json.Marshal(markdown)
	if err != nil {
		v.t.Fatal(err)
	}
	return js[string](v, `import("/app/js/markdown.js").then((m) => {
		const e = document.createElement("div");
		new m.Rendered(e).update(`+string(source)+`);
		return e.innerHTML.replaceAll(' dir="auto"', "").replaceAll(' tabindex="0"', "").replaceAll(' scope="col"', "")
			.replaceAll(' target="_blank" rel="noopener noreferrer nofollow"', "");
	})`)
}

func TestMarkdown(t *testing.T) {
	v := visit(t)
	for _, c := range []struct{ name, markdown, want string }{
		{"paragraphs", "one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"},
		{"breaks", "a<br>b<BR />\nc `<br>`", "<p>a<br>b<br>c <code>&lt;br&gt;</code></p>"},
		{"windows line ends", "one\r\n\r\ntwo", "<p>one</p><p>two</p>"},
		{"nothing", " \n\n ", ""},
		{"headings", "# A #1\n### B\n####### C\n#D", "<h1>A #1</h1><h3>B</h3><p>####### C<br>#D</p>"},
		{"rule", "a\n\n---\n* * *", "<p>a</p><hr><hr>"},
		{"emphasis", "**b** *i* ***bi*** __b__ _i_ ~~d~~", "<p><strong>b</strong> <em>i</em> <em><strong>bi</strong></em> <strong>b</strong> <em>i</em> <del>d</del></p>"},
		{"nested emphasis", "**a *b* c** and *d **e***", "<p><strong>a <em>b</em> c</strong> and <em>d <strong>e</strong></em></p>"},
		{"no emphasis", "2 * 3 * 4, 2**3, snake_case_name, ** a **, *", "<p>2 * 3 * 4, 2**3, snake_case_name, ** a **, *</p>"},
		{"escapes", `\*a\* \_ \\ \q`, `<p>*a* _ \ \q</p>`},
		{"code", "`a<b>` ``a`b`` ` c ` `open", "<p><code>a&lt;b&gt;</code> <code>a`b</code> <code>c</code> `open</p>"},
		{"code keeps stars", "*a `*` b*", "<p><em>a <code>*</code> b</em></p>"},
		{"text at a fence", "``` it is 42", `<div class="block"><div class="bar"><span>text</span><button type="button" class="copy">Copy</button></div>` +
			`<pre><code>it is 42</code></pre></div>`},
		{"block", "```go\nx := `1`\n\n**no**\n```\nafter", `<div class="block"><div class="bar"><span>go</span><button type="button" class="copy">Copy</button></div>` +
			"<pre><code>x := `1`\n\n**no**</code></pre></div><p>after</p>"},
		{"open block", "~~~\nstill", `<div class="block"><div class="bar"><span>text</span><button type="button" class="copy">Copy</button></div><pre><code>still</code></pre></div>`},
		{"lists", "- a\n- b\n  - c\n\n1. x\n2. y", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol start=\"1\"><li>x</li><li>y</li></ol>"},
		{"list goes on", "3. a\nlazy\n\n   second\n4. b", `<ol start="3"><li><p>a<br>lazy</p><p>second</p></li><li>b</li></ol>`},
		{"list ends", "- a\n\nafter", "<ul><li>a</li></ul><p>after</p>"},
		{"list after text", "Look:\n- a\n- b", "<p>Look:</p><ul><li>a</li><li>b</li></ul>"},
		{"a year is no list", "It was in\n1984. Then", "<p>It was in<br>1984. Then</p>"},
		{"tasks", "- [x] done\n- [ ] open", `<ul><li class="task">☑ done</li><li class="task">☐ open</li></ul>`},
		{"quote", "> a\n> > b\n\nc", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>"},
		{"table", "| a | b |\n|---|:-:|\n| **1** | x\\|y |\n| 2 |", `<div class="table"><table><thead><tr><th>a</th><th class="center">b</th></tr></thead><tbody>` +
			`<tr><td><strong>1</strong></td><td class="center">x|y</td></tr><tr><td>2</td><td class="center"></td></tr></tbody></table></div>`},
		{"table below text", "Look:\na | b\n--|--\n1 | 2 | 3\n\na | b\n---", `<p>Look:</p><div class="table"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>` +
			`<tr><td>1</td><td>2</td><td>3</td></tr></tbody></table></div><h2>a | b</h2>`},
		{"links", "[a *b*](https://x.example/p?q=1 \"t\") <mailto:a@b.example> https://y.example/(z).", `<p><a href="https://x.example/p?q=1" title="https://x.example/p?q=1">a <em>b</em></a> ` +
			`<a href="mailto:a@b.example" title="mailto:a@b.example">mailto:a@b.example</a> <a href="https://y.example/(z)" title="https://y.example/(z)">https://y.example/(z)</a>.</p>`},
		{"no link in a link", "[https://bank.example](https://evil.example)", `<p><a href="https://evil.example/" title="https://evil.example/">https://bank.example</a></p>`},
		{"a picture is a link", "![sun](https://x.example/s.png)", `<p><a href="https://x.example/s.png" title="https://x.example/s.png">sun</a></p>`},
		{"other addresses", "[a](javascript:alert(1)) [b](/etc) [c](data:text/html,x) [d](vbscript:x) [e](//x.example)", "<p>[a](javascript:alert(1)) [b](/etc) [c](data:text/html,x) [d](vbscript:x) [e](//x.example)</p>"},
		{"markup is text", "<script>alert(1)</script> <b onclick=x>&amp;</b>", "<p>&lt;script&gt;alert(1)&lt;/script&gt; &lt;b onclick=x&gt;&amp;&lt;/b&gt;</p>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := v.render(c.markdown); got != c.want {
				t.Errorf("%q became\n%s, want\n%s", c.markdown, got, c.want)
			}
		})
	}
}

// Streaming must give the same result as rendering at once.
func TestStreamedMarkdownIsTheSame(t *testing.T) {
	v := visit(t)
	source, err := json.Marshal(rich)
	if err != nil {
		t.Fatal(err)
	}
	same := js[string](v, `import("/app/js/markdown.js").then((m) => {
		const [a, b, text] = [document.createElement("div"), document.createElement("div"), `+string(source)+`];
		const streamed = new m.Rendered(a);
		let first, kept = true;
		for (let i = 0; i <= text.length; i++) {
			streamed.update(text.slice(0, i));
			if (i === 200) first = a.firstElementChild;
			if (i > 200) kept &&= a.firstElementChild === first;
		}
		new m.Rendered(b).update(text);
		return (a.innerHTML === b.innerHTML) + " " + kept;
	})`)
	if same != "true true" {
		t.Errorf("streamed is the same as at once, and finished blocks stay = %s, want true true", same)
	}
}

// Text from a model, a web page it read or a person in a group stays text on our page, and
// rendering it takes no noticeable time.
func TestHostileMarkdownDoesNothing(t *testing.T) {
	hostile := []string{
		`<img src=x onerror="pwned=1"><script>pwned=1</script><svg onload=pwned=1><iframe srcdoc="<script>parent.pwned=1</script>">`,
		"[x](javascript:pwned=1) [x](JaVaScRiPt:pwned=1) [x](\tjavascript:pwned=1) [x](java\nscript:pwned=1) [x](data:text/html,<script>pwned=1</script>)",
		"[x](https://ok.example/\"onmouseover=\"pwned=1) [x](https://ok.example/'><script>pwned=1</script>)",
		"![x](https://evil.example/track.png) ![x](x\"onerror=\"pwned=1)",
		"```\"><script>pwned=1</script>\n</code></pre><script>pwned=1</script>\n```",
		"| <script>pwned=1</script> | b |\n|---|---|\n| <img src=x onerror=pwned=1> | [x](javascript:pwned=1) |",
		"<https://ok.example/\"onclick=\"pwned=1> https://ok.example/\"onclick=\"pwned=1",
		"# <base href=//evil.example>\n> <form action=//evil.example><button>go</button></form>",
		"- [ ] <style>body{display:none}</style>\n- <link rel=stylesheet href=//evil.example>",
		"__proto__ constructor \u202egnp.exe\u0000\ufffe [a](https://\u202eevil.example)",
	}
	v := visit(t)
	source, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	found := js[string](v, `import("/app/js/markdown.js").then((m) => {
		const all = document.createElement("main");
		document.querySelector("main").append(all);
		for (const text of `+string(source)+`) {
			const e = document.createElement("div");
			all.append(e);
			new m.Rendered(e).update(text);
		}
		return [...all.querySelectorAll("*")].filter((e) =>
			/^(SCRIPT|IMG|SVG|IFRAME|FORM|STYLE|LINK|BASE|OBJECT|EMBED|INPUT)$/i.test(e.tagName) ||
			[...e.attributes].some((a) => /^on|^src|^style|^srcdoc/i.test(a.name))).map((e) => e.outerHTML).join("\n");
	})`)
	if found != "" {
		t.Errorf("hostile text became elements:\n%s", found)
	}
	if js[bool](v, `new Promise((done) => setTimeout(() => done(typeof pwned !== "undefined"), 100))`) {
		t.Error("hostile text ran")
	}
	links := js[string](v, `[...document.querySelectorAll("main main a")].map((a) => a.protocol + " " + a.rel + " " + a.target).join("\n")`)
	fine := regexp.MustCompile(`^(https?|mailto): noopener noreferrer nofollow _blank$`)
	if links == "" {
		t.Error("none of the texts has a link")
	}
	for line := range strings.Lines(links) {
		if !fine.MatchString(strings.TrimSpace(line)) {
			t.Errorf("a link is %q", line)
		}
	}
	long := map[string]string{
		"stars": strings.Repeat("*a **b ", 20_000), "open brackets": strings.Repeat("[", 100_000) + "](",
		"brackets": strings.Repeat("[a](b ", 20_000), "ticks": strings.Repeat("`a``b", 20_000), "underscores": strings.Repeat("_a __b ", 20_000),
		"quotes": strings.Repeat(">", 100_000), "spaces": "# " + strings.Repeat(" #", 50_000), "table": "a|b\n-" + strings.Repeat(" ", 100_000) + "x",
		"table rows": "a|b\n-|-\n" + strings.Repeat("x|y\n", 5_000), "cells": "a|b\n-|-\n" + strings.Repeat("|", 100_000), "rules": strings.Repeat("|\n-"+strings.Repeat(" ", 3_000)+"x\n", 30),
		"lists": strings.Repeat("- ", 50_000), "deep list": deepList(300), "lines of an item": "- " + strings.Repeat("x\n", 60_000),
		"fence": "```" + strings.Repeat(" ", 100_000) + "`", "rule": strings.Repeat("- ", 50_000) + "x", "tildes": strings.Repeat("~~a", 30_000),
		"links": strings.Repeat("https://a.example/) ", 5_000), "h": strings.Repeat("h", 200_000), "backslashes": strings.Repeat(`\`, 100_001),
		"parentheses": strings.Repeat("[a](https://b/"+strings.Repeat("(", 100)+" ", 1000),
	}
	for name, text := range long {
		// The time must grow like the text, not like its square: four times the
		// text, at most nine times the time. A busy machine makes some runs
		// slower and none faster, so the best of each counts.
		quarter := len(text) / 4
		short, whole := math.Inf(1), math.Inf(1)
		for range 6 {
			short = min(short, max(v.rendering(text[:quarter]), v.rendering(text[len(text)-quarter:])))
			whole = min(whole, v.rendering(text))
			if whole <= 9*short+1000 {
				break
			}
		}
		if whole > 9*short+1000 {
			t.Errorf("%s: %d bytes took %.0f ms to render, a quarter of them %.0f ms", name, len(text), whole, short)
		}
		t.Logf("%s: %.0f ms", name, whole)
	}
}

// rendering returns how many milliseconds the page needs to render text.
func (v *tab) rendering(text string) float64 {
	v.t.Helper()
	source, err := json.Marshal(text)
	if err != nil {
		v.t.Fatal(err)
	}
	return js[float64](v, `import("/app/js/markdown.js").then((m) => {
		const text = `+string(source)+`, began = performance.now();
		new m.Rendered(document.createElement("div")).update(text);
		return performance.now() - began;
	})`)
}

func deepList(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "- x\n")
	}
	return b.String()
}
