package actions_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// asked is the text of the question about a call with these arguments, in a block of code.
func asked(t *testing.T, args string) string {
	t.Helper()
	w := newWorld(t)
	w.call.Args = args
	w.said()
	text := w.question().Text(true)
	_, text, _ = strings.Cut(text, "```\n")
	text, _, found := strings.Cut(text, "\n```")
	if !found {
		t.Fatalf("the question has no block: %q", text)
	}
	return text
}

// What people read: everything that would run, with nothing hidden.
func TestText(t *testing.T) {
	w := newWorld(t)
	w.call.Args = "{\"note\":\"one\\ntwo ``` [x](y) <b>\u200b\",\"url\":\"https://a.example/\u202egpj.exe\"}"
	w.call.Origins = []sessions.Origin{"web:example.org", "others", "mcp:mail", "web:example.org"}
	w.said()
	q := w.question()
	args := "url: https://a.example/\\u{202e}gpj.exe\nnote: one\n    two ``` [x](y) <b>\\u{200b}"
	why := "a page of the web was read (example.org), and words of somebody else were read, and words from the server mail were read"
	answers := "/allow " + q.Code + " or /deny " + q.Code
	want := "May I run **web_fetch**?\n\n````\n" + args + "\n````\nI ask because " + why + ". It waits until 14:10 (UTC).\nAnswer " + answers + "."
	if diff := cmp.Diff(want, q.Text(true)); diff != "" {
		t.Errorf("the question (-want +got):\n%s", diff)
	}
	args = "url: \"https://a.example/\\u{202e}gpj.exe\", note: \"one\\ntwo ``` [x](y) <b>\\u{200b}\""
	want = "May I run web_fetch with " + args + "? Because " + why + ". Answer " + answers + ". Until 14:10 (UTC)."
	if diff := cmp.Diff(want, q.Line()); diff != "" {
		t.Errorf("the question in one line (-want +got):\n%s", diff)
	}
}

// The arguments that decide most come first, then the short ones. What is no text is JSON.
func TestTextOrder(t *testing.T) {
	args := `{"body":"Hello","cc":["ann","bob"],"force":true,"path":"a.txt","to":"ann@a.example","why":" ","n":null,"m":12.50}`
	want := "to: ann@a.example\npath: a.txt\nwhy: \" \"\nforce: true\nn: null\nbody: Hello\nm: 12.50\ncc: [\"ann\",\"bob\"]"
	if diff := cmp.Diff(want, asked(t, args)); diff != "" {
		t.Errorf("the arguments (-want +got):\n%s", diff)
	}
	if got := asked(t, `{}`); got != "{}" {
		t.Errorf("no arguments are %q", got)
	}
}

// Long values are shown in part, and as a whole when somebody asks.
func TestLongText(t *testing.T) {
	w := newWorld(t)
	w.call.Args = `{"text":"` + strings.Repeat("ä", 4401) + `"}`
	w.said()
	q := w.question()
	want := "```\ntext: " + strings.Repeat("ä", 1000) + " … 3401 more\nAll of it: /approvals " + q.Code + "\n```"
	if !strings.Contains(q.Text(true), want) {
		t.Errorf("the question is %q, want it with %q", q.Text(true), want)
	}
	if line := q.Line(); !strings.Contains(line, `ää" … 4151 more (all of it: /approvals `+q.Code+")?") {
		t.Errorf("the line is %q", line)
	}
	found, is, err := w.book.Show(t.Context(), private, strings.ToLower(q.Code))
	if err != nil || !is || !strings.Contains(found.Whole(), "```\ntext: "+strings.Repeat("ä", 4401)+"\n```") {
		t.Errorf("Show = %v, %v, %q, want all of it", is, err, found.Whole())
	}
}

// A long value hides no other argument, not even where more is kept than a record holds.
func TestALongValueHidesNoOther(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 20_000)
	w.call.Args = `{"command":"` + long + `","note":"` + long + `","path":"/etc/passwd","zeal":"a\tb"}`
	w.said()
	q := w.question()
	for _, text := range []string{q.Text(true), q.Line(), q.Whole()} {
		for _, want := range []string{"/etc/passwd", `a\u{0009}b`, "command: ", "note: ", " more"} {
			if !strings.Contains(text, want) {
				t.Errorf("the question lacks %q:\n%.400s", want, text)
			}
		}
	}
	if n := utf8.RuneCountInString(q.Text(true)); n > 1600 {
		t.Errorf("the question has %d characters", n)
	}
}

// Many arguments, and those with long names, do not make a question endless.
func TestManyArguments(t *testing.T) {
	w := newWorld(t)
	all := []string{`"` + strings.Repeat("name", 500) + `":1`, `"url":"https://a.example"`}
	for i := range 300 {
		all = append(all, fmt.Sprintf(`"n%d":%d`, i, i))
	}
	w.call.Args = "{" + strings.Join(all, ",") + "}"
	w.said()
	q := w.question()
	text := q.Text(true)
	if !strings.Contains(text, "```\nurl: https://a.example\n") || !strings.Contains(text, "\n282 more arguments\nAll of it: /approvals ") || len(text) > 2000 {
		t.Errorf("the question is\n%s", text)
	}
	if line := q.Line(); len(line) > 1200 || !strings.Contains(line, "294 more arguments") {
		t.Errorf("the line is %q", line)
	}
	if whole := q.Whole(); !strings.Contains(whole, "n299: 299") {
		t.Errorf("the whole is\n%s", whole)
	}
}

// No value looks like another argument, or like the end of its marks.
func TestNoValueLooksLikeAnother(t *testing.T) {
	args := `{"body":"Hi\nto: ann\r\nAll of it: nothing\u2028to: ann","to":"eve\", to: \"ann","a\nto":"x","to: ann, b":"z"}`
	for line := range strings.SplitSeq(asked(t, args), "\n") {
		if strings.HasPrefix(line, "to: ") && !strings.Contains(line, "eve") || strings.HasPrefix(line, "All") {
			t.Errorf("a value has the line %q", line)
		}
	}
	w := newWorld(t)
	w.call.Args = args
	w.said()
	if line := w.question().Line(); strings.Contains(line, "\n") || !strings.Contains(line, `to: "eve\", to: \"ann", `) {
		t.Errorf("the line is %q", line)
	}
}
