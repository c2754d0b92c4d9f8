package irc

import (
	"strings"

	"dragoman/channels"
)

// A line of the protocol has 512 bytes with its CR LF, and the server puts
// our own name before it: ":nick!user@host PRIVMSG target :text".
const (
	maxLine = 510
	maxHost = 63 // what servers bound host names by
)

// budget is how many bytes of text fit into a line to target when we are
// called nick!user@host there.
func budget(nick, user, host, target string) int {
	return maxLine - len(":!@ PRIVMSG  :") - len(nick) - len(user) - len(host) - len(target)
}

// Split cuts an answer into pieces of one line each: by lines, then by bytes
// at the borders of graphemes, at spaces where it can. It assumes the longest
// name that we may have by then, so a piece still fits after a change of nick
// or host. Code keeps its indentation; empty lines, which IRC does not have,
// vanish. However long the answer is, all of it is in the pieces.
func (c *Channel) Split(k channels.Key, markdown string) []string {
	room := budget(c.longestNick, "~"+c.opts.User, strings.Repeat("h", maxHost), k.Chat())
	if !c.isRoom(k.Chat()) {
		room = min(room, budget(c.longestNick, "~"+c.opts.User, strings.Repeat("h", maxHost), strings.Repeat("n", 30)))
	}
	var out []string
	for _, r := range parse(markdown) {
		for _, piece := range r.wrap(max(room, 100)) {
			out = append(out, piece.markdown())
		}
	}
	if len(out) == 0 {
		return []string{"…"} // Nothing that could be seen was left.
	}
	return out
}
