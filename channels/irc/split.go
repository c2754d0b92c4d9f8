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

// rendered begins a piece of an answer: it has lines as IRC shows them, and no
// Markdown. It is not sent.
const rendered = "\r"

// budget is how many bytes of text fit into a line to target when we are
// called nick!user@host there.
func budget(nick, user, host, target string) int {
	return maxLine - len(":!@ PRIVMSG  :") - len(nick) - len(user) - len(host) - len(target)
}

// piece is one line of an answer, or a part of one that is too long.
type piece struct {
	text, whole string
	n, all      int // which part of the line, and of how many
}

// Split cuts an answer into pieces of one line each, as IRC shows it. It assumes
// the longest name that we may have by then, so a piece still fits after a change
// of nick or host, and the first piece also leaves room for the name of who asked.
// However long the answer is, all of it is in the pieces: what a room is not shown
// unasked is in the last one (see [restMark]). Where the network takes messages of
// several lines now, a piece is one of those.
func (c *Channel) Split(k channels.Key, markdown string) []string {
	target, inRoom := k.Chat(), isRoom(k.Chat())
	if !inRoom && len(target) < 30 {
		target = strings.Repeat("n", 30)
	}
	room := budget(c.longestNick, "~"+c.opts.User, strings.Repeat("h", maxHost), target)
	var out []piece
	for i, whole := range render(markdown) {
		most := max(room, 100)
		if i == 0 && inRoom {
			most -= roomForName
		}
		parts := wrap(whole, most)
		for n, part := range parts {
			out = append(out, piece{part.text, whole, n, len(parts)})
		}
	}
	if len(out) == 0 {
		return []string{"…"} // nothing that could be seen was left
	}
	l := c.limits()
	if most := c.opts.MaxLines; inRoom && most > 0 && len(out) > most+fewLines {
		return append(l.join(out[:most]), restMark+strings.Join(limits{}.join(out[most:]), "\n"))
	}
	return l.join(out)
}

// linesOf are the lines of a piece of an answer, or of Markdown that Split has not
// seen.
func linesOf(text string) []string {
	piece, isPiece := strings.CutPrefix(text, rendered)
	odd := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(styles+verbatim+"\n", r) }
	if isPiece && utf8.ValidString(piece) && !strings.ContainsFunc(piece, odd) {
		return strings.Split(piece, "\n")
	}
	return render(text)
}

// join puts as many pieces together as a message may have. A line that was cut and
// is in one message with all of its parts is whole there.
func (l limits) join(pieces []piece) (out []string) {
	lines, size := 0, 0
	for len(pieces) > 0 {
		n, text := 1, pieces[0].text
		if all := pieces[0].all; pieces[0].n == 0 && all > 1 && all <= min(l.lines, len(pieces)) {
			n, text = all, pieces[0].whole
		}
		bytes := 0
		for _, p := range pieces[:n] {
			bytes += 1 + len(p.text)
		}
		if lines += n; len(out) == 0 || lines > l.lines || size+bytes > l.bytes {
			out, lines, size = append(out, rendered+text), n, 0
		} else {
			out[len(out)-1] += "\n" + text
		}
		size += bytes
		pieces = pieces[n:]
	}
	return out
}

// line is one line of a message.
type line struct {
	text   string // as a message of its own
	glued  string // as a part of one of several lines
	goesOn bool   // on the line before it, in such a one
}

// wrap cuts a line into lines of at most budget bytes, at spaces where that does
// not leave less than half a line, else between graphemes, what people take for
// one character. Spaces at the cut vanish, except in code. Each line begins with
// the codes of the styles that go on.
func wrap(whole string, budget int) (out []line) {
	whole, isCode := strings.CutPrefix(whole, verbatim)
	mark, on := "", ""
	if isCode {
		mark = verbatim
	}
	for whole != "" {
		gap := ""
		if !isCode && len(out) > 0 {
			rest := strings.TrimLeft(whole, " "+styles)
			skipped := whole[:len(whole)-len(rest)]
			if strings.Contains(skipped, " ") {
				gap = " "
			}
			on, whole = switched(on, skipped), rest
		}
		n := fitting(whole, budget-len(on))
		part := on + whole[:n]
		on, whole = switched(on, whole[:n]), whole[n:]
		cut := line{text: part, glued: gap + part, goesOn: len(out) > 0}
		if whole != "" {
			cut.glued += on // ends the styles, for those who see lines
		}
		if !isCode {
			cut.text = strings.TrimRight(part, " "+styles)
		}
		if isCode || !blank(part) {
			cut.text = mark + cut.text
			out = append(out, cut)
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
