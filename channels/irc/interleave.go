package irc

import (
	"strings"

	"dragoman/channels"
)

// cutLine is the length in bytes from which a piece was probably cut from a longer
// line.
const cutLine = 300

// Interleaves implements [channels.Interleaver]: answers take turns in channels,
// where at a line every two seconds the next person would wait too long.
func (c *Channel) Interleaves(k channels.Key) bool { return isRoom(k.Chat()) }

// Asker implements [channels.Interleaver]: it returns who wrote the message with
// that handle, by account if there is one.
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

// Continues implements [channels.Interleaver]: a line of code stays with the line
// before it, and so does the rest of a long line that was cut.
func (c *Channel) Continues(before, piece string) bool {
	return len(before) >= cutLine || strings.HasPrefix(strings.TrimPrefix(piece, remainderMark), renderedMark+verbatim)
}
