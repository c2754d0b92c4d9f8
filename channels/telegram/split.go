package telegram

import (
	"regexp"
	"strings"

	"dragoman/channels"

	"github.com/rivo/uniseg"
)

// mostUnits is how many UTF-16 units Telegram takes in one message.
const mostUnits = 4096

// Split cuts markdown into pieces of at most 4096 UTF-16 units, both as
// written (it may have to be sent as plain text) and as rendered (tables grow).
// It cuts between paragraphs where it can, else between lines, words, and
// characters as people see them, in this order. An open code block is closed
// and opened again with its language; a table's head is repeated.
func (c *Channel) Split(_ channels.Key, markdown string) []string {
	text := strings.Trim(tidy(markdown), "\n")
	if strings.TrimSpace(text) == "" {
		return []string{"…"}
	}
	return splitTo(text, mostUnits)
}

// splitTo makes pieces of at most limit units as written. A piece that grows
// too long when rendered is cut again, smaller.
func splitTo(text string, limit int) []string {
	var fit []string
	for _, piece := range cut(text, limit) {
		if limit > 256 && units(render(piece).plain) > mostUnits {
			fit = append(fit, splitTo(piece, limit*2/3)...)
			continue
		}
		fit = append(fit, piece)
	}
	return fit
}

// cutter collects lines into pieces.
type cutter struct {
	limit  int
	pieces []string
	lines  []string
	size   int // units of lines, with line ends
	// breakAt is how many of lines come before the best place to cut: a blank
	// line, or the start of a code block.
	breakAt int
	fence   *fence // open after lines
	head    []string
	rows    bool // lines end in a table
}

// fence is an open code block.
type fence struct {
	indent int
	mark   string // ``` or more, or ~~~
	info   string
	// reopened says that the block goes on at the start of a piece, without
	// the list that its indentation belonged to.
	reopened bool
}

func (f *fence) open() string  { return f.mark + f.info }
func (f *fence) close() string { return f.mark }

// Longer marks are legal Markdown and written by nobody.
var fenceForm = regexp.MustCompile("^([ \\t]*)(`{3,32}|~{3,32})([^`~].*)?$")

// fenceOf is the code block that line opens, or nil.
func fenceOf(line string) *fence {
	m := fenceForm.FindStringSubmatch(line)
	if m == nil || m[2][0] == '`' && strings.Contains(m[3], "`") {
		return nil
	}
	return &fence{indent: len(m[1]), mark: m[2], info: infoOf(m[3])}
}

// closes reports whether line ends the block.
func (f *fence) closes(line string) bool {
	m := fenceForm.FindStringSubmatch(line)
	return m != nil && strings.TrimSpace(m[3]) == "" && strings.HasPrefix(m[2], f.mark)
}

// cut is the line by line part of splitTo.
func cut(text string, limit int) []string {
	if units(text) <= limit {
		return []string{text}
	}
	c := &cutter{limit: limit}
	for _, line := range strings.Split(text, "\n") {
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
	size := units(line) + 1
	if mark := fenceOf(line); mark != nil && c.fence == nil {
		size += units(mark.close()) + 1 // it may have to be closed in this piece
	}
	if size > c.limit-c.overhead() {
		c.long(line)
		return
	}
	if c.size+size+c.overhead() > c.limit {
		c.makeRoom(size)
	}
	c.push(line)
}

// overhead is what closing and reopening a code block, or repeating a table's
// head, takes in a piece at most.
func (c *cutter) overhead() int {
	n := 0
	if c.fence != nil {
		n = units(c.fence.open()) + units(c.fence.close()) + 2
	}
	for _, l := range c.head {
		n += units(l) + 1
	}
	return n
}

// makeRoom ends a piece so that size more units fit: at the good place if
// there is one in the second half, else here.
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
		n += units(l) + 1
	}
	return n
}

// push takes a line that fits and learns what it begins or ends.
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
		c.table("")
		c.fence = opened
	case blank:
		c.breakAt = len(c.lines) + 1
		c.table("")
	default:
		c.table(line)
	}
	c.lines = append(c.lines, line)
	c.size += units(line) + 1
}

// infoOf is the language of a code block, short enough to repeat.
func infoOf(info string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	if units(word) > 32 {
		return ""
	}
	return word
}

var delimiterRow = regexp.MustCompile(`^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// table remembers the head of the table that line belongs to.
func (c *cutter) table(line string) {
	switch {
	case !strings.Contains(line, "|"):
		c.head, c.rows = nil, false
	case c.rows:
	case delimiterRow.MatchString(line) && len(c.lines) > 0 && strings.Contains(c.lines[len(c.lines)-1], "|"):
		c.head, c.rows = []string{c.lines[len(c.lines)-1], line}, true
		if units(c.head[0])+units(line) > c.limit/4 {
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
	if text := trimPiece(piece); text != "" {
		c.pieces = append(c.pieces, text)
	}
	c.lines, c.size, c.breakAt = nil, 0, 0
	if whole && c.fence != nil {
		c.fence.reopened = true
		c.lines = append(c.lines, c.fence.open())
	} else if whole && c.rows {
		c.lines = append(c.lines, c.head...)
	}
	c.lines = append(c.lines, rest...)
	c.size = c.sizeOf(len(c.lines))
}

// trimPiece joins lines to a piece, or "" if nothing in them shows: only
// white space, or a code block of nothing else.
func trimPiece(lines []string) string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		return ""
	}
	if f := fenceOf(lines[0]); f != nil {
		lines = flatten(lines, f)
		shows := false
		for _, l := range lines[1:] {
			shows = shows || strings.TrimSpace(l) != "" && !f.closes(l)
		}
		if !shows {
			return ""
		}
	}
	return listAtStart.ReplaceAllString(strings.TrimRight(strings.Join(lines, "\n"), "\n"), "$1")
}

// flatten takes the indentation off a code block at the start of a piece,
// where there is no list any more that it could belong to.
func flatten(lines []string, f *fence) []string {
	flat := append([]string(nil), lines...)
	for i := range flat {
		flat[i] = dedent(flat[i], f.indent)
		if i > 0 && f.closes(flat[i]) {
			break
		}
	}
	return flat
}

// listAtStart is a list item whose indentation would make it code once the
// items above it are in another piece.
var listAtStart = regexp.MustCompile(`^ {4,}((?:[-*+]|[0-9]{1,9}[.)]) )`)

func dedent(line string, n int) string {
	for n > 0 && line != "" && (line[0] == ' ' || line[0] == '\t') {
		line, n = line[1:], n-1
	}
	return line
}

// long cuts one line that does not fit into a piece, at white space if there
// is some in the second half, else between characters.
func (c *cutter) long(line string) {
	for left := units(line); left > 0; {
		overhead := c.overhead() + longestFence
		room := c.limit - overhead - c.size - 1
		if left > room && room < (c.limit-overhead)/4 {
			c.flush(len(c.lines))
			room = c.limit - overhead - c.size - 1
		}
		n := len(line)
		if left > room {
			n = fitting(line, max(room, 2))
		}
		left -= units(line[:n])
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

// longestFence is kept free where a part of a line may turn out to open a
// code block.
const longestFence = 33

// fitting is how many bytes of line make at most most units, cut at a good
// place. It cuts through a character, as people see it, only if that alone is
// too long.
func fitting(line string, most int) int {
	var spaces []int
	end, size := 0, 0
	for rest, state := line, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if size += units(cluster); size > most {
			if end == 0 {
				return runesOf(cluster, most)
			}
			break
		}
		if end += len(cluster); cluster == " " {
			spaces = append(spaces, end)
		}
	}
	for i := len(spaces) - 1; i >= 0 && spaces[i] > end/2; i-- {
		if !inLink(line[:spaces[i]]) {
			return spaces[i]
		}
	}
	return end
}

// runesOf is how many bytes of s make at most most units, at least one rune.
func runesOf(s string, most int) int {
	size := 0
	for i, r := range s {
		if size += unitsOf(r); size > most && i > 0 {
			return i
		}
	}
	return len(s)
}

// inLink reports whether text ends inside [words](address) or `code`, where a
// cut would spoil the markup.
func inLink(text string) bool {
	if strings.Count(text, "`")%2 == 1 {
		return true
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
