package markup_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"dragoman/channels/markup"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	a, b := strings.Repeat("a", 90), strings.Repeat("b", 90)
	c, d := strings.Repeat("c", 130), strings.Repeat("d", 60)
	utf16 := func(r rune) int { return utf8.RuneLen(r)/4 + 1 }
	tests := []struct {
		name, text string
		ruler      markup.Ruler
		want       []string
	}{
		{"fits", "a\n\nb", markup.Ruler{Most: 200}, []string{"a\n\nb"}},
		{"empty", "", markup.Ruler{Most: 200}, []string{"…"}},
		{"nothing to see", " \n\u202e\n", markup.Ruler{Most: 200}, []string{"…"}},
		{"a rule below a table", "Here:\n|a|b|\n|-|-|\n|1|2|\n---\nend", markup.Ruler{Most: 200}, []string{"Here:\n|a|b|\n|-|-|\n|1|2|\n\n---\nend"}},
		{"at a paragraph", a + "\n\n" + b + b, markup.Ruler{Most: 200}, []string{a, b + b}},
		{"at a space", strings.Repeat("a", 150) + " " + b, markup.Ruler{Most: 200}, []string{strings.Repeat("a", 150), b}},
		{"not in a link", a + " [two words](https://example.org/" + strings.Repeat("x", 99) + ") b", markup.Ruler{Most: 200}, []string{a, "[two words](https://example.org/" + strings.Repeat("x", 99) + ") b"}},
		{"not in a formula", c + "\n\\[\n" + d + "\n" + d + "\n\\]\nend", markup.Ruler{Most: 200}, []string{c, "\\[\n" + d + "\n" + d + "\n\\]\nend"}},
		{"not at a space in a formula", c + ` \(` + d + " = " + d + `\)`, markup.Ruler{Most: 240}, []string{c, `\(` + d + " = " + d + `\)`}},
		{"a bar in a formula", "|a|b|\n|-|-|\n|\\(|x|\\)|c|d|", markup.Ruler{Most: 200}, []string{"|a|b|\n|-|-|\n|\\(|x|\\)|c\\|d|"}},
		{
			"in a code block", "```go\n" + strings.Repeat("x\n", 120) + "```\nend",
			markup.Ruler{Most: 200},
			[]string{"```go\n" + strings.Repeat("x\n", 92) + "```", "```go\n" + strings.Repeat("x\n", 28) + "```\nend"},
		},
		{"characters", strings.Repeat("🙂", 200), markup.Ruler{Most: 200}, []string{strings.Repeat("🙂", 200)}},
		{"UTF-16", strings.Repeat("🙂", 200), markup.Ruler{Most: 200, Unit: utf16}, []string{strings.Repeat("🙂", 83), strings.Repeat("🙂", 83), strings.Repeat("🙂", 34)}},
		{"bytes", strings.Repeat("🙂", 100), markup.Ruler{Most: 200, Unit: utf8.RuneLen}, []string{strings.Repeat("🙂", 41), strings.Repeat("🙂", 41), strings.Repeat("🙂", 18)}},
		{"a family stays together", strings.Repeat("x", 165) + "👨‍👩‍👧‍👦" + b, markup.Ruler{Most: 200}, []string{strings.Repeat("x", 165), "👨‍👩‍👧‍👦" + b}},
		{
			"grows when shown", strings.Repeat(a+"\n", 12),
			markup.Ruler{Most: 1000, Shown: func(s string) int { return 2 * len(s) }},
			[]string{lines(a, 4), lines(a, 3), lines(a, 3), lines(a, 2)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, markup.Split(tt.text, tt.ruler)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func lines(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+"\n", n), "\n") }

// FuzzSplit checks for any measure: pieces are never empty, always fit, and together hold
// every letter.
func FuzzSplit(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, uint16(1), uint8(0))
		f.Add(s+"\n", uint16(90), uint8(1))
		f.Add(s, uint16(300), uint8(2))
	}
	f.Add("|a long cell here|b|\n|-|-|\n", uint16(300), uint8(0))
	f.Add("    - item\n", uint16(1000), uint8(1))
	f.Add("e\u0301\u0301\u0301\u0301", uint16(3000), uint8(2))
	units := []func(rune) int{nil, utf8.RuneLen, func(r rune) int { return utf8.RuneLen(r)/4 + 1 }}
	f.Fuzz(func(t *testing.T, unit string, times uint16, measure uint8) {
		if len(unit)*int(times) > 50_000 {
			t.Skip("too long for a fuzzer")
		}
		md, r := strings.Repeat(unit, int(times)), markup.Ruler{Most: 200, Unit: units[int(measure)%len(units)]}
		pieces := markup.Split(md, r)
		if len(pieces) == 0 {
			t.Fatal("no pieces")
		}
		for i, p := range pieces {
			size := 0
			for _, c := range p {
				size++
				if r.Unit != nil {
					size += r.Unit(c) - 1
				}
			}
			if strings.TrimSpace(p) == "" || !utf8.ValidString(p) || size > r.Most {
				t.Errorf("piece %d has %d units: %q", i, size, p)
			}
		}
		if strings.ContainsAny(md, "`~|") {
			return // code blocks and tables are repeated
		}
		if strings.Contains(md, "://") && strings.Contains(md, "]:") || strings.Contains(md, "<") {
			return // addresses go where they are used, and sections are not folded
		}
		if want, got := letters(md), letters(strings.Join(pieces, "")); want != got {
			t.Errorf("%d letters became %d", len(want), len(got))
		}
	})
}

// letters returns the characters that no markup consumes. (A digit may be a list's number.)
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, ""))
}
