package terminal

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
)

// typed takes what was read from the input; more is false at its end.
func (s *session) typed(b []byte, more bool) {
	if s.piped {
		s.lines(b, more)
		return
	}
	if !more {
		s.left = true
		return
	}
	for _, k := range s.keyboard.read(b) {
		s.press(k)
	}
}

// lines makes a message of every line of a pipe.
func (s *session) lines(b []byte, more bool) {
	s.partial = append(s.partial, b...)
	for {
		line, rest, found := bytes.Cut(s.partial, []byte("\n"))
		if !found {
			break
		}
		s.partial = bytes.Clone(rest)
		if text := strings.TrimSuffix(string(line), "\r"); leaves(text) {
			s.partial, more = nil, false
		} else {
			s.enter(text)
		}
	}
	if len(s.partial) > maxLine {
		s.failed = fmt.Errorf("terminal: read the input: a line has more than %d bytes", maxLine)
	}
	if !more {
		s.ended = true
		if text := string(s.partial); !leaves(text) {
			s.enter(text)
		}
		s.partial = nil
	}
}

// leaves reports whether a line is one of the words with which people leave
// other programs. They are about this terminal: the daemon never sees them.
func leaves(line string) bool {
	switch strings.TrimSpace(line) {
	case "/quit", "/exit":
		return true
	}
	return false
}

// press does what a key does.
func (s *session) press(k key) {
	warned := s.warned
	s.warned = false
	switch k.name {
	case keyInterrupt:
		s.interrupt(warned)
	case keyEOF:
		if len(s.editor.line) == 0 {
			s.left = true
			return
		}
		s.editor.press(key{name: keyDelete})
	case keyEnter:
		s.submit()
	case keyClear:
		s.screen.clear()
	default:
		if candidates := s.editor.press(k); candidates != nil && !s.waiting() {
			s.say(indent + strings.Join(candidates, "  "))
		}
	}
}

// submit ends the line. While an answer comes it waits its turn, except for
// the one command that is about that answer.
func (s *session) submit() {
	switch text := s.editor.text(); {
	case strings.TrimSpace(text) == "":
		s.editor.set("")
	case leaves(text):
		s.screen.leave(&s.editor)
		s.left = true
	case s.waiting() && strings.TrimSpace(text) == "/stop":
		s.editor.take()
		s.interrupt(false)
	case s.waiting() || len(s.queue) > 0:
		s.enter(s.editor.take())
		s.queue[len(s.queue)-1].unseen = true
	default:
		s.screen.leave(&s.editor)
		s.enter(s.editor.take())
	}
}

// interrupt is Ctrl-C: it stops the answer that is awaited, else empties the
// line, else leaves when it comes twice.
func (s *session) interrupt(warned bool) {
	switch {
	case s.waiting() && s.stopping:
		s.left = true
	case s.waiting():
		s.stopping = true
		s.queue = nil
		s.halt = message{id: rand.Text(), text: "/stop", stop: true}
		s.known[s.halt.id] = true
		s.say("· stopping; Ctrl-C again leaves")
	case len(s.editor.line) > 0:
		s.screen.leave(&s.editor)
		s.editor.set("")
	case warned:
		s.left = true
	default:
		s.say("· Ctrl-C again or Ctrl-D leaves")
		s.warned = true
	}
}
