package irc

import (
	"strconv"
	"strings"

	"github.com/lrstanley/girc"
)

const (
	multilineCap    = "draft/multiline"
	multilineConcat = "draft/multiline-concat" // tags what goes on the line before

	// maxOpen bounds how many messages of several lines may be coming in at
	// once, maxMultiline the bytes of one. Servers allow a few thousand bytes.
	maxOpen      = 50
	maxMultiline = 256 << 10
)

// mostLines bounds how many lines of ours are one message: where the network takes
// that no more they are said one by one, within the gateway's patience. forGlue is
// what a line leaves free for what closes its codes, and for a space.
const (
	mostLines = 20
	forGlue   = len(styles) + 1
)

// limits are how long a message of several lines may be here; zero where there is
// no such thing.
type limits struct{ bytes, lines int }

// limits are those of the connection that there is now.
func (c *Channel) limits() limits {
	if l := c.multi.Load(); l != nil {
		return *l
	}
	return limits{}
}

// readLimits takes what the network said about messages of several lines.
func (s *session) readLimits() {
	l := limits{lines: mostLines}
	for item := range strings.SplitSeq(s.login.offered[multilineCap], ",") {
		name, value, _ := strings.Cut(item, "=")
		switch n, _ := strconv.Atoi(value); {
		case name == "max-bytes":
			l.bytes = n
		case name == "max-lines" && n > 0:
			l.lines = min(n, mostLines)
		}
	}
	if !s.net.caps[multilineCap] || !s.net.caps["batch"] || l.bytes < maxLine {
		l = limits{}
	}
	s.ch.multi.Store(&l)
}

// parts are the messages that lines become.
func (l limits) parts(lines []line) (parts [][]line) {
	size := 0
	for _, ln := range lines {
		n := len(parts) - 1
		size += 1 + len(ln.glued)
		if n < 0 || len(parts[n]) >= l.lines || size > l.bytes {
			size, ln.goesOn = len(ln.glued), false
			parts = append(parts, []line{ln})
			continue
		}
		parts[n] = append(parts[n], ln)
	}
	return parts
}

// batch is d as one message of several lines.
func batch(ref string, d *delivery, tags girc.Tags) string {
	begin := girc.Event{Command: "BATCH", Params: []string{"+" + ref, multilineCap, d.target}, Tags: tags}
	out := begin.String()
	for _, l := range d.lines {
		e := girc.Event{Command: "PRIVMSG", Params: []string{d.target, l.glued}, Tags: girc.Tags{"batch": ref}}
		if l.goesOn {
			e.Tags[multilineConcat] = ""
		}
		out += "\r\n" + e.String()
	}
	return out + "\r\nBATCH -" + ref
}

// echoOf is what lines look like when the network shows them to us.
func echoOf(lines []line) string {
	if len(lines) == 1 {
		return lines[0].text
	}
	var b strings.Builder
	for i, l := range lines {
		if i > 0 && !l.goesOn {
			b.WriteByte('\n')
		}
		b.WriteString(l.glued)
	}
	return b.String()
}

// multiline is a message of several lines that is coming in. Its first line,
// the BATCH, has the tags and the sender of all of it.
type multiline struct {
	head *girc.Event
	text strings.Builder
	any  bool
}

// begins notes that a message of several lines begins.
func (s *session) begins(ref string, head *girc.Event) {
	if len(s.multi) < maxOpen {
		s.multi[ref] = &multiline{head: head}
	}
}

// partOf takes a line of a message that is coming in. It reports false if e is
// a message by itself.
func (s *session) partOf(e *girc.Event) bool {
	m := s.multi[e.Tags["batch"]]
	if m == nil {
		return false
	}
	line := param(e, 1)
	if m.text.Len()+len(line) > maxMultiline {
		s.log.Warn("a line was left out: the message has too many", "bytes", m.text.Len())
		return true
	}
	if _, goesOn := e.Tags[multilineConcat]; m.any && !goesOn {
		m.text.WriteByte('\n')
	}
	m.any = true
	m.text.WriteString(line)
	return true
}

// ends hands in what has come.
func (s *session) ends(ref string) {
	m := s.multi[ref]
	delete(s.multi, ref)
	if m == nil || !m.any {
		return
	}
	whole := *m.head
	whole.Command, whole.Params = "PRIVMSG", []string{param(m.head, 2), m.text.String()}
	s.onMessage(&whole)
}
