package webpage_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"dragoman/internal/webpage"
)

func base(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse("https://example.com/docs/page.html")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestHTMLAsText(t *testing.T) {
	const in = `<!doctype html><html><head><title> The
	<b>title</title><style>p{color:red}</style><script>alert("no")</script></head>
<body><nav><a href="/">Home</a> <a href="/x">Menu</a></nav>
<h1>Hello   <em>world</em></h1>
<p>One &amp; two,
   <b>three</b><i>four</i>. See <a href="../other.html">the <b>other</b> page</a>, <a href="#here">here</a>, <a href="javascript:x()">this</a>
   or <a href="https://user:pw@evil.example/">that</a>.</p><p>Second<br>line</p>
<ul><li>first</li><li>second <a href="//cdn.example.org/a">cdn</a></li></ul>
<pre>  keeps
    its   spaces</pre>
<table><tr><th>Name</th><th>Age</th></tr><tr><td>Bob</td><td>7</td></tr></table>
<div hidden>hidden</div><div aria-hidden="true">also hidden</div><!-- comment --><noscript>no script</noscript>
<img src="x.png" alt="A cat"><img src="y.png" alt=""><svg><text>vector</text></svg><button>Press</button>
</body></html>`
	const want = `# Hello world

One & two, threefour. See the other page <https://example.com/other.html>, here, this or that.

Second
line

- first
- second cdn <https://cdn.example.org/a>

  keeps
    its   spaces

| Name | Age
| Bob | 7

[image: A cat]`
	p := webpage.Read(base(t), "text/html; charset=utf-8", []byte(in))
	if p.Title != "The <b>title" || p.Binary != "" {
		t.Errorf("title = %q, binary = %q", p.Title, p.Binary)
	}
	if diff := cmp.Diff(want, p.Text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestHTMLMainPart(t *testing.T) {
	story := strings.Repeat("A sentence of the story. ", 20)
	for name, test := range map[string]struct {
		html  string
		whole bool
	}{
		"main":         {"<header>Shop</header><main><p>" + story + "</main><footer>Legal</footer>", false},
		"article":      {"<header>Shop</header><article><p>" + story + "</article><footer>Legal</footer>", false},
		"two articles": {"<header>Shop</header><article><p>" + story + "</article><article>More</article><footer>Legal</footer>", true},
		"an empty one": {"<header>Shop</header><main><script>" + story + "</script></main><p>" + story + "<footer>Legal</footer>", true},
	} {
		text := webpage.Read(base(t), "text/html", []byte(test.html)).Text
		if got := strings.Contains(text, "Legal") && strings.Contains(text, "Shop"); got != test.whole || !strings.Contains(text, "sentence of the story") {
			t.Errorf("%s: the whole page is shown: %v, want %v\n%s", name, got, test.whole, text)
		}
	}
}

func TestCharacterSetsAndTypes(t *testing.T) {
	for _, test := range []struct{ name, contentType, body, text, binary string }{
		{"utf-8", "text/plain; charset=utf-8", "café", "café", ""},
		{"latin-1, declared", "text/plain; charset=iso-8859-1", "caf\xe9", "café", ""},
		{"shift-jis, declared", "text/html; charset=shift_jis", "<p>\x93\xfa\x96{</p>", "日本", ""},
		{"windows-1252, in the page", "text/html", `<meta charset="windows-1252"><p>caf` + "\xe9 \x80</p>", "café €", ""},
		{"utf-8, undeclared, late", "text/html", "<p>" + strings.Repeat("a", 2000) + "漢</p>", strings.Repeat("a", 2000) + "漢", ""},
		{"broken utf-8", "text/plain; charset=utf-8", "a\xffb\x00\x1bc\r\n\n\n\nd", "a\uFFFDbc\n\nd", ""},
		{"utf-16 with a mark", "text/plain", "\xff\xfeh\x00i\x00", "hi", ""},
		{"no type", "", "<html><p>text</p>", "text", ""},
		{"wrong type", "application/octet-stream", "plain words", "plain words", ""},
		{"nonsense type", ";;;", "plain words", "plain words", ""},
		{"json", "application/ld+json", `{"a": 1}`, `{"a": 1}`, ""},
		{"image", "image/png", "\x89PNG\r\n\x1a\n", "", "image/png"},
		{"undeclared image", "", "\x89PNG\r\n\x1a\n\x00", "", "image/png"},
		{"pdf", "application/pdf", "%PDF-1.7", "", "application/pdf"},
		{"empty", "text/html", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := webpage.Read(base(t), test.contentType, []byte(test.body))
			if p.Text != test.text || p.Binary != test.binary {
				t.Errorf("Read = %q, %q; want %q, %q", p.Text, p.Binary, test.text, test.binary)
			}
		})
	}
}

// TestHostileHTML reads pages of half the body limit that are made to be slow. Each
// must finish in a time that a person would wait.
func TestHostileHTML(t *testing.T) {
	const size = 1 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, body := range map[string]string{
		"nested": fill("<div>"), "tables": fill("<table><tr><td>"), "formatting": fill("<a><b><i>"), "attributes": "<a " + fill("a=b ") + ">",
		"distinct attributes": "<a " + distinct(size) + ">", "links": fill("<a href=x>y</a>"), "text": fill("word "), "spaces": fill(" "), "entities": fill("&amp;"),
		"titles": fill("<title>x</title>"), "unclosed": fill("<"), "comment": "<!--" + fill("-"), "select": fill("<select><option>"), "templates": fill("<template>"),
		"blocks": fill("<p>x<p>"), "breaks": fill("<br>"), "svg": fill("<svg><desc>"), "mains": fill("<main></main>"),
	} {
		start := time.Now()
		text := webpage.Read(base(t), "text/html; charset=utf-8", []byte(body)).Text
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %d bytes took %s", name, len(body), took)
		} else if testing.Verbose() {
			t.Logf("%-20s %8d bytes of text in %s", name, len(text), took.Round(time.Millisecond))
		}
	}
}

func distinct(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString("a" + strings.Repeat("b", i%7) + string(rune('a'+i%26)) + strings.Repeat("c", i%11) + "=1 ")
	}
	return b.String()
}

func FuzzRead(f *testing.F) {
	f.Add("text/html", []byte("<p>Hello<br><a href='x'>y</a><pre> z</pre><table><td>1"))
	f.Add("text/plain; charset=shift_jis", []byte("\x93\xfa\x96{"))
	f.Add("text/html; charset=utf-16", []byte("\xff\xfe<\x00p\x00>\x00"))
	f.Add("", []byte("<!doctype html><main>x"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		p := webpage.Read(base(t), contentType, body)
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Title) {
			t.Errorf("Read(%q, %q) is not UTF-8", contentType, body)
		}
		if strings.ContainsAny(p.Text, "\x00\x1b\r") || strings.Contains(p.Text, "\n\n\n") || strings.ContainsAny(p.Title, "\n\x00") {
			t.Errorf("Read(%q, %q) = %q, %q: not tidy", contentType, body, p.Title, p.Text)
		}
	})
}
