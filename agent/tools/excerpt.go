package tools

import (
	"slices"
	"strings"
	"unicode"
)

// excerpt returns the part of text with the most words of query, at most most runes,
// on one line.
func excerpt(text, query string, most int) string {
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	if len(runes) <= most {
		return string(runes)
	}
	begin := min(densest(runes, query, most), len(runes)-most)
	out := string(runes[begin : begin+most])
	if begin > 0 {
		out = "…" + out
	}
	if begin+most < len(runes) {
		out += "…"
	}
	return out
}

// densest returns the start of the part of text with the most words of query. Parts
// have size runes and overlap by half; the first of several wins.
func densest(text []rune, query string, size int) (begin int) {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(words)
	words, most := slices.Compact(words), 0
	for at := 0; at < len(text); at += size / 2 {
		part, n := strings.ToLower(string(text[at:min(at+size, len(text))])), 0
		for _, word := range words {
			if strings.Contains(part, word) {
				n++
			}
		}
		if n > most {
			begin, most = at, n
		}
	}
	return begin
}
