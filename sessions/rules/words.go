package rules

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"dragoman/sessions"
)

// SearchBytes is how much of one message can be found by search: tokenising
// a message of many megabytes would hold up everyone else's writes.
const SearchBytes = 64 << 10

// Words cuts s into the words that search compares: runs of letters, digits
// and marks in lower case. Scripts that put no spaces between words count as
// one word a character, so that any part of a sentence can be found.
func Words(s string) []string {
	var words []string
	start := -1
	flush := func(end int) {
		if start >= 0 {
			words = append(words, strings.ToLower(s[start:end]))
			start = -1
		}
	}
	for i, r := range s {
		switch {
		case unspaced(r):
			flush(i)
			words = append(words, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			if start < 0 {
				start = i
			}
		default:
			flush(i)
		}
	}
	flush(len(s))
	return words
}

func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Searchable is the part of content that search looks at.
func Searchable(content string) string {
	if len(content) > SearchBytes {
		content = strings.ToValidUTF8(content[:SearchBytes], "")
	}
	return content
}

// Query is the distinct words of what a person typed, in order.
func Query(typed string) []string {
	var q []string
	for _, w := range Words(typed) {
		if !slices.Contains(q, w) {
			q = append(q, w)
		}
	}
	// More words than this are a pasted text, not a search.
	return q[:min(len(q), 32)]
}

// Score says how well text answers the query: how many of its words it has.
func Score(query []string, text string) int {
	have := map[string]bool{}
	for _, w := range Words(Searchable(text)) {
		have[w] = true
	}
	n := 0
	for _, w := range query {
		if have[w] {
			n++
		}
	}
	return n
}

// Best returns at most limit of all that score, best first and, between
// equals, the later first. Items come in from oldest to newest.
func Best[T any](query []string, all []T, text func(T) string, limit int) []T {
	type hit struct{ score, at int }
	var hits []hit
	for i, x := range all {
		if n := Score(query, text(x)); n > 0 {
			hits = append(hits, hit{n, i})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.at, a.at))
	})
	var best []T
	for _, h := range hits[:min(len(hits), max(limit, 0))] {
		best = append(best, all[h.at])
	}
	return best
}

// BestFound is Best over conversations: between equals, the later first.
func BestFound(query []string, found []sessions.Found, limit int) []sessions.Found {
	slices.SortFunc(found, func(a, b sessions.Found) int {
		return cmp.Or(a.Message.At.Compare(b.Message.At), cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.Message.Seq, b.Message.Seq))
	})
	return Best(query, found, func(f sessions.Found) string { return f.Message.Content }, limit)
}
