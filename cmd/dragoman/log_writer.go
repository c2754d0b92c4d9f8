package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// logLines is how many lines wait for a reader of the log that is slow.
	logLines = 1024
	// logFlush is how long the end of the program waits for them.
	logFlush = time.Second
)

// logWriter writes lines in its own goroutine, so that a stopped terminal or a
// full pipe never delays an answer. When too many lines wait, new ones are
// dropped and counted; the count is written as soon as the log is read again.
type logWriter struct {
	to    io.Writer
	ended chan struct{}

	mu     sync.Mutex
	lines  chan []byte
	lost   int
	closed bool
}

// newLogWriter starts the goroutine, which close ends.
func newLogWriter(to io.Writer) *logWriter {
	w := &logWriter{to: to, lines: make(chan []byte, logLines), ended: make(chan struct{})}
	go w.run()
	return w
}

// Write takes one line. It never blocks and never fails.
func (w *logWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return len(line), nil
	}
	select {
	case w.lines <- bytes.Clone(line):
	default:
		w.lost++
	}
	return len(line), nil
}

func (w *logWriter) run() {
	defer close(w.ended)
	for line := range w.lines {
		_, _ = w.to.Write(line) // a log that cannot be written has nowhere to report it
		if n := w.takeLost(); n > 0 {
			_, _ = fmt.Fprintf(w.to, "dragoman: %d lines of the log were dropped, because nothing was reading it\n", n)
		}
	}
}

// takeLost returns how many lines were dropped, once there is room again.
func (w *logWriter) takeLost() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) > 0 {
		return 0
	}
	n := w.lost
	w.lost = 0
	return n
}

// close writes the lines that wait, if the log is read soon.
func (w *logWriter) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.lines)
	}
	w.mu.Unlock()
	select {
	case <-w.ended:
	case <-time.After(logFlush):
	}
}
