package heartbeat

import (
	"strings"
	"unicode"
)

// okToken is what the model answers when there is nothing to say.
const okToken = "heartbeat_ok"

// maxAside is how many letters an answer may have beside the token and still
// count as silence.
const maxAside = 40

// Silent reports whether an answer of a job means that there is nothing to
// tell. That is so when it
//
//   - has nothing but white space and punctuation in it, or
//   - begins or ends with HEARTBEAT_OK, in any case and dressed in any
//     punctuation or Markdown ("**HEARTBEAT_OK**.", "Heartbeat ok"), and has
//     beside it at most one short remark of 40 letters ("nothing to report")
//     without a digit, a question, a link or a mention.
//
// A remark that could be news is told: an alarm too many is better than one
// that nobody hears.
func Silent(answer string) bool {
	if !strings.ContainsFunc(answer, isVisible) {
		return true
	}
	words := strings.FieldsFunc(strings.ToLower(answer), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	rest, found := cutToken(words)
	if !found || strings.ContainsAny(answer, "?？؟@") || strings.Contains(answer, "://") {
		return false
	}
	letters := 0
	for _, word := range rest {
		if strings.ContainsFunc(word, unicode.IsDigit) {
			return false
		}
		letters += len([]rune(word))
	}
	return letters <= maxAside
}

// isVisible reports whether r says something: letters, digits, and signs like
// emoji do; punctuation and what Markdown is made of do not.
func isVisible(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) && r > unicode.MaxASCII
}

// cutToken takes the token off the beginning or the end of an answer's words.
// Splitting at punctuation has made two words of it, unless the model wrote
// it without any.
func cutToken(words []string) (rest []string, found bool) {
	for _, token := range [][]string{strings.Split(okToken, "_"), {strings.ReplaceAll(okToken, "_", "")}} {
		n := len(token)
		if len(words) < n {
			continue
		}
		if same(words[:n], token) {
			return words[n:], true
		}
		if same(words[len(words)-n:], token) {
			return words[:len(words)-n], true
		}
	}
	return nil, false
}

func same(a, b []string) bool { return strings.Join(a, " ") == strings.Join(b, " ") }
