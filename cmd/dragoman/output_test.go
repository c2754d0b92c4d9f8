package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
)

// fullDisk takes so many bytes and no more.
type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// An answer that is not all there is a failure, whatever the command; it is
// said once, and nothing else is.
func TestOutputThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "Trip", "hello")
	for _, line := range []string{
		"sessions list", "sessions list --json", "sessions show telegram:1", "sessions export --all", "sessions stats", "queue", "status", "check",
		"completion bash", "version", "help", "--help", "sessions show --help",
	} {
		for _, room := range []int{0, 5} {
			var errs bytes.Buffer
			code := run(t.Context(), strings.Fields(line), &env{out: &fullDisk{room}, err: &errs, daemon: w.daemon.daemon(), now: w.now})
			if want := "dragoman: the output cannot be written: no space left on device\n"; code != exitFailed || errs.String() != want {
				t.Errorf("dragoman %s: code %d, %q, want %d, %q", line, code, errs.String(), exitFailed, want)
			}
		}
	}
}

// What is wrong with a command line is said in words, with the help of the verb
// that was meant.
func TestMisparsed(t *testing.T) {
	w := newWorld(t)
	w.fail(exitUsage, "dragoman: sessions show wants <key>\nTry: dragoman help sessions show\n", "sessions", "show")
	w.fail(exitUsage, "dragoman: sessions tag wants <key>\n", "sessions", "tag")
	w.fail(exitUsage, "dragoman: --limit wants a whole number, 0 or more\nTry: dragoman help sessions list\n", "sessions", "list", "--limit", "x")
	w.fail(exitUsage, "dragoman: --last wants a whole number, 0 or more\n", "sessions", "show", "a:b", "--last", "-1")
	w.fail(exitUsage, "Try: dragoman help sessions\n", "-c", "a.yaml", "sessions", "shwo")
	w.fail(exitUsage, "dragoman: --config wants a value\n", "--config")
	w.fail(exitUsage, "dragoman: --config wants a value\nTry: dragoman help sessions tag\n", "sessions", "tag", "a:b", "-c")
}
