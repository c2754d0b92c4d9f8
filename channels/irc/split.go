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

// roomForName is what the first line of an answer in a room leaves free for
// "nick: ". With a longer name the line becomes two.
const roomForName = 34

// fewLines are shown beyond Options.MaxLines rather than asked for.
const fewLines = 2

// budget is how many bytes of text fit into a line to target when we are
// called nick!user@host there.
func budget(nick, user, host, target string) int {
	return maxLine - len(":!@ PRIVMSG  :") - len(nick) - len(user) - len(host) - len(target)
}

// Split cuts an answer into pieces of one line each: by lines, then by bytes
// at the borders of graphemes, at spaces where it can. It assumes the longest
// name that we may have by then, so a piece still fits after a change of nick
// or host, and the first piece also leaves room for the name of who asked.
// Code keeps its indentation and its empty lines. However long the answer is,
// all of it is in the pieces: what a room is not shown unasked is in the last
// one (see [restMark]).
func (c *Channel) Split(k channels.Key, markdown string) []string {
	room := budget(c.longestNick, "~"+c.opts.User, strings.Repeat("h", maxHost), k.Chat())
	if !c.isRoom(k.Chat()) {
		room = min(room, budget(c.longestNick, "~"+c.opts.User, strings.Repeat("h", maxHost), strings.Repeat("n", 30)))
	}
	var out []string
	for i, r := range parse(markdown) {
		most := max(room, 100)
		if i == 0 && c.isRoom(k.Chat()) {
			most -= roomForName
		}
		for _, piece := range r.wrap(most) {
			out = append(out, piece.markdown())
		}
	}
	if len(out) == 0 {
		return []string{"…"} // Nothing that could be seen was left.
	}
	if most := c.opts.MaxLines; c.isRoom(k.Chat()) && most > 0 && len(out) > most+fewLines {
		rest := restMark + strings.Join(out[most:], "\n")
		out = append(out[:most:most], rest)
	}
	return out
}
