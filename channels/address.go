package channels

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SpokenTo reports whether text in a shared chat is addressed to one of names,
// and returns it without the name. These forms count:
//
//	name: text    name, text    name:text    @name text    @name: text    name    name?
//	text, name    text, @name?  (returned unchanged)
//
// A name in the middle does not count ("ask name about it" is about us), nor does
// "name text" without a sign, nor "name:8080". same compares two names of equal
// length.
func SpokenTo(text string, names []string, same func(a, b string) bool) (rest string, ok bool) {
	for _, name := range names {
		if name == "" {
			continue
		}
		if rest, ok := spokenTo(text, name, same); ok {
			return rest, true
		}
	}
	return text, false
}

func spokenTo(text, name string, same func(a, b string) bool) (rest string, ok bool) {
	body, at := strings.CutPrefix(text, "@")
	if len(body) >= len(name) && same(body[:len(name)], name) {
		after := body[len(name):]
		for _, wide := range []string{"\uff1a", "\uff0c"} { // full-width colon and comma, which no space follows
			if rest, found := strings.CutPrefix(after, wide); found {
				after = ": " + strings.TrimSpace(rest)
			}
		}
		tail := strings.TrimLeft(after, ":,")
		first, _ := utf8.DecodeRuneInString(tail)
		space := tail == "" || unicode.IsSpace(first)
		switch {
		case strings.Trim(after, " :,?!.") == "":
			return text, true // the name alone: "name?" is a question itself
		case len(after)-len(tail) == 1 && (space || unicode.IsLetter(first)), at && space:
			return strings.TrimSpace(tail), true
		}
	}
	end := strings.TrimRight(text, " ?!.")
	if len(end) > len(name) && same(end[len(end)-len(name):], name) {
		before := strings.TrimSuffix(end[:len(end)-len(name)], "@")
		return text, strings.HasSuffix(before, ", ")
	}
	return text, false
}
