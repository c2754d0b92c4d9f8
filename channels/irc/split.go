package irc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"

	"github.com/rivo/uniseg"
)

// A protocol line has 512 bytes with its CR LF, and the server puts our full name
// before it: ":nick!user@host PRIVMSG target :text".
const (
	maxLine = 510
	maxHost = 63 // the longest host name that servers use
)

// nameReserve is what the first line of an answer in a channel leaves free for
// "nick: ". With a longer nick the line becomes two.
const nameReserve = 34

// graceLines are sent beyond Options.MaxLines rather than held back for "!more".
const graceLines = 2

// budget is how many bytes of text fit into a line to target from nick!user@host.
func budget(nick, user, host, target string) int {
	return maxLine - len(":!@ PRIVMSG  :") - len(nick) - len(user) - len(host) - len(target)
}

// piece is one line of an answer, or a part of a line that is too long.
type piece struct {
	text, whole string
	n, all      int // it is part n of all parts of the line
}

// Split cuts an answer into pieces of one line each, in channels.FormNative: as IRC shows
// it, except that lines of code begin with [verbatim]. It assumes the
// longest name that we may have by then, so a piece still fits after a change of
// nick or host, and the first piece leaves room for the asker's name. Nothing is
// left out: the last piece, in channels.FormRest, holds the lines that a channel sees
// only on request. If the network has multiline now, a piece is one multiline message.
func (c *Channel) Split(k channels.Key, markdown string) []channels.Piece {
	target, inRoom := k.Chat(), isRoom(k.Chat())
	if !inRoom && len(target) < 30 {
		target = strings.Repeat("n", 30)
	}
	room := budget(c.longestNick, "~"+c.opts.User, strings.Repeat("h", maxHost), target)
	var out []piece
	for i, whole := range render(markdown) {
		most := max(room, 100)
		if i == 0 && inRoom {
			most -= nameReserve
		}
		parts := wrap(whole, most)
		for n, part := range parts {
			out = append(out, piece{part.text, whole, n, len(parts)})
		}
	}
	if len(out) == 0 {
		return []channels.Piece{{Text: "…"}} // nothing visible was left
	}
	l := c.limits()
	if most := c.opts.MaxLines; inRoom && most > 0 && len(out) > most+graceLines {
		rest := strings.Join(limits{}.join(out[most:]), "\n")
		return append(native(l.join(out[:most])), channels.Piece{Text: rest, Form: channels.FormRest})
	}
	return native(l.join(out))
}

// native are messages of lines as pieces.
func native(messages []string) []channels.Piece {
	pieces := channels.Pieces(messages)
	for i := range pieces {
		pieces[i].Form = channels.FormNative
	}
	return pieces
}

// Plain implements [channels.Plainer].
func (c *Channel) Plain(native string) string {
	return strings.ReplaceAll(stripCodes(native), verbatim, "")
}

// linesOf returns the lines of a text.
func linesOf(text string, form channels.Form) []string {
	odd := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(styles+verbatim+"\n", r) }
	if form == channels.FormNative && utf8.ValidString(text) && !strings.ContainsFunc(text, odd) {
		return strings.Split(text, "\n")
	}
	return render(text)
}

// join combines as many pieces as fit into one message. A line whose parts all fit
// into one message is whole there.
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
		lines += n
		if len(out) == 0 || lines > l.lines || size+bytes > l.bytes {
			out = append(out, text)
			lines = n
			size = 0
		} else {
			out[len(out)-1] += "\n" + text
		}
		size += bytes
		pieces = pieces[n:]
	}
	return out
}

// line is a line of an answer after wrapping.
type line struct {
	text      string // as a message of its own
	inBatch   string // as a line of a multiline message
	continues bool   // the line before it, in a multiline message
}

// wrap cuts a line into lines of at most budget bytes: at a space if that leaves at
// least half a line, else between graphemes. Spaces at the cut are dropped, except in
// code. Each line begins with the codes of the styles still on.
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
			on, whole = stylesAfter(on, skipped), rest
		}
		n := fitting(whole, budget-len(on))
		part := on + whole[:n]
		on, whole = stylesAfter(on, whole[:n]), whole[n:]
		cut := line{text: part, inBatch: gap + part, continues: len(out) > 0}
		if whole != "" {
			cut.inBatch += on // ends the styles for clients without multiline
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

// fitting returns how many bytes of line to put on a line of at most most bytes.
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
		n += len(cluster)
		if cluster == " " && n > most/2 {
			space = n
		}
	}
	return n
}

func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }) < 0
}

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
	return len(before) >= cutLine || strings.HasPrefix(piece, verbatim)
}
