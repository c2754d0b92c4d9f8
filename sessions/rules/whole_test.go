package rules_test

import (
	"strings"
	"testing"
	"unicode"

	"dragoman/sessions/rules"
)

func TestHasWord(t *testing.T) {
	for name, tt := range map[string]struct {
		text, word string
		want       bool
	}{
		"alone":                    {"ann", "ann", true},
		"between others":           {"so ann, said", "ann", true},
		"longer":                   {"annex", "ann", false},
		"behind letters":           {"hann", "ann", false},
		"beside digits":            {"ann2 2ann", "ann", false},
		"beside marks of others":   {"_ann_", "ann", true},
		"the second":               {"annex of ann", "ann", true},
		"case":                     {"Ann", "ann", false},
		"overlaps itself":          {"xann-ann-ann", "ann-ann", true},
		"overlaps itself, tight":   {"xa a a", "a a", true},
		"overlaps itself, nowhere": {"xann-ann-annx", "ann-ann", false},
		"accent as one":            {"jos\u00e9", "jos", false},
		"accent by itself":         {"jose\u0301", "jose", false},
		"accent in the word":       {"a jose\u0301!", "jose\u0301", true},
		"accent in the word, more": {"a jose\u0301\u0302!", "jose\u0301", false},
		"Greek":                    {"η Άννα ήρθε", "Άννα", true},
		"Greek, longer":            {"η Άννας", "Άννα", false},
		"Devanagari vowel sign":    {"अनाम", "अन", false},
		"Devanagari":               {"यह अना है", "अना", true},
		"Arabic with vowels":       {"\u0622\u0646\u064e", "\u0622\u0646", false},
		"no spaces between words":  {"安娜说", "安娜", false},
		"Chinese between points":   {"。安娜，", "安娜", true},
		"digits of another script": {"ann٣", "ann", false},
		"emoji":                    {"🙂ann🙂", "ann", true},
		"no word":                  {"a b", "", false},
		"nothing in nothing":       {"", "", false},
		"no text":                  {"", "ann", false},
		"longer than the text":     {"an", "ann", false},
		"broken beside it":         {"\xe2ann\x80", "ann", true},
		"broken, longer":           {"\xe2ann\x80 anna", "anna", true},
		"broken word":              {"a \xff\xfe b", "\xff\xfe", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rules.HasWord(tt.text, tt.word); got != tt.want {
				t.Errorf("HasWord(%q, %q) = %v, want %v", tt.text, tt.word, got, tt.want)
			}
		})
	}
}

// hasWordSlowly tries every position of text.
func hasWordSlowly(text, word string) bool {
	part := func(r rune) bool { return unicode.In(r, unicode.Letter, unicode.Mark, unicode.Nd) }
	for i := range len(text) {
		rest, here := strings.CutPrefix(text[i:], word)
		before, after := []rune(text[:i]), []rune(rest)
		if word != "" && here && (i == 0 || !part(before[len(before)-1])) && (rest == "" || !part(after[0])) {
			return true
		}
	}
	return false
}

// TestHasWordEverywhere tries every text and every word that can be made of a few pieces,
// most of which overlap.
func TestHasWordEverywhere(t *testing.T) {
	pieces := []string{"a", "aa", "-", " ", "\u0301", "é", "1", "\xff"}
	var made []string
	for _, a := range append(pieces, "") {
		for _, b := range append(pieces, "") {
			for _, c := range append(pieces, "") {
				made = append(made, a+b+c)
			}
		}
	}
	for _, x := range made {
		for _, word := range made {
			for _, text := range []string{x, x + "-" + word, x + word + x} {
				if got, want := rules.HasWord(text, word), hasWordSlowly(text, word); got != want {
					t.Fatalf("HasWord(%q, %q) = %v, want %v", text, word, got, want)
				}
			}
		}
	}
}

func FuzzHasWord(f *testing.F) {
	f.Add("xann-ann-ann", "ann-ann")
	f.Add("jose\u0301", "jose")
	f.Add("\xe2ann\x80", "")
	f.Fuzz(func(t *testing.T, text, word string) {
		if got, want := rules.HasWord(text, word), hasWordSlowly(text, word); got != want {
			t.Errorf("HasWord(%q, %q) = %v, want %v", text, word, got, want)
		}
	})
}
