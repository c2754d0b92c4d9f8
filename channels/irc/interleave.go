package irc

import (
	"strings"

	"dragoman/channels"
)

// cutLine is how long the first part of a cut line mostly is at least.
const cutLine = 300

// Interleaves implements [channels.Interleaver]: answers take turns in rooms,
// where a line every two seconds is a long wait for the next person.
func (c *Channel) Interleaves(k channels.Key) bool { return isRoom(k.Chat()) }

// Asker implements [channels.Interleaver]: who wrote the message with that
// handle, by account where they have one.
func (c *Channel) Asker(handle string) string {
	nick, id, ok := parseHandle(handle)
	switch {
	case !ok:
		return ""
	case id.account != "":
		return "account " + foldRFC.fold(id.account)
	}
	return maskOf(foldRFC.fold(nick), id)
}

// Continues implements [channels.Interleaver]: a line of code stays with the one
// before it, and so does what follows a line that was probably cut, because it is
// so long.
func (c *Channel) Continues(before, piece string) bool {
	return len(before) >= cutLine || strings.HasPrefix(strings.TrimPrefix(piece, restMark), rendered+verbatim)
}
