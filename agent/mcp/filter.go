package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

// filter passes on the lines of a program's stdout that may be messages. Others, such as a
// banner, are kept for the operator: the library would end the connection.
type filter struct {
	in      *bufio.Reader
	dropped *tail
	rest    []byte // of the line that is being read
	err     error
	gate    gate
	pace    pace

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
	line, err := readLine(f.in)
	if err != nil {
		return nil, err
	}
	f.pace.spend(len(line) + perLine)
	text := bytes.TrimSpace(line)
	switch {
	case len(text) == 0:
		return nil, nil
	case text[0] != '{':
		f.dropped.add(string(text))
		return nil, nil
	}
	message, err := f.gate.pass(text)
	if message == nil || err != nil {
		return nil, err
	}
	return append(message, '\n'), nil
}

// readLine reads a line of at most maxFrame bytes, with its end.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxFrame {
			return nil, errFrame
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// tail keeps the last lines of something that a server wrote. It is safe for concurrent use.
type tail struct {
	mu    sync.Mutex
	lines []string
	part  []byte // of a line that is being written
	pace  pace   // of Write
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
	t.pace.spend(len(p))
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
