package irc_test

import (
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/channels/irc"

	"github.com/google/go-cmp/cmp"
)

const (
	b  = "\x02"
	it = "\x1d"
)

func TestRender(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
	}{
		"plain":            {"one\ntwo\n\n\nthree", []string{"one", "two", "three"}},
		"bold and italic":  {"a **b** *c* _d_ __e__ ***f***", []string{"a " + b + "b" + b + " " + it + "c" + it + " " + it + "d" + it + " " + b + "e" + b + " " + it + b + "f"}},
		"nested":           {"**a *b* c**", []string{b + "a " + it + "b" + it + " c"}},
		"no emphasis":      {"2 * 3 * 4, snake_case_name, a* ***", []string{"2 * 3 * 4, snake_case_name, a* ***"}},
		"products":         {"2*3*4=24, n*2*m, 2**8**2, **2*3** *2 pi* **5**x", []string{"2*3*4=24, n*2*m, 2**8**2, " + b + "2*3" + b + " " + it + "2 pi" + it + " " + b + "5" + b + "x"}},
		"code":             {"run `go **test**` or ``a`b``", []string{"run `go **test**` or `a`b`"}},
		"heading":          {"# Title #\n####### no", []string{b + "Title", "####### no"}},
		"lists":            {"* a\n+ b\n  - c\n1. d\n2) e\n- [ ] f", []string{"- a", "- b", "  - c", "1. d", "2. e", "- ☐ f"}},
		"quote and rule":   {"> said\n***\n---", []string{"> said", "———", "———"}},
		"links":            {"[Go](https://go.dev/a_b_c) <https://x.org/_y_> [https://a.b](https://a.b) [x](y \"t\") ![pic](https://p.q)", []string{"Go (https://go.dev/a_b_c) https://x.org/_y_ https://a.b x “t” (y) pic (https://p.q)"}},
		"words for a url":  {"[a](see below) [b](<c d>)", []string{"[a](see below) b (c d)"}},
		"link with bold":   {"**[a](https://b.c)**", []string{b + "a (https://b.c)"}},
		"bare address":     {"https://a.b/_c_*d* **https://e.f**", []string{"https://a.b/_c_" + it + "d" + it + " " + b + "https://e.f"}},
		"escapes":          {`\*a\* \_b\_ \# c:\dir`, []string{`*a* _b_ # c:\dir`}},
		"code block":       {"```go\nif x {\n\ty()\n}\n\n```\nafter", []string{"```go", "if x {", "    y()", "}", "```", "after"}},
		"empty lines":      {"```\n\nx\n\n\t\ny\n\n```", []string{"```", "x", " ", " ", "y", "```"}},
		"one line of code": {"```sh\n  ls *a* *b*\n\n```", []string{"`ls *a* *b*`"}},
		"code keeps marks": {"~~~\n**a** `b` # c\n```\n~~~", []string{"```", "**a** `b` # c", "```", "```"}},
		"open code block":  {"```\na\n  b", []string{"```", "a", "  b", "```"}},
		"text at a fence":  {"``` it is 42", []string{"`it is 42`"}},
		"only a fence":     {"a\n```42\n```", []string{"a", "`42`"}},
		"no language":      {"``` <b>42</b>\nx\n```", []string{"```", "<b>42</b>", "x", "```"}},
		"break":            {"a<br>b<BR /> `<br>`\n\n|a<br/>b|c|\n|-|-|", []string{"a", "b", " `<br>`", "| a b | c |"}},
		"more at a fence":  {"~~~ it is\n42\n~~~", []string{"```", "it is", "42", "```"}},
		"nested fence":     {"````\n```\nx\n```\n````\ny", []string{"```", "```", "x", "```", "```", "y"}},
		"indented fence":   {"- x\n  ```\n  a\n    b\n  ```\n- y", []string{"- x", "```", "a", "  b", "```", "- y"}},
		"table":            {"| a | b |\n|---|:-:|\n| 1 | **2** |", []string{"| a | b |", "| 1 | " + b + "2" + b + " |"}},
		"control":          {"a\x00b\x01ACTION c\x01\r\nQUIT\rx\x02y\x1b[0m", []string{"abACTION c", "QUIT", "xy[0m"}},
		"turned around":    {"a\u202eb\u2066c \u200fd", []string{"abc \u200fd"}},
		"not UTF-8":        {"a\xffb", []string{"a\uFFFDb"}},
		"nothing":          {" \n\t\n\x00\n```\n\n```", nil},
		"formulas":         {"*so* \\[\n# a\\,b\n- c\\]", []string{it + "so" + it + " \\[", "# a\\,b", "- c\\]"}},
		"struck":           {"~~no~~ or **~~x~~** ~5 ~~~ ~~", []string{"\x1eno\x1e or " + b + "\x1ex\x1e" + b + " ~5 ~~~ ~~"}},
		"reference":        {"see [the docs][1]\n\n[1]: https://a.b", []string{"see the docs (https://a.b)"}},
		"address":          {"https://a.b/__init__.py (https://a.b/_c_)", []string{"https://a.b/__init__.py (https://a.b/_c_)"}},
		"like a piece":     {"\r**a**\r\nQUIT \xff", []string{b + "a", "QUIT \uFFFD"}},
		"line separators":  {"a\u2028b\vc", []string{"a", "b", "c"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, irc.Wire(test.in, 400)); diff != "" {
				t.Errorf("Wire(%q) (-want +got):\n%s", test.in, diff)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	for name, test := range map[string]struct {
		in     string
		budget int
		want   []string
	}{
		"at spaces":      {"aaa bbb ccc", 7, []string{"aaa bbb", "ccc"}},
		"long word":      {"aaaaaaaaaa", 4, []string{"aaaa", "aaaa", "aa"}},
		"space at cut":   {"aaaa bbbb", 4, []string{"aaaa", "bbbb"}},
		"bytes count":    {"éééé", 4, []string{"éé", "éé"}},
		"no early space": {"a bbbbbbbbbbbb", 10, []string{"a bbbbbbbb", "bbbb"}},
		"family":         {"👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 30, []string{"👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"}},
		"flags":          {"🇮🇹🇮🇹🇮🇹", 17, []string{"🇮🇹🇮🇹", "🇮🇹"}},
		"combining":      {"e\u0301e\u0301", 4, []string{"e\u0301", "e\u0301"}},
		"styles go on":   {"**aaaa bbbb**", 5, []string{b + "aaaa", b + "bbbb"}},
		"codes count":    {"aaaa**b**", 5, []string{"aaaa", b + "b"}},
		"code spaces":    {"```\n  aa    bb\n```", 8, []string{"`aa", "bb`"}},
		"code lines":     {"```\n  aa    bb\nc\n```", 8, []string{"```", "  aa    ", "bb", "c", "```"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, irc.Wire(test.in, test.budget)); diff != "" {
				t.Errorf("Wire(%q, %d) (-want +got):\n%s", test.in, test.budget, diff)
			}
		})
	}
}

// pure returns a channel for the parts that need no network.
func pure(t testing.TB) *irc.Channel {
	t.Helper()
	ch, err := irc.New("irc", irc.Options{Server: "irc.example.org", Nick: "dragoman", Channels: []string{"#go"}})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// visible returns the text without codes and white space, all of which must survive cutting.
func visible(lines ...string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, strings.Join(lines, ""))
}

// FuzzSplit checks for any text: every piece is one line on the wire, fits the budget of the
// longest name we can have, and has no control characters but our three codes; together the
// pieces show all of the text.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"**bold** and *it* `code` [a](https://b.c/_d_)", "```go\n\tx := `y`\n```", "- a\n  * b\n+ c", "***a*b**c*",
		"\\*\\_\\`", "# h\n> q\n---\n|a|b|\n|-|-|", "a\x00\r\nb\x01", strings.Repeat("👨‍👩‍👧‍👦", 40), strings.Repeat("x ", 300) + "**y**",
		"*a***b**", "`` ` ``", "https://a.b/\\_c", "**\u200b**", "~~~\n```\n~~~", "<https://a> <b>", "![](x)", "[[a](b)](c)", "\\", "a\u0085b",
	} {
		f.Add(seed)
	}
	ch := pure(f)
	key := channels.MustKey("irc:alice") // a room sees the rest only when it asks
	room := irc.Budget(strings.Repeat("n", 16), "~dragoman", strings.Repeat("h", 63), "alice")
	f.Fuzz(func(t *testing.T, text string) {
		pieces := ch.Split(key, text)
		var shown []string
		for i, p := range pieces {
			lines := irc.WirePiece(p, room)
			if len(lines) != 1 {
				t.Fatalf("piece %d, %q, is %d lines: %q", i, p, len(lines), lines)
			}
			line := lines[0]
			if len(line) > room || !utf8.ValidString(line) || line == "" {
				t.Fatalf("line %d is bad (%d bytes of %d): %q", i, len(line), room, line)
			}
			for _, r := range line {
				if unicode.IsControl(r) && r != 0x02 && r != 0x1d && r != 0x1e {
					t.Fatalf("line %d has the control character %U: %q", i, r, line)
				}
			}
			shown = append(shown, line)
		}
		whole := irc.Wire(text, 1<<30)
		if got, want := visible(shown...), visible(whole...); got != want && len(whole) > 0 {
			t.Fatalf("the pieces show %q, the whole shows %q", got, want)
		}
	})
}

func TestSplitKeepsStyles(t *testing.T) {
	ch := pure(t)
	text := strings.Repeat("some **bold words** and *italic ones* with `code` ", 40)
	key := channels.MustKey("irc:alice")
	var got []string
	for _, p := range ch.Split(key, text) {
		got = append(got, irc.WirePiece(p, 500)...)
	}
	room := irc.Budget(strings.Repeat("n", 16), "~dragoman", strings.Repeat("h", 63), strings.Repeat("n", 30))
	if diff := cmp.Diff(irc.Wire(text, room), got); diff != "" {
		t.Errorf("pieces do not look like the whole (-want +got):\n%s", diff)
	}
}

// openSpans returns runs of backticks, each of another length.
func openSpans() string {
	var b strings.Builder
	for n := range 60 {
		b.WriteString(strings.Repeat("`", n) + " ")
	}
	return b.String()
}

// The cost of a long answer grows linearly with its length. The test counts memory, because
// time depends on the machine: laying the text out again and again would allocate thousands
// of bytes for each of its bytes.
func TestSplitHugeIsBounded(t *testing.T) {
	const most = 1000
	ch := pure(t)
	key := channels.MustKey("irc:alice")
	for name, text := range map[string]string{
		"one line":  strings.Repeat("word ", 100_000),
		"open bold": strings.Repeat("**a *b _c `d [e](", 20_000),
		"stars":     strings.Repeat("*", 100_000),
		"long code": strings.Repeat(strings.Repeat("*a ", 660)+"`"+strings.Repeat("x ", 7000)+"`\n", 4),
		"open code": strings.Repeat(strings.Repeat("*a ", 600)+openSpans()+strings.Repeat("y ", 6000)+"\n", 4),
		"brackets":  strings.Repeat("[", 40_000),
		"ticks":     strings.Repeat("`a``b```", 10_000),
		"accents":   "a" + strings.Repeat("\u0301", 50_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		pieces := ch.Split(key, text)
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(text)); each > most {
			t.Errorf("%s: each byte took %d of memory, want at most %d", name, each, most)
		}
		var shown []string
		for _, p := range pieces {
			shown = append(shown, irc.WirePiece(p, 400)...)
		}
		if got, want := len(visible(shown...)), len(visible(irc.Wire(text, 1<<30)...)); got != want {
			t.Errorf("%s: the pieces show %d bytes, want %d", name, got, want)
		}
	}
}

func TestAddressed(t *testing.T) {
	for _, test := range []struct {
		in, rest string
		ok       bool
	}{
		{"Dragoman: hi", "hi", true},
		{"dragoman, hi", "hi", true},
		{"dragoman:hi", "hi", true},
		{"@dragoman hi", "hi", true},
		{"@dragoman: hi", "hi", true},
		{"dragoman:", "dragoman:", true},
		{"dragoman?", "dragoman?", true},
		{"what is Go, dragoman?", "what is Go, dragoman?", true},
		{"thanks, @dragoman", "thanks, @dragoman", true},
		{"dragoman：你好", "你好", true},
		{"dragoman，hi", "hi", true},
		{"dragoman hi", "dragoman hi", false},
		{"dragoman:8080 is open", "dragoman:8080 is open", false},
		{"dragoman:: hi", "dragoman:: hi", false},
		{"dragomans: hi", "dragomans: hi", false},
		{"ask dragoman about it", "ask dragoman about it", false},
		{"I like dragoman", "I like dragoman", false},
		{"", "", false},
		{"@", "@", false},
	} {
		if rest, ok := irc.Addressed(test.in, "dragoman"); rest != test.rest || ok != test.ok {
			t.Errorf("addressed(%q) = %q, %v, want %q, %v", test.in, rest, ok, test.rest, test.ok)
		}
	}
}

// A line as others receive it, with the longest name that a server may put before it, has at
// most the 512 bytes of RFC 1459, section 2.3, and wastes few of them.
func TestLinesFitWithThePrefixOfTheServer(t *testing.T) {
	for _, target := range []string{"#go", "#" + strings.Repeat("c", 49)} {
		nick := strings.Repeat("n", 16)
		user := "~dragoman"
		host := strings.Repeat("h", 63)
		text := strings.Repeat("x", irc.Budget(nick, user, host, target))
		line := ":" + nick + "!" + user + "@" + host + " PRIVMSG " + target + " :" + text + "\r\n"
		if len(line) != 512 {
			t.Errorf("the longest line to %s has %d bytes, want 512", target, len(line))
		}
	}
}

func FuzzAddressed(f *testing.F) {
	for _, seed := range []string{"dragoman: hi", "@dragoman", "x, dragoman?", "[d]: é", "\x0304,1red", "caf\xe9"} {
		f.Add(seed, "dragoman")
	}
	f.Add("ÀÀ: x", "Àà")
	f.Add("d: one\ntwo", "d")
	f.Fuzz(func(t *testing.T, text, nick string) {
		text = irc.Plain(text)
		// A multiline message has lines.
		if control := func(r rune) bool { return r != '\n' && unicode.IsControl(r) }; !utf8.ValidString(text) || strings.ContainsFunc(text, control) {
			t.Fatalf("plain gave %q", text)
		}
		rest, ok := irc.Addressed(text, nick)
		if !strings.HasSuffix(text, rest) || !ok && rest != text || ok && text != "" && rest == "" {
			t.Fatalf("addressed(%q, %q) = %q, %v", text, nick, rest, ok)
		}
	})
}
