package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// HasWord reports whether word stands in text by itself: with no letter, mark
// or digit beside it. A mark belongs to the letter before it, so "Jose" does not
// stand in "José", however that is written. Case counts. No text has the empty
// word in it.
//
// An erasure finds by it what was set aside of somebody, so it may miss nothing:
// a hit inside a longer word says nothing about one that begins inside of it, as
// the second "ann-ann" of "xann-ann-ann" does.
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

// inWord reports whether r is part of a word. What is not UTF-8 is of none.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }
