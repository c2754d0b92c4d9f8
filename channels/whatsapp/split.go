package whatsapp

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"dragoman/channels"

	"github.com/rivo/uniseg"
)

// mostCharacters is how long a piece may be. WhatsApp would take sixteen times
// as much, but phones fold long messages, and one that cannot be sent is then
// less to send again.
const mostCharacters = 4000

// Split cuts markdown into pieces of at most 4000 characters: between
// paragraphs where it can, else between lines, words, and characters as people
// see them, in this order. An open code block is closed and opened again.
func (c *Channel) Split(_ channels.Key, markdown string) []string {
	return split(tidy(markdown), mostCharacters)
}

func split(text string, limit int) []string {
	s := &splitter{limit: limit}
	for line := range strings.SplitSeq(text, "\n") {
		most := limit - 1
		if s.open != "" {
			most -= 2 * maxFence // for opening and closing the block in each piece
		}
		for _, part := range breakLine(line, most) {
			s.add(part)
		}
	}
	s.flush(len(s.lines))
	if len(s.pieces) == 0 {
		return []string{"…"}
	}
	return s.pieces
}

// maxFence bounds what opens a code block; longer ones are written by nobody
// and taken as text.
const maxFence = 40

var fenceForm = regexp.MustCompile("^[ \t]{0,8}(`{3,8}|~{3,8})([^`]{0,24})$")

// splitter collects lines into pieces.
type splitter struct {
	limit  int
	pieces []string
	lines  []string
	size   int    // characters of lines, with their ends
	good   int    // so many of lines come before the best place to cut
	open   string // the line that opened the code block that lines end in, or ""
}

// mark is what closes the block that fence opened.
func mark(fence string) string { return fenceForm.FindStringSubmatch(fence)[1] }

func (s *splitter) add(line string) {
	n := utf8.RuneCountInString(line) + 1
	if s.size+n+s.closing(line) > s.limit {
		s.cut(n)
	}
	m := fenceForm.FindStringSubmatch(line)
	switch {
	case s.open == "" && m != nil:
		s.good, s.open = len(s.lines), line
	case s.open != "" && m != nil && strings.TrimSpace(m[2]) == "" && strings.HasPrefix(m[1], mark(s.open)):
		s.open = ""
	case s.open == "" && strings.TrimSpace(line) == "":
		s.good = len(s.lines) + 1
	}
	s.lines = append(s.lines, line)
	s.size += n
}

// closing is what it may take to close a block after line.
func (s *splitter) closing(line string) int {
	if s.open != "" || fenceForm.MatchString(line) {
		return maxFence
	}
	return 0
}

// cut makes room for n characters: at the good place, unless that leaves a
// piece too small or a rest too large, or else here.
func (s *splitter) cut(n int) {
	before := 0
	for _, line := range s.lines[:s.good] {
		before += utf8.RuneCountInString(line) + 1
	}
	if before >= s.limit/3 && s.size-before+n+maxFence <= s.limit {
		s.flush(s.good)
		return
	}
	s.flush(len(s.lines))
}

// flush makes a piece of the first n lines and keeps the rest for the next.
// Only a cut at the end can be inside a code block.
func (s *splitter) flush(n int) {
	piece, rest := s.lines[:n:n], s.lines[n:]
	again := ""
	if s.open != "" && len(rest) == 0 {
		piece, again = append(piece, mark(s.open)), s.open
	}
	if text := strings.Trim(strings.Join(piece, "\n"), "\n"); strings.TrimSpace(text) != "" {
		s.pieces = append(s.pieces, text)
	}
	s.lines, s.good, s.size = append([]string(nil), rest...), 0, 0
	if again != "" {
		s.lines = append(s.lines, again)
	}
	for _, line := range s.lines {
		s.size += utf8.RuneCountInString(line) + 1
	}
}

// breakLine cuts a line that is too long for a piece: after a space in its
// last third, else between two characters as people see them.
func breakLine(line string, limit int) []string {
	var parts []string
	for utf8.RuneCountInString(line) > limit {
		end, space, n, state := 0, 0, 0, -1
		for rest := line; rest != ""; {
			var cluster string
			cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
			width := utf8.RuneCountInString(cluster)
			if n+width > limit && end > 0 {
				break
			}
			n += width
			end += len(cluster)
			if cluster == " " && n > limit*2/3 {
				space = end
			}
			if n >= limit {
				break // also in a cluster that is longer than a piece: it stays whole
			}
		}
		if space > 0 {
			end = space
		}
		parts = append(parts, line[:end])
		line = line[end:]
	}
	return append(parts, line)
}
