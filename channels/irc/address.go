package irc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/internal/lazily"
)

// command turns "!help" into "/help" if the word is a known command. If the line was said
// to us alone (forUs), any word is a command: it cannot be for another bot.
func command(text string, known map[string]bool, forUs bool) string {
	if !strings.HasPrefix(text, "!") {
		return text
	}
	word, _, _ := strings.Cut(text[1:], " ")
	if !known[strings.ToLower(word)] && !(forUs && isName(word)) {
		return text
	}
	return "/" + strings.ToLower(word) + text[1+len(word):]
}

// isName reports whether word can name a command: it has letters alone, and no sign of code.
// A "!more" that shows no more lines is a question: the model knows its answer.
func isName(word string) bool {
	return word != "" && !strings.EqualFold(word, "more") && strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// colours matches the two colour codes with the numbers that follow them.
var colours = lazily.Compile("\x03(?:[0-9]{1,2}(?:,[0-9]{1,2})?)?|\x04(?:[0-9A-Fa-f]{6}(?:,[0-9A-Fa-f]{6})?)?")

// plain strips formatting and control characters from s. Text that is not UTF-8
// comes from old clients and is read as Latin-1, which never fails and is right
// for most of them.
func plain(s string) string {
	if !utf8.ValidString(s) {
		runes := make([]rune, 0, len(s))
		for i := range len(s) {
			runes = append(runes, rune(s[i]))
		}
		s = string(runes)
	}
	s = colours.Regexp().ReplaceAllString(s, "")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\n': // Only between the lines of one message.
			return r
		case unicode.IsControl(r), '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
			return -1 // The last two ranges change the text direction: a line could show other words than it has.
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}
