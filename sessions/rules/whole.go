package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
