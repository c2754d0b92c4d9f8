package irc

import (
	"strconv"
	"strings"

	"github.com/lrstanley/girc"
)

const (
	multilineCap    = "draft/multiline"
	multilineConcat = "draft/multiline-concat" // tags a line that continues the one before

	// maxOpenBatches bounds how many multiline messages may arrive at the same time,
	// maxMultiline the bytes of one. Servers allow a few thousand bytes.
	maxOpenBatches = 50
	maxMultiline   = 256 << 10
)

// maxBatchLines bounds the lines of one message of ours. If the next connection has
// no multiline, they are sent one by one and must be out within the gateway's time
// for one delivery. batchReserve is the room that each line leaves for the codes
// that end its styles and for a space.
const (
	maxBatchLines = 20
	batchReserve  = len(styles) + 1
)

// limits bound a multiline message; zero if the network has none.
type limits struct{ bytes, lines int }

// limits may be called from any goroutine: Send splits with it while the session's
// loop changes it.
func (c *Channel) limits() limits { return *c.multiline.Load() }

func (s *session) readLimits() {
	l := limits{lines: maxBatchLines}
	for item := range strings.SplitSeq(s.login.offered[multilineCap], ",") {
		name, value, _ := strings.Cut(item, "=")
		switch n, _ := strconv.Atoi(value); {
		case name == "max-bytes":
			l.bytes = n
		case name == "max-lines" && n > 0:
			l.lines = min(n, maxBatchLines)
		}
	}
	if !s.net.caps[multilineCap] || !s.net.caps["batch"] || l.bytes < maxLine {
		l = limits{}
	}
	s.ch.multiline.Store(&l)
}

func (l limits) parts(lines []line) (parts [][]line) {
	size := 0
	for _, ln := range lines {
		n := len(parts) - 1
		size += 1 + len(ln.inBatch)
		if n < 0 || len(parts[n]) >= l.lines || size > l.bytes {
			size, ln.continues = len(ln.inBatch), false
			parts = append(parts, []line{ln})
			continue
		}
		parts[n] = append(parts[n], ln)
	}
	return parts
}

func batch(ref string, d *delivery, tags girc.Tags) string {
	begin := girc.Event{Command: "BATCH", Params: []string{"+" + ref, multilineCap, d.target}, Tags: tags}
	out := begin.String()
	for _, l := range d.lines {
		e := girc.Event{Command: "PRIVMSG", Params: []string{d.target, l.inBatch}, Tags: girc.Tags{"batch": ref}}
		if l.continues {
			e.Tags[multilineConcat] = ""
		}
		out += "\r\n" + e.String()
	}
	return out + "\r\nBATCH -" + ref
}

// echoOf returns the text with which the server echoes lines.
func echoOf(lines []line) string {
	if len(lines) == 1 {
		return lines[0].text
	}
	var b strings.Builder
	for i, l := range lines {
		if i > 0 && !l.continues {
			b.WriteByte('\n')
		}
		b.WriteString(l.inBatch)
	}
	return b.String()
}

// multiline is a multiline message that is arriving. The BATCH line, head, carries
// the tags and the sender of the whole message.
type multiline struct {
	head *girc.Event
	text strings.Builder
	any  bool
}

func (s *session) beginMultiline(ref string, head *girc.Event) {
	if len(s.multiline) < maxOpenBatches {
		s.multiline[ref] = &multiline{head: head}
	}
}

// addToMultiline adds a line to its multiline message. It reports false if e does
// not belong to one.
func (s *session) addToMultiline(e *girc.Event) bool {
	m := s.multiline[e.Tags["batch"]]
	if m == nil {
		return false
	}
	line := param(e, 1)
	if m.text.Len()+len(line) > maxMultiline {
		s.log.Warn("line dropped: the multiline message is too long", "bytes", m.text.Len())
		return true
	}
	if _, continues := e.Tags[multilineConcat]; m.any && !continues {
		m.text.WriteByte('\n')
	}
	m.any = true
	m.text.WriteString(line)
	return true
}

func (s *session) endMultiline(ref string) {
	m := s.multiline[ref]
	delete(s.multiline, ref)
	if m == nil || !m.any {
		return
	}
	whole := *m.head
	whole.Command, whole.Params = "PRIVMSG", []string{param(m.head, 2), m.text.String()}
	s.onMessage(&whole)
}
