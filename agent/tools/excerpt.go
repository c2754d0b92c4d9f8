package tools

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// excerpt is the part of text that has the most words of query, at most most
// runes, on one line.
func excerpt(text, query string, most int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	begin := max(0, min(densest(places(runes, query), most/2)-most/4, len(runes)-most))
	out := string(runes[begin : begin+most])
	if begin > 0 {
		out = "…" + out
	}
	if begin+most < len(runes) {
		out += "…"
	}
	return out
}

// place is where one of the words of a query is.
type place struct{ at, word int }

// places are those of the words of query in text, in order. Folding rune by
// rune keeps the positions of both the same.
func places(text []rune, query string) []place {
	folded := make([]rune, len(text))
	for i, r := range text {
		folded[i] = unicode.ToLower(r)
	}
	hay := string(folded)
	words := slices.Compact(slices.Sorted(strings.FieldsFuncSeq(strings.Map(unicode.ToLower, query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })))
	var all []place
	for n, word := range words {
		at, from := 0, 0 // the same position in runes and in bytes
		for {
			i := strings.Index(hay[from:], word)
			if i < 0 {
				break
			}
			at += utf8.RuneCountInString(hay[from : from+i])
			all = append(all, place{at, n})
			at += utf8.RuneCountInString(word)
			from += i + len(word)
		}
	}
	slices.SortFunc(all, func(a, b place) int { return a.at - b.at })
	return all
}

// densest is the place after which the given number of runes holds the most
// different words, the first of several; 0 if there is none.
func densest(all []place, within int) int {
	count, best, most, begin := map[int]int{}, 0, 0, 0
	for _, p := range all {
		for ; p.at-all[begin].at > within; begin++ {
			w := all[begin].word
			if count[w]--; count[w] == 0 {
				delete(count, w)
			}
		}
		if count[p.word]++; len(count) > most {
			most, best = len(count), all[begin].at
		}
	}
	return best
}
