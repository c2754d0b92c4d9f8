package telegram_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"
)

var seeds = []string{
	"plain", "", " \n ", "**bold** *it* ~~gone~~ `code` [a](https://b.c?d=1&e=2)", "# H\n\ntext\n---\n> q\n> > qq",
	"1. a\n   ```go\n   x\n   ```\n2. b\n    - c\n", "|a|b|\n|-|-|\n|1|2|\n", "<b>raw</b> <!-- c --> &amp; &lt; \\* &#0; &#x1F600;",
	"```\nnever closed", "~~~go x\n```\n~~~", "[x]: http://y\n\n[x]", "![](tg://user?id=1) ![alt](javascript:x)", "<https://e.org> <a@b.c>",
	"- [ ] todo\n- [x] done", "\x00\xff\u202e\u2028", "👨‍👩‍👧‍👦🇮🇹", "* * *\n***a***", "[a[b](https://c)](https://d)", "`` ` ``", "<script>\n\nx",
	"    indented\n\n\tcode", "a\\\nb  \nc", "> ```\n> x\n", "|`a|b`|c|\n|-|-|", "\"quotes\" <a href=\"x\">", "^-^ > 3 < 4",
}

// FuzzRender: for any Markdown, Telegram can parse the HTML and shows the same text as
// the plain form.
func FuzzRender(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, md string) {
		html, plain := telegram.Render(md)
		visible, err := botapi.Visible(html)
		if err != nil {
			t.Fatalf("HTML of %q is refused: %v\n%s", md, err, html)
		}
		if visible != plain {
			t.Errorf("visible %q, plain %q", visible, plain)
		}
		if strings.TrimSpace(plain) == "" || !utf8.ValidString(plain) {
			t.Errorf("plain form of %q is %q", md, plain)
		}
		if i := strings.IndexFunc(plain, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("plain form %q has a control character at %d", plain, i)
		}
		if !strings.ContainsAny(md, "[]()`~|&<\\!") { // Parts of links, languages and extra table cells are not shown.
			if want, got := letters(md), letters(plain); want != got {
				t.Errorf("letters = %q, want %q", got, want)
			}
		}
	})
}

// letters returns the letters of s, which no markup removes. A digit can be the number
// of a list item.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, ""))
}

// FuzzSplit: no piece is empty, every piece fits, and together they have every letter.
func FuzzSplit(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, uint16(1))
		f.Add(s, uint16(900))
		f.Add(s+"\n", uint16(3000))
	}
	f.Add("|a long cell here|b|\n|-|-|\n", uint16(300))
	f.Add("word ", uint16(2000))
	f.Add("    - item\n", uint16(1000))
	f.Add("e\u0301\u0301\u0301\u0301", uint16(3000))
	c, err := telegram.New("telegram", telegram.Options{Token: "1:x"})
	if err != nil {
		f.Fatal(err)
	}
	key := channels.MustKey("telegram:1")
	f.Fuzz(func(t *testing.T, unit string, times uint16) {
		if len(unit)*int(times) > 200_000 {
			t.Skip("too long for a fuzzer")
		}
		md := strings.Repeat(unit, int(times))
		pieces := texts(c.Split(key, md))
		if len(pieces) == 0 {
			t.Fatal("no pieces")
		}
		for i, p := range pieces {
			if strings.TrimSpace(p) == "" || !utf8.ValidString(p) {
				t.Errorf("piece %d is %q", i, p)
			}
			if n := telegram.Units(p); n > 4096 {
				t.Errorf("piece %d has %d units", i, n)
			}
			if _, plain := telegram.Render(p); telegram.Units(plain) > 4096 {
				t.Errorf("piece %d has %d units rendered", i, telegram.Units(plain))
			}
		}
		if strings.ContainsAny(md, "`~|") {
			return // code blocks and tables are repeated
		}
		if strings.Contains(md, "://") && strings.Contains(md, "]:") || strings.Contains(md, "<") {
			return // Link definitions move to where they are used, and <details> is unfolded.
		}
		if want, got := letters(md), letters(strings.Join(pieces, "")); want != got {
			t.Errorf("%d letters, want %d", len(got), len(want))
		}
	})
}
