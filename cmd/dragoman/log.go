package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"dragoman/internal/config"
)

// newLogger writes to w in the configured form. The level can be changed while
// the daemon runs.
func newLogger(w io.Writer, cfg *config.Config, level *slog.LevelVar) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: errorsOnOneLine}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// errorsOnOneLine writes joined errors on one line, because logs are read line by
// line.
func errorsOnOneLine(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok && a.Value.Kind() == slog.KindAny {
		if text := err.Error(); strings.Contains(text, "\n") {
			return slog.String(a.Key, strings.ReplaceAll(text, "\n", "; "))
		}
	}
	return a
}

const (
	// logLines is how many lines can wait for a slow reader of the log.
	logLines = 1024
	// logFlush is how long close waits for the reader.
	logFlush = time.Second
)

// logWriter writes lines in its own goroutine, so that a stopped terminal or a
// full pipe never delays an answer. When too many lines wait, new ones are
// dropped and counted; the count is written as soon as the log is read again.
type logWriter struct {
	to      io.Writer
	lines   chan []byte
	lost    atomic.Int64
	closing chan struct{}
	ended   chan struct{}
}

// newLogWriter starts the goroutine, which close ends.
func newLogWriter(to io.Writer) *logWriter {
	w := &logWriter{to: to, lines: make(chan []byte, logLines), closing: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

// Write takes one line. It never blocks and never fails.
func (w *logWriter) Write(line []byte) (int, error) {
	select {
	case w.lines <- bytes.Clone(line):
	default:
		w.lost.Add(1)
	}
	return len(line), nil
}

func (w *logWriter) run() {
	defer close(w.ended)
	for {
		select {
		case line := <-w.lines:
			w.write(line)
			continue
		case <-w.closing:
		}
		for len(w.lines) > 0 {
			w.write(<-w.lines)
		}
		return
	}
}

// write writes a line and, once no other line waits, how many were dropped. An
// error has nowhere to be reported.
func (w *logWriter) write(line []byte) {
	_, _ = w.to.Write(line)
	if len(w.lines) > 0 {
		return
	}
	if n := w.lost.Swap(0); n > 0 {
		_, _ = fmt.Fprintf(w.to, "dragoman: %d lines of the log were dropped, because nothing was reading it\n", n)
	}
}

// close writes the waiting lines, unless the reader takes longer than logFlush. It
// is called once.
func (w *logWriter) close() {
	close(w.closing)
	select {
	case <-w.ended:
	case <-time.After(logFlush):
	}
}
