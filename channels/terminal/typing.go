package terminal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// handleInput handles input; more is false at its end.
func (s *session) handleInput(b []byte, more bool) {
	if s.piped {
		s.handlePipe(b, more)
		return
	}
	if !more {
		s.leaving = true
		return
	}
	for _, k := range s.keyboard.read(b) {
		s.pressKey(k)
	}
}

// handlePipe makes a message of each line of a pipe. At the end of the input the
// last line needs no line end.
func (s *session) handlePipe(b []byte, more bool) {
	s.partial = append(s.partial, b...)
	for {
		line, rest, found := bytes.Cut(s.partial, []byte("\n"))
		if !found {
			break
		}
		s.partial = bytes.Clone(rest)
		if text := strings.TrimSuffix(string(line), "\r"); isQuit(text) {
			s.partial, more = nil, false
		} else {
			s.enqueue(text)
		}
	}
	if len(s.partial) > maxLine {
		s.failed = fmt.Errorf("terminal: read the input: a line has more than %d bytes", maxLine)
	}
	if !more {
		s.ended = true
		if text := string(s.partial); !isQuit(text) {
			s.enqueue(text)
		}
		s.partial = nil
	}
}

// isQuit reports whether a line is a command to quit. The daemon never sees it.
func isQuit(line string) bool {
	line = strings.TrimSpace(line)
	return line == "/quit" || line == "/exit"
}

func (s *session) pressKey(k key) {
	warned := s.warned
	s.warned = false
	switch k.name {
	case keyInterrupt:
		s.interrupt(warned)
	case keyEOF:
		if len(s.editor.line) == 0 {
			s.leaving = true
			return
		}
		s.editor.press(key{name: keyDelete})
	case keyEnter:
		s.submit()
	case keyClear:
		s.screen.clear()
	default:
		if candidates := s.editor.press(k); candidates != nil && !s.waiting() {
			s.notice(indent + strings.Join(candidates, "  "))
		}
	}
}

// submit enters the line. During an answer the line waits its turn, unless it is /stop.
func (s *session) submit() {
	switch text := s.editor.text(); {
	case strings.TrimSpace(text) == "":
		s.editor.set("")
	case isQuit(text):
		s.screen.keepEditor(&s.editor)
		s.leaving = true
	case s.asked.waitsForNext() && s.isWanted(s.answers(text)):
		s.enqueue(s.editor.take())
		s.queue[len(s.queue)-1].unseen = true
		s.queue[len(s.queue)-1].ahead = true
	case s.answers(text) != "":
		answer := s.answers(text)
		s.screen.keepEditor(&s.editor)
		s.editor.take()
		s.noteAnswer(answer)
		s.postFirst(answer)
	case s.waiting() && strings.TrimSpace(text) == "/stop":
		s.editor.take()
		s.interrupt(false)
	case s.asked.newest() != "":
		s.screen.keepEditor(&s.editor)
		s.enqueue(s.editor.take())
		s.queue[len(s.queue)-1].unseen = s.waiting() // then it is shown again before its answer
		s.notice(sayFirst)
	case s.waiting() || len(s.queue) > 0:
		s.enqueue(s.editor.take())
		s.queue[len(s.queue)-1].unseen = true
	default:
		s.screen.keepEditor(&s.editor)
		s.enqueue(s.editor.take())
	}
}

// interrupt handles Ctrl-C: it stops the awaited answer, else clears the line, else quits
// at the second press.
func (s *session) interrupt(warned bool) {
	switch {
	case s.waiting() && s.stopping:
		s.leaving = true
	case s.waiting():
		s.stopping = true
		s.queue = nil
		s.postFirst("/stop")
		s.notice("· stopping; Ctrl-C again quits")
	case len(s.editor.line) > 0:
		s.screen.keepEditor(&s.editor)
		s.editor.set("")
	case warned:
		s.leaving = true
	default:
		s.notice("· Ctrl-C again or Ctrl-D quits")
		s.warned = true
	}
}

// read forwards input until in or ctx ends. A read under way when ctx ends cannot be
// interrupted: it still consumes the next input, and nothing waits for it.
func read(ctx context.Context, in io.Reader, input chan<- []byte) {
	defer close(input)
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			select {
			case input <- append([]byte(nil), buf[:n]...):
			case <-ctx.Done():
				return
			}
		}
		if err != nil || ctx.Err() != nil {
			return
		}
	}
}
