package rules

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/sessions"
)

// SearchBytes is how many bytes of different words of one message a search can
// find: indexing millions of words would block all writers. People and models repeat
// their words and stay far below it, however long a text is; only long lists of
// numbers or names are cut.
const SearchBytes = 1 << 20

// Words cuts s into words for a search: runs of letters, digits and marks, in lower
// case. In scripts without spaces each character is a word, so that any part of a
// sentence can be found.
func Words(s string) []string { return slices.Collect(eachWord(s)) }

// eachWord yields the words of s.
func eachWord(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for start, end := range eachSpan(s) {
			if !yield(strings.ToLower(s[start:end])) {
				return
			}
		}
	}
}

// eachSpan yields where each word of s begins and ends.
func eachSpan(s string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		start := -1
		for i, r := range s {
			part := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsNumber(r) || unicode.IsMark(r)
			alone := unspaced(r)
			if start >= 0 && (alone || !part) {
				if !yield(start, i) {
					return
				}
				start = -1
			}
			switch {
			case alone:
				if !yield(i, i+utf8.RuneLen(r)) {
					return
				}
			case part && start < 0:
				start = i
			}
		}
		if start >= 0 {
			yield(start, len(s))
		}
	}
}

func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Searchable yields the words of content that a search can find. Those of a long content
// come once each, up to SearchBytes.
func Searchable(content string) iter.Seq[string] {
	const short = 4 << 10 // up to here, removing repeated words does not pay
	if len(content) <= short {
		return eachWord(content)
	}
	return func(yield func(string) bool) {
		seen, size := map[string]struct{}{}, 0
		for w := range eachWord(content) {
			if _, before := seen[w]; before {
				continue
			}
			size += len(w)
			if size > SearchBytes || !yield(w) {
				return
			}
			seen[w] = struct{}{}
		}
	}
}

// Searched reports whether a search can find m.
func Searched(m sessions.Message) bool { return !m.IsFound() }

// Begins reports whether w, a word of a query, matches all words that begin with it.
// In Korean, particles like "of" are appended to a word, so a plain word is rare.
func Begins(w string) bool {
	r, _ := utf8.DecodeLastRuneInString(w)
	return unicode.Is(unicode.Hangul, r)
}

// Query returns the distinct words that a person typed, in order.
func Query(typed string) []string {
	var q []string
	for _, w := range Words(typed) {
		if !slices.Contains(q, w) {
			q = append(q, w)
		}
	}
	// More words are a pasted text, not a search.
	return q[:min(len(q), 32)]
}

// matches reports whether word is one that w, a word of a query, finds.
func matches(w, word string) bool {
	return word == w || Begins(w) && strings.HasPrefix(word, w)
}

// Located returns where text has words of the query, the first ones up to most. Neighbours
// in a script without spaces are one mark.
func Located(query []string, text string, most int) (marks []sessions.Mark) {
	for start, end := range eachSpan(text) {
		word := strings.ToLower(text[start:end])
		if !slices.ContainsFunc(query, func(w string) bool { return matches(w, word) }) {
			continue
		}
		if n := len(marks); n > 0 && marks[n-1].End == start {
			marks[n-1].End = end
			continue
		}
		if len(marks) == most {
			break
		}
		marks = append(marks, sessions.Mark{Start: start, End: end})
	}
	return marks
}

// Score counts the words of the query that text has.
func Score(query []string, text string) int {
	if len(query) == 0 {
		return 0
	}
	have, n := make([]bool, len(query)), 0
	for word := range eachWord(text) {
		for i, w := range query {
			if !have[i] && matches(w, word) {
				have[i] = true
				n++
			}
		}
		if n == len(query) {
			break
		}
	}
	return n
}

// Best returns at most limit of the items with a score, best first, and the newer of
// equals first. all is from oldest to newest.
func Best[T any](query []string, all []T, text func(T) string, limit int) (found []T) {
	type hit struct{ score, at int }
	var hits []hit
	for i, x := range all {
		if n := Score(query, text(x)); n > 0 {
			hits = append(hits, hit{n, i})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.at, a.at)) })
	for _, h := range hits[:min(len(hits), max(limit, 0))] {
		found = append(found, all[h.at])
	}
	return found
}

// HasWord reports whether text has word with no letter, mark or digit next to it. A
// mark belongs to the letter before it, so "José" does not have "Jose", in either
// spelling. Case matters. No text has the empty word.
//
// An erasure finds a person's quarantined messages with it, so it must not miss any. After
// a hit inside a longer word it also checks hits that overlap the first, like the second
// "ann-ann" of "xann-ann-ann".
func HasWord(text, word string) bool {
	if word == "" {
		return false
	}
	for from := 0; ; from++ {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		from += i
		before, _ := utf8.DecodeLastRuneInString(text[:from])
		after, _ := utf8.DecodeRuneInString(text[from+len(word):])
		if !inWord(before) && !inWord(after) {
			return true
		}
	}
}

// inWord reports whether r is part of a word.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }
