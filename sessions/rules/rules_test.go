package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dragoman/sessions/rules"
)

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        nil,
		"  \t\n.,;":               nil,
		"The quick, brown FOX!":   {"the", "quick", "brown", "fox"},
		"don't foo_bar-42":        {"don", "t", "foo", "bar", "42"},
		"Straße ΚΡΉΤΗ":            {"straße", "κρήτη"},
		"Café 😀👍🏽 ☕":              {"café"}, // as docs/sessions.md says
		"東京tower":                 {"東", "京", "tower"},
		"e\u0301te\u0301":         {"e\u0301te\u0301"},
		"\"quotes\" (and) *stars": {"quotes", "and", "stars"},
	} {
		if got := rules.Words(text); !slices.Equal(got, want) {
			t.Errorf("Words(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestGeneration(t *testing.T) {
	for n, want := range map[int64]string{1: "20260601_001", 999: "20260601_999", 1000: "20260601_1000"} {
		if got := rules.Generation(rules.Day(time.Date(2026, 6, 2, 1, 0, 0, 0, time.FixedZone("", 7200))), n); got != want {
			t.Errorf("Generation(%d) = %q, want %q", n, got, want)
		}
	}
}

// ParseGeneration refuses ids that Generation does not make.
func TestParseGeneration(t *testing.T) {
	for id, want := range map[string]int64{
		"20260601_001": 1, "20260601_1000": 1000,
		"": 0, "20260601": 0, "20260601_": 0, "20260601_1": 0, "20260601_0001": 0, "20260601_-01": 0, "20260601_+01": 0, "20260601_000": 0,
		"20261301_001": 0, "abcdefgh_001": 0, "../../.._001": 0, "20260601_001 ": 0, "20260601_99999999999999999999": 0,
	} {
		day, n, err := rules.ParseGeneration(id)
		if n != want || (err == nil) != (want > 0) || want > 0 && day != "20260601" {
			t.Errorf("ParseGeneration(%q) = %q, %d, %v; want number %d", id, day, n, err, want)
		}
	}
}

// FuzzWords: no word has a character with a meaning in SQLite's query language.
func FuzzWords(f *testing.F) {
	f.Add("a \"quoted\" AND (b*)")
	f.Add("\xff\x00東京")
	f.Fuzz(func(t *testing.T, s string) {
		for _, w := range rules.Words(rules.Text(s)) {
			if w == "" || strings.ContainsAny(w, "\"'*():^-+{} \x00") || !utf8.ValidString(w) {
				t.Errorf("word %q of %q", w, s)
			}
		}
		if n := len(rules.Query(s)); n > 32 {
			t.Errorf("a query of %d words", n)
		}
	})
}
