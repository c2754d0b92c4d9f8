package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// maxFrame bounds one message of a server.
	maxFrame = 1 << 20
	// maxDepth bounds how deep a message may be nested: decoders take memory for each level.
	maxDepth = 100
	// unaskedPerSecond is how many notes and questions of a server are passed on.
	unaskedPerSecond = 20
)

// What ends a connection. A server's own words are in none of them.
var (
	errFrame = fmt.Errorf("it sent a message of more than %d KiB", maxFrame>>10)
	errJSON  = errors.New("it sent a message that is no JSON")
	errDepth = fmt.Errorf("it sent a message that is nested more than %d deep", maxDepth)
)

// filter passes on the lines of a program's stdout that may be messages. Others, such as a
// banner, are kept for the operator: the library would end the connection. Notes for a log
// are dropped, and others if there are too many, because a server may send thousands.
type filter struct {
	in      *bufio.Reader
	dropped *tail
	rest    []byte // of the line that is being read
	err     error
	passes  unaskedLimit

	mu  sync.Mutex
	why error // what ended it: see failure
}

func newFilter(in io.Reader, dropped *tail) *filter {
	return &filter{in: bufio.NewReaderSize(in, 32<<10), dropped: dropped}
}

func (f *filter) Read(p []byte) (int, error) {
	for len(f.rest) == 0 && f.err == nil {
		f.rest, f.err = f.next()
	}
	if f.err != nil {
		f.mu.Lock()
		f.why = f.err
		f.mu.Unlock()
	}
	if len(f.rest) == 0 {
		return 0, f.err
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// failure is what ended the stream, which the library may not pass on; nil if nothing did.
func (f *filter) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why
}

// next returns the next line that is passed on; nil if it is dropped.
func (f *filter) next() ([]byte, error) {
	line, err := f.readLine()
	if err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(line)
	switch {
	case len(text) == 0:
		return nil, nil
	case text[0] != '{':
		f.dropped.add(string(text))
		return nil, nil
	case tooDeep(text):
		return nil, errDepth
	case !json.Valid(text):
		return nil, errJSON // the library would wait for more
	case !f.passes.passes(text):
		return nil, nil
	}
	return append(text, '\n'), nil
}

func (f *filter) readLine() (line []byte, err error) {
	for {
		part, err := f.in.ReadSlice('\n')
		if len(line)+len(part) > maxFrame {
			return nil, errFrame
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// tooDeep reports whether a message is nested deeper than maxDepth. It need not be JSON.
func tooDeep(message []byte) bool {
	depth := 0
	inText := false
	for i := 0; i < len(message); i++ {
		switch c := message[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
			if depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// unaskedLimit drops what a server says and asks by itself, if that is too much: the library
// keeps a place for each.
type unaskedLimit struct {
	second time.Time
	count  int
}

// passes reports whether a message is passed on. Answers always are.
func (l *unaskedLimit) passes(message []byte) bool {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	switch {
	case json.Unmarshal(message, &head) != nil || head.Method == "":
		return true // of what is no message the library says what is wrong with it
	case head.Method == "notifications/message" && head.ID == nil:
		return false
	}
	now := time.Now()
	if now.Sub(l.second) >= time.Second {
		l.second = now
		l.count = 0
	}
	l.count++
	return l.count <= unaskedPerSecond
}

// tail keeps the last lines of something that a server wrote. It is safe for concurrent use.
type tail struct {
	mu    sync.Mutex
	lines []string
	part  []byte // of a line that is being written
}

const (
	tailLines = 20
	tailBytes = 200
)

// add keeps a line.
func (t *tail) add(line string) {
	line = cleanText(line, tailBytes)
	if line == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

// Write is of io.Writer, for stderr.
func (t *tail) Write(p []byte) (int, error) {
	for _, b := range p {
		switch {
		case b == '\n':
			t.add(string(t.part))
			t.part = t.part[:0]
		case len(t.part) < tailBytes:
			t.part = append(t.part, b)
		}
	}
	return len(p), nil
}

func (t *tail) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}
