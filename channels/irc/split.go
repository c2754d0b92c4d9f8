package irc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"

	"github.com/rivo/uniseg"
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

// rendered begins a piece of an answer: it is a line as IRC shows it, and no
// Markdown. It is not sent.
const rendered = "\v"

// budget is how many bytes of text fit into a line to target when we are
// called nick!user@host there.
func budget(nick, user, host, target string) int {
	return maxLine - len(":!@ PRIVMSG  :") - len(nick) - len(user) - len(host) - len(target)
}

// Split cuts an answer into pieces of one line each, as IRC shows it. It assumes
// the longest name that we may have by then, so a piece still fits after a change
// of nick or host, and the first piece also leaves room for the name of who asked.
// However long the answer is, all of it is in the pieces: what a room is not shown
// unasked is in the last one (see [restMark]).
func (c *Channel) Split(k channels.Key, markdown string) []string {
	target, inRoom := k.Chat(), isRoom(k.Chat())
	if !inRoom && len(target) < 30 {
		target = strings.Repeat("n", 30)
	}
	room := budget(c.longestNick, "~"+c.opts.User, strings.Repeat("h", maxHost), target)
	var out []string
	for i, line := range render(markdown) {
		most := max(room, 100)
		if i == 0 && inRoom {
			most -= roomForName
		}
		for _, part := range wrap(line, most) {
			out = append(out, rendered+part)
		}
	}
	if len(out) == 0 {
		return []string{"…"} // nothing that could be seen was left
	}
	if most := c.opts.MaxLines; inRoom && most > 0 && len(out) > most+fewLines {
		return append(out[:most:most], restMark+strings.Join(out[most:], "\n"))
	}
	return out
}

// wrap cuts a line into lines of at most budget bytes, at spaces where that does
// not leave less than half a line, else between graphemes, what people take for
// one character. Spaces at the cut vanish, except in code. Each line begins with
// the codes of the styles that go on.
func wrap(line string, budget int) (out []string) {
	line, isCode := strings.CutPrefix(line, verbatim)
	mark, on := "", ""
	if isCode {
		mark = verbatim
	}
	for line != "" {
		if !isCode && len(out) > 0 {
			rest := strings.TrimLeft(line, " "+styles)
			on, line = switched(on, line[:len(line)-len(rest)]), rest
		}
		n := fitting(line, budget-len(on))
		part := on + line[:n]
		on, line = switched(on, line[:n]), line[n:]
		if !isCode {
			part = strings.TrimRight(part, " "+styles)
		}
		if isCode || !blank(part) {
			out = append(out, mark+part)
		}
	}
	return out
}

// fitting is how many bytes of line make a line of at most so many.
func fitting(line string, most int) int {
	if len(line) <= most {
		return len(line)
	}
	n, space := 0, 0
	for rest, state := line, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		switch {
		case n+len(cluster) > most && n == 0: // a letter with a hundred accents, say
			for n = max(most, 1); n > 1 && !utf8.RuneStart(line[n]); {
				n--
			}
			return n
		case n+len(cluster) > most && (cluster == " " || space == 0):
			return n
		case n+len(cluster) > most:
			return space
		}
		if n += len(cluster); cluster == " " && n > most/2 {
			space = n
		}
	}
	return n
}

// blank reports whether there is nothing to see in s.
func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }) < 0
}
