package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// A log that nobody reads holds nobody up, and tells later what it lacks.
func TestLogThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, pipe := io.Pipe()
		w := newLogWriter(pipe)
		const said = logLines + 100
		for i := range said {
			fmt.Fprintf(w, "line %d\n", i)
		}
		read := make(chan string)
		go func() {
			text, _ := io.ReadAll(r)
			read <- string(text)
		}()
		synctest.Wait()
		fmt.Fprintln(w, "after it")
		w.close()
		_ = pipe.Close()
		text := <-read
		lines := strings.Count(text, "line ")
		if want := fmt.Sprintf("dragoman: %d lines of the log were dropped", said-lines); !strings.Contains(text, want) {
			t.Errorf("of %d lines %d were written, and the log does not say %q", said, lines, want)
		}
		if lines < logLines || !strings.Contains(text, "\nafter it\n") {
			t.Errorf("%d lines were written, want at least %d and those that came later", lines, logLines)
		}
	})
}

// The end of the program does not wait for a log that nobody reads.
func TestEndBesideALogThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, pipe := io.Pipe()
		w := newLogWriter(pipe)
		fmt.Fprintln(w, "unread")
		w.close()
		_ = r.Close() // else the goroutine would outlive the test
		<-w.ended
	})
}
