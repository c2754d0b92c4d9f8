package terminal_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"dragoman/channels/terminal"

	"github.com/google/go-cmp/cmp"
)

func TestKeyboard(t *testing.T) {
	for _, c := range []struct {
		name  string
		reads []string
		want  []string
	}{
		{"text", []string{"héllo"}, []string{"text héllo"}},
		{"a character in two reads", []string{"\xc3", "\xa9"}, []string{"text é"}},
		{"control keys", []string{"\x01\x05\x7f\r\n\x03\x04\t"}, []string{"home", "end", "backspace", "enter", "newline", "interrupt", "eof", "tab"}},
		{"arrows", []string{"\x1b[A\x1bOB\x1b[1;5C\x1b[3~"}, []string{"up", "down", "word-right", "delete"}},
		{"an arrow in pieces", []string{"\x1b", "[", "D"}, []string{"left"}},
		{"unknown sequences", []string{"\x1b[99;9Xa\x1bzb"}, []string{"text ab"}},
		{"Escape by itself", []string{"\x1b", "x"}, []string{"text x"}},
		{"Alt+Enter", []string{"\x1b\r"}, []string{"newline"}},
		{"paste", []string{"a\x1b[200~x\r\ny\x1b[31m\t\x1b[201~b"}, []string{"text a", "paste x\r\ny\x1b[31m\t", "text b"}},
		{"paste in pieces", []string{"\x1b[20", "0~one\x1b", "[2", "01~"}, []string{"paste one"}},
		{"broken bytes", []string{"\xff\xfea\x80"}, []string{"text a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, terminal.Keys(c.reads...)); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEditor(t *testing.T) {
	for _, c := range []struct {
		name, typed, want string // "|" is the place
	}{
		{"insert in the middle", "ab\x1b[D" + "x", "ax|b"},
		{"backspace takes a whole family", "a👨‍👩‍👧‍👦\x7f", "a|"},
		{"backspace takes a letter with its accent", "ae\u0301\x7f", "a|"},
		{"backspace at the beginning", "\x7fa", "a|"},
		{"delete and end of line", "abc\x01\x1b[3~\x05", "bc|"},
		{"Ctrl-D in a line deletes", "abc\x01\x04", "|bc"},
		{"words", "one two  three\x17\x17", "one |"},
		{"word moves", "one two\x1bb\x1bbx\x1bf", "xone| two"},
		{"kill line and rest", "abc\x1b[D\x0b", "ab|"},
		{"kill to the beginning", "abc\x1b[D\x15", "|c"},
		{"paste keeps lines and drops what steers", "\x1b[200~a\r\nb\x07\x1b[31m\x1b[201~", "a\nb[31m|"},
		{"one command fits", "/n\t", "/new|"},
		{"several fit", "/s\t", "/st|"},
		{"nothing to complete", "s\t", "s|"},
		{"history", "\x1b[A\x1b[A\x1b[B", "second|"},
		{"history and back", "draft\x1b[A\x1b[B", "draft|"},
		{"beyond the history", "\x1b[A\x1b[A\x1b[A\x1b[A", "first|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := terminal.Edit([]string{"first", "second"}, c.typed); got != c.want {
				t.Errorf("after %q = %q, want %q", c.typed, got, c.want)
			}
		})
	}
}

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		name, typed string
		columns     int
		rows        []string
		row, column int
	}{
		{"empty", "", 20, []string{"› "}, 0, 2},
		{"one row", "hello", 20, []string{"› hello"}, 0, 7},
		{"full row", "abcdefgh", 10, []string{"› abcdefgh", ""}, 1, 0},
		{"wrapped", "abcdefghij", 10, []string{"› abcdefgh", "ij"}, 1, 2},
		{"place in the first row", "abcdefghij\x01", 10, []string{"› abcdefgh", "ij"}, 0, 2},
		{"wide characters do not split", "abcdefg漢", 10, []string{"› abcdefg", "漢"}, 1, 2},
		{"wide characters", "漢字", 20, []string{"› 漢字"}, 0, 6},
		{"lines", "a\nb\n", 20, []string{"› a", "  b", "  "}, 2, 2},
		{"tab", "\x1b[200~\tx\x1b[201~", 20, []string{"›     x"}, 0, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, row, column := terminal.Layout(c.typed, c.columns)
			if diff := cmp.Diff(c.rows, rows); diff != "" || row != c.row || column != c.column {
				t.Errorf("cursor at %d, %d, want %d, %d; rows (-want +got):\n%s", row, column, c.row, c.column, diff)
			}
		})
	}
}

func TestWriter(t *testing.T) {
	for _, c := range []struct{ name, markdown, want string }{
		{"wraps at words", "one two three four", "one two\nthree four\n"},
		{"exactly full", "123456789012", "123456789012\n"},
		{"a word that is too long", "12345678901234 x", "123456789012\n34 x\n"},
		{"paragraphs", "a\n\nb\n", "a\n\nb\n"},
		{"items hang", "- one two three\n10. four five six", "- one two\n  three\n10. four\n    five six\n"},
		{"nested item", "  - one two three", "  - one two\n    three\n"},
		{"heading", "## Big news\nx", "<b>## Big news</>\nx\n"},
		{"bold", "a **b c** d", "a <b>b c</> d\n"},
		{"bold over a line's end", "aaaa **bbbb cccc** d", "aaaa <b>bbbb</>\n<b>cccc</> d\n"},
		{"code", "`a b`, c", "<c>a b</>, c\n"},
		{"struck", "a ~~b c~~ **~~d~~** ~e ~~ f", "a <s>b c</> <b><s>d</> ~e\n~~ f\n"},
		{"no bold", "2**3 ** x *y*", "2**3 ** x\n*y*\n"},
		{"unclosed ends with the line", "**a\nb", "<b>a</>\nb\n"},
		{"block", "```go\n\tx := **y** `z` and very long\n```\nafter", "<d>```go</>\n<c>    x := **y** `z` and very long</>\n<d>```</>\nafter\n"},
		{"open block", "```\nx", "<d>```</>\n<c>x</>\n"},
		{"table", "| a | b | c | d |\n|---|---|---|---|", "| a | b | c | d |\n|---|---|---|---|\n"},
		{"no spaces", "漢字漢字漢字漢字", "漢字漢字漢字\n漢字\n"},
		{"steering", "a\x1b[2J\x07b\x1b]0;title\x07\u009bc\r\nd", "a[2Jb]0;titl\nec\nd\n"},
		{"a formula", "\\(**a**\\) **b**", "\\(**a**\\) <b>b</>\n"},
		{"a formula in lines", "$$\n# a **b\n- `c\n$$ `d`", "$$\n# a **b\n- `c\n$$ <c>d</>\n"},
		{"a formula in words", "\\[ ~~x\n= y \\],~~z~~", "\\[ ~~x\n= y \\],~~z~~\n"},
		{"a formula without an end", "\\[ **a**\n\n**b**", "\\[ **a**\n\n<b>b</>\n"},
		{"an escape", "\\\\( **a**", "\\\\( <b>a</>\n"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, piece := range []int{1000, 1, 3} {
				if diff := cmp.Diff(c.want, terminal.Set(c.markdown, 12, piece)); diff != "" {
					t.Errorf("in pieces of %d (-want +got):\n%s", piece, diff)
				}
			}
		})
	}
	if got := terminal.SetPlain("a **b** `c`", 40); got != "a **b** `c`\n" {
		t.Errorf("without styles = %q, want the marks to stay", got)
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"short": "short", "two\nlines": "two lines", "a long sentence": "a long s…", "漢字漢字漢字": "漢字漢字…", "": "",
	} {
		if got := terminal.OneLine(text, 9); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzEditor(f *testing.F) {
	f.Add("abc\x1b[D\x7f\x17", 10)
	f.Add("\x1b[200~a\r\nb\x1b[201~👨‍👩‍👧‍👦\t", 8)
	f.Fuzz(func(t *testing.T, typed string, columns int) {
		columns = 8 + max(0, columns)%100
		rows, row, column := terminal.Layout(typed, columns)
		if row < 0 || row >= len(rows) || column < 0 || column >= columns {
			t.Fatalf("the cursor is at %d, %d of %d rows of %d columns", row, column, len(rows), columns)
		}
		for _, r := range rows {
			if strings.ContainsFunc(r, unicode.IsControl) {
				t.Fatalf("row %q steers the terminal", r)
			}
		}
	})
}

func FuzzWriter(f *testing.F) {
	f.Add("# a **b** `c`\n```\nx\n```\n| t |\n- 漢字", 3)
	f.Fuzz(func(t *testing.T, markdown string, piece int) {
		if !utf8.ValidString(markdown) {
			t.Skip("what comes from the daemon is UTF-8")
		}
		got := terminal.Set(markdown, 12, 1+max(0, piece)%50)
		if got != terminal.Set(markdown, 12, len(markdown)+1) {
			t.Fatalf("in pieces of %d it is set differently", piece)
		}
		if strings.ContainsFunc(strings.ReplaceAll(got, "\n", ""), unicode.IsControl) || !utf8.ValidString(got) {
			t.Fatalf("%q steers the terminal", got)
		}
	})
}
