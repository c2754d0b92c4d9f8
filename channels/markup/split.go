package markup

import (
	"strings"
	"unicode/utf8"

	"dragoman/internal/lazily"

	"github.com/rivo/uniseg"
)

// Ruler measures text as a network does.
type Ruler struct {
	// Most is how many units fit into a message, at least 200.
	Most int
	// Unit is how many units a character needs; nil: one.
	Unit func(rune) int
	// Shown measures a piece as it is sent, if that can be longer than it is written;
	// nil: it cannot.
	Shown func(piece string) int
}

func (r Ruler) units(s string) int {
	if r.Unit == nil {
		return utf8.RuneCountInString(s)
	}
	n := 0
	for _, c := range s {
		n += r.unit(c)
	}
	return n
}

func (r Ruler) unit(c rune) int {
	if r.Unit == nil {
		return 1
	}
	return r.Unit(c)
}

// Split cuts markdown into pieces of at most r.Most units, both as written and as shown.
// It cuts between paragraphs if it can, else between lines, words or graphemes, in this
// order. An open code block is closed and reopened with its language; a table's head is
// repeated. There is at least one piece, and none is empty.
func Split(markdown string, r Ruler) []string {
	text := strings.Trim(prepare(Tidy(markdown)), "\n")
	if strings.TrimSpace(text) == "" {
		return []string{"…"}
	}
	return r.splitTo(text, r.Most)
}

// splitTo makes pieces of at most limit units as written. It cuts a piece that is too
// long when shown again, to a smaller limit.
func (r Ruler) splitTo(text string, limit int) []string {
	var fit []string
	for _, piece := range r.splitLines(text, limit) {
		if limit > 256 && r.Shown != nil && r.Shown(piece) > r.Most {
			fit = append(fit, r.splitTo(piece, limit*2/3)...)
			continue
		}
		fit = append(fit, piece)
	}
	return fit
}

// cutter collects lines until the limit of a piece is reached, then cuts at the
// best place before it.
type cutter struct {
	Ruler
	limit  int
	pieces []string
	lines  []string
	size   int // units of lines, with line ends
	// breakAt is how many of lines come before the best place to cut, which is after a
	// blank line or before a code block or a formula of several lines.
	breakAt int
	fence   *fence // open after lines
	// repeated: the first of lines reopens a code block.
	repeated bool
	head     []string
	rows     bool // lines ends in a table
}

func (r Ruler) splitLines(text string, limit int) []string {
	if r.units(text) <= limit {
		return []string{text}
	}
	c := &cutter{Ruler: r, limit: limit}
	begins := formulaLines(text)
	for i, line := range strings.Split(text, "\n") {
		if begins[i] {
			c.breakAt = len(c.lines) // a half of a formula is none
		}
		c.add(line)
	}
	c.flush(len(c.lines))
	if len(c.pieces) == 0 {
		return []string{"…"}
	}
	return c.pieces
}

func (c *cutter) add(line string) {
	if c.fence != nil && c.fence.reopened {
		line = dedent(line, c.fence.indent)
	}
	size := c.units(line) + 1
	if mark := fenceOf(line); mark != nil && c.fence == nil {
		size += c.units(mark.close()) + 1 // this piece may have to close it
	}
	if size > c.limit-c.overhead() {
		c.addLong(line)
		return
	}
	if c.size+size+c.overhead() > c.limit {
		c.makeRoom(size)
	}
	c.push(line)
}

// overhead is the most that closing and reopening a code block, or repeating a table's
// head, needs in a piece.
func (c *cutter) overhead() int {
	n := 0
	if c.fence != nil {
		n = c.units(c.fence.open()) + c.units(c.fence.close()) + 2
	}
	for _, l := range c.head {
		n += c.units(l) + 1
	}
	return n
}

// makeRoom ends a piece so that size more units fit: at breakAt if that is in the second
// half, else here.
func (c *cutter) makeRoom(size int) {
	if c.breakAt > 0 && c.sizeOf(c.breakAt) >= c.limit/2 {
		rest := c.sizeOf(len(c.lines)) - c.sizeOf(c.breakAt)
		if rest+size+c.overhead() <= c.limit {
			c.flush(c.breakAt)
			return
		}
	}
	c.flush(len(c.lines))
}

func (c *cutter) sizeOf(lines int) int {
	n := 0
	for _, l := range c.lines[:lines] {
		n += c.units(l) + 1
	}
	return n
}

// push adds a line that fits and tracks what it begins or ends.
func (c *cutter) push(line string) {
	opened := fenceOf(line)
	blank := strings.TrimSpace(line) == ""
	switch {
	case c.fence != nil:
		if c.fence.closes(line) {
			c.fence = nil
		}
	case opened != nil:
		c.breakAt = len(c.lines)
		c.trackTable("")
		c.fence = opened
	case blank:
		c.breakAt = len(c.lines) + 1
		c.trackTable("")
	default:
		c.trackTable(line)
	}
	c.lines = append(c.lines, line)
	c.size += c.units(line) + 1
}

var delimiterRow = lazily.Compile(`^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// trackTable remembers the head of the table that line belongs to.
func (c *cutter) trackTable(line string) {
	switch {
	case !strings.Contains(line, "|"):
		c.head, c.rows = nil, false
	case c.rows:
	case delimiterRow.Regexp().MatchString(line) && len(c.lines) > 0 && strings.Contains(c.lines[len(c.lines)-1], "|"):
		c.head, c.rows = []string{c.lines[len(c.lines)-1], line}, true
		if c.units(c.head[0])+c.units(line) > c.limit/4 {
			c.head = nil // too much to repeat
		}
	}
}

// flush makes a piece of the first n lines and keeps the rest for the next.
func (c *cutter) flush(n int) {
	piece, rest := c.lines[:n:n], c.lines[n:]
	whole := len(rest) == 0
	if whole && c.fence != nil {
		piece = append(piece, c.fence.close())
	}
	if text := trimPiece(piece, c.repeated); text != "" {
		c.pieces = append(c.pieces, text)
	}
	c.lines = nil
	c.size = 0
	c.breakAt = 0
	c.repeated = false
	if whole && c.fence != nil {
		c.fence.reopened, c.repeated = true, true
		c.lines = append(c.lines, c.fence.open())
	} else if whole && c.rows {
		c.lines = append(c.lines, c.head...)
	}
	c.lines = append(c.lines, rest...)
	c.size = c.sizeOf(len(c.lines))
}

// addLong cuts a line that does not fit into a piece: at white space in its second half
// if there is any, else between characters.
func (c *cutter) addLong(line string) {
	for left := c.units(line); left > 0; {
		overhead := c.overhead() + maxFence
		room := c.limit - overhead - c.size - 1
		if left > room && room < (c.limit-overhead)/4 {
			c.flush(len(c.lines))
			room = c.limit - overhead - c.size - 1
		}
		n := len(line)
		if left > room {
			n = c.fitting(line, max(room, 2))
		}
		left -= c.units(line[:n])
		part := line[:n]
		line = line[n:]
		if c.fence == nil {
			part = strings.TrimRight(part, " ")
			trimmed := strings.TrimLeft(line, " ")
			left -= len(line) - len(trimmed)
			line = trimmed
		}
		c.push(part)
		if left > 0 {
			c.flush(len(c.lines))
		}
	}
}

// maxFence is kept free where a part of a line may turn out to open a code block.
const maxFence = 33

// fitting returns how many bytes of line make at most most units, cut at a good place.
// It cuts through a grapheme only if that alone is too long.
func (r Ruler) fitting(line string, most int) int {
	var spaces []int
	end, size := 0, 0
	for rest, state := line, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		size += r.units(cluster)
		if size > most {
			if end == 0 {
				return r.runesWithin(cluster, most)
			}
			break
		}
		end += len(cluster)
		if cluster == " " {
			spaces = append(spaces, end)
		}
	}
	for i := len(spaces) - 1; i >= 0 && spaces[i] > end/2; i-- {
		if !inMarkup(line[:spaces[i]]) {
			return spaces[i]
		}
	}
	return end
}

// runesWithin returns how many bytes of s make at most most units, at least one rune.
func (r Ruler) runesWithin(s string, most int) int {
	size := 0
	for i, c := range s {
		size += r.unit(c)
		if size > most && i > 0 {
			return i
		}
	}
	return len(s)
}

// inMarkup reports whether text ends inside [words](address), `code` or a formula, where a
// cut would break the markup.
func inMarkup(text string) bool {
	if strings.Count(text, "`")%2 == 1 {
		return true
	}
	for _, open := range []string{`\(`, `\[`} {
		if strings.LastIndex(text, open) > strings.LastIndex(text, closers[open]) {
			return true
		}
	}
	open := strings.LastIndexByte(text, '[')
	if open < 0 || len(text)-open > 400 {
		return false
	}
	after := text[open:]
	address := strings.Index(after, "](")
	if address < 0 {
		return !strings.Contains(after, "]")
	}
	return !strings.Contains(after[address:], ")")
}
