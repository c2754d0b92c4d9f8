package heartbeat

import (
	"strings"
	"unicode"

	"dragoman/internal/lazily"
)

const (
	// token is HEARTBEAT_OK as models write it.
	token = `(?i:heartbeat[\s_\\\-\x{2013}\x{2014}]*ok)`
	// dress is what they put around it: Markdown, quotes, tags. It has no white space, so
	// that it does not belong to the words beside the token.
	dress = `(?:</?[A-Za-z][A-Za-z0-9]*>|[^\s\pL\pN\pS<>@#]|["^~+|=$` + "`" + `])*`
)

// The token at the beginning and at the end of an answer, with the sign that separates it
// from a remark. Only a whole word counts.
var (
	tokenFirst = lazily.Compile(`^[\s\x{FEFF}]*` + dress + `\s*` + token + dress + `(?:$|[ \t]+(?:[-:\x{2013}\x{2014}]+[ \t]+)?|\s)\s*`)
	tokenLast  = lazily.Compile(`(?:^|[\s\pP\pS])` + dress + token + dress + `\s*` + dress + `\s*$`)
)

// silent is the token of other assistants, which prompts and models bring along. Only an
// answer that is nothing else is silence: elsewhere the word can belong to an address.
var silent = lazily.Compile(`^[\s\x{FEFF}]*(?:` + dress + `\s*(?i:no\\?[_\-\x{2013}]reply)` + dress + `\s*)+$`)

// allClear are signs that say no more than the token does.
const allClear = "\U0001F44D✅✔☑\U0001F44C\U0001F197\U0001F7E2\U0001F634\U0001F4A4\uFE0F"

// News is what a job's answer tells the person; "" if there is nothing to tell. That is
// so if the answer has only white space and punctuation, or only HEARTBEAT_OK, in any case
// and dress ("**HEARTBEAT_OK**.", "Heartbeat ok"), or only NO_REPLY. Whatever else is beside the token is
// delivered without it: a needless alarm is better than a missed one.
func News(answer string) string {
	rest := answer
	for {
		at := tokenFirst.Regexp().FindStringIndex(rest)
		if at == nil {
			break
		}
		rest = rest[at[1]:]
	}
	for {
		at := tokenLast.Regexp().FindStringIndex(rest)
		if at == nil {
			break
		}
		rest = rest[:at[0]]
	}
	if !strings.ContainsFunc(rest, isVisible) || silent.Matches(rest) {
		return ""
	}
	if rest == answer {
		return answer
	}
	rest = strings.TrimSpace(rest)
	if strings.Count(rest, "```")%2 == 1 { // the token was in the same code
		rest = strings.TrimSpace(strings.TrimSuffix(rest, "```"))
	}
	return rest
}

// isVisible reports whether r says something, as letters, digits and signs like
// emoji do. Punctuation and the signs of Markdown do not.
func isVisible(r rune) bool {
	if strings.ContainsRune(allClear, r) {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) && r > unicode.MaxASCII
}
