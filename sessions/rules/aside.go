package rules

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/sessions"
)

// leastName is how long a chat's or a person's id is that is looked for in
// what nobody could read: shorter ones stand in everything by chance.
const leastName = 5

// AsideNames reports whether a is about somebody or some chat that e erases.
// Nobody could read it, so all there is to go by is whether one of their ids
// stands in it, as a whole.
func AsideNames(a sessions.Aside, e sessions.Erasure) bool {
	names := SendersByChannel(e.Senders)[a.Channel]
	for _, k := range e.Keys {
		if k.Channel() == a.Channel {
			names = append(names, k.Chat())
		}
	}
	text := slices.Concat([]byte(a.ID+"\n"), a.Raw)
	return slices.ContainsFunc(names, func(name string) bool {
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "+"), "@") // as WhatsApp's own ids have it
		return len(name) >= leastName && containsWord(text, []byte(name))
	})
}

// containsWord reports whether word stands in text with neither a letter nor a
// digit beside it.
func containsWord(text, word []byte) bool {
	beside := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; from++ {
		i := bytes.Index(text[from:], word)
		if i < 0 {
			return false
		}
		from += i
		before, _ := utf8.DecodeLastRune(text[:from])
		after, _ := utf8.DecodeRune(text[from+len(word):])
		if !beside(before) && !beside(after) {
			return true
		}
	}
}
