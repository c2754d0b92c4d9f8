package irc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/internal/lazily"
)

// addressed reads how one is spoken to on IRC and returns what was said
// without the name. These count, in any case of letters:
//
//	nick: text    nick, text    @nick text    @nick: text    nick    nick?
//	text, nick    text, @nick?  (nothing is taken away here)
//
// A name in the middle does not ("ask nick about it" is about us), nor
// "nick text" without a sign, nor "nick:8080".
func addressed(text string, nicks []string, f folder) (rest string, ok bool) {
	for _, nick := range nicks {
		if nick == "" {
			continue
		}
		if rest, ok := spokenTo(text, nick, f); ok {
			return rest, true
		}
	}
	return text, false
}

func spokenTo(text, nick string, f folder) (rest string, ok bool) {
	at := strings.HasPrefix(text, "@")
	body := strings.TrimPrefix(text, "@")
	if len(body) >= len(nick) && f.same(body[:len(nick)], nick) {
		after := body[len(nick):]
		for _, wide := range []string{"\uff1a", "\uff0c"} { // full-width colon and comma, which no space follows
			if rest, found := strings.CutPrefix(after, wide); found {
				after = ": " + strings.TrimSpace(rest)
			}
		}
		tail := strings.TrimLeft(after, ":,")
		space := tail == "" || startsWithSpace(tail)
		switch {
		case strings.Trim(after, " :,?!.") == "":
			return text, true // The bare name: "nick?" says something itself.
		case space && len(after)-len(tail) == 1, at && space:
			return strings.TrimSpace(tail), true
		}
	}
	end := strings.TrimRight(text, " ?!.")
	if len(end) > len(nick) && f.same(end[len(end)-len(nick):], nick) {
		before := strings.TrimSuffix(end[:len(end)-len(nick)], "@")
		if strings.HasSuffix(before, ", ") {
			return text, true
		}
	}
	return text, false
}

func startsWithSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// command turns "!help" into "/help" for the words that are commands, since
// IRC clients keep a leading "/" for themselves.
func command(text string, known map[string]bool) string {
	if !strings.HasPrefix(text, "!") {
		return text
	}
	word, _, _ := strings.Cut(text[1:], " ")
	if !known[strings.ToLower(word)] {
		return text
	}
	return "/" + strings.ToLower(word) + text[1+len(word):]
}

// colours matches the two colour codes with their numbers, which would stay
// in the text as digits if only the code went.
var colours = lazily.Compile("\x03(?:[0-9]{1,2}(?:,[0-9]{1,2})?)?|\x04(?:[0-9A-Fa-f]{6}(?:,[0-9A-Fa-f]{6})?)?")

// plain is what was said without formatting and control characters. Text that
// is not UTF-8 comes from old clients and is read as Latin-1, which never
// fails and is right for most of them.
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
			return -1 // The last ones turn what follows around: a line can show other words than it has.
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}
