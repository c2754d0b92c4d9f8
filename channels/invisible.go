package channels

import (
	"strings"
	"unicode"
)

// fillers look like letters or signs to programs and like nothing to people.
const fillers = "\u115f\u1160\u2800\u3164\uffa0"

// Invisible reports whether text shows nothing: it has only spaces, controls, marks without
// a letter and characters that are made to be empty.
func Invisible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.In(r, unicode.M) && !strings.ContainsRune(fillers, r)
	})
}
