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

// piece is one line of an answer.
type piece struct {
	text   string // Markdown
	size   int    // in bytes, on the wire
	of     row    // whose part it is
	n, all int    // which one, and of how many
}

// Split cuts an answer into pieces of one line each: by lines, then by bytes
// at the borders of graphemes, at spaces where it can. It assumes the longest
// name that we may have by then, so a piece still fits after a change of nick
// or host, and the first piece also leaves room for the name of who asked.
// Code keeps its indentation and its empty lines. However long the answer is,
// all of it is in the pieces: what a room is not shown unasked is in the last
// one (see [restMark]). Where the network takes messages of several lines now,
// a piece is one of those.
func (c *Channel) Split(k channels.Key, markdown string) []string {
	room := budget(c.longestNick, "~"+c.opts.User, strings.Repeat("h", maxHost), k.Chat())
	if !c.isRoom(k.Chat()) {
		room = min(room, budget(c.longestNick, "~"+c.opts.User, strings.Repeat("h", maxHost), strings.Repeat("n", 30)))
	}
	var out []piece
	for i, r := range parse(markdown) {
		most := max(room, 100)
		if i == 0 && c.isRoom(k.Chat()) {
			most -= roomForName
		}
		parts := r.wrap(most)
		for n, part := range parts {
			out = append(out, piece{text: part.markdown(), size: len(part.wire()), of: r, n: n, all: len(parts)})
		}
	}
	if len(out) == 0 {
		return []string{"…"} // Nothing that could be seen was left.
	}
	l := c.limits()
	if most := c.opts.MaxLines; c.isRoom(k.Chat()) && most > 0 && len(out) > most+fewLines {
		return append(l.join(out[:most]), restMark+strings.Join(limits{}.join(out[most:]), "\n"))
	}
	return l.join(out)
}

// join is pieces as Markdown, as many of them together as a message may have. A
// line that was cut and is in one message with all of its parts is whole there.
func (l limits) join(pieces []piece) (out []string) {
	lines, size := 0, 0
	for len(pieces) > 0 {
		n, text := 1, pieces[0].text
		if all := pieces[0].all; pieces[0].n == 0 && all > 1 && all <= min(l.lines, len(pieces)) {
			n, text = all, pieces[0].of.markdown()
		}
		bytes := 0
		for _, p := range pieces[:n] {
			bytes += 1 + p.size
		}
		if lines += n; len(out) == 0 || lines > l.lines || size+bytes > l.bytes {
			out, lines, size = append(out, text), n, 0
		} else {
			out[len(out)-1] += "\n" + text
		}
		size += bytes
		pieces = pieces[n:]
	}
	return out
}
