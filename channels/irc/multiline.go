package irc

import (
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
