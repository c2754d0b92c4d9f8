package main

import (
	"strings"
	"testing"
	"time"

	"dragoman/sessions/exchange"
)

// A migration shows on a terminal how far it is, and clears that away.
func TestMigrateShowsProgress(t *testing.T) {
	w := newWorld(t)
	code, out, errs := w.run("sessions", "migrate", "--from", "file", "--to", "sqlite:/x\x1b[2J")
	if code != 0 || !strings.Contains(errs, "copying: 0 of 2 000 messages") || !strings.HasSuffix(errs, "\r\x1b[K") {
		t.Errorf("code %d, the terminal shows %q", code, errs)
	}
	for _, words := range []string{"Copied from file", "equal.", "now x", "advice"} {
		if !strings.Contains(out, words) {
			t.Errorf("%q is not in %q", words, out)
		}
	}
	if strings.Contains(out, "\x1b[2J") {
		t.Errorf("a path reaches the terminal as it is: %q", out)
	}
	_, out, _ = w.run("sessions", "migrate", "--from", "file", "--to", "sqlite", "--json")
	if !strings.Contains(out, `"equal": true`) {
		t.Errorf("as JSON it is %q", out)
	}
	w.fail(exitUsage, "--to", "sessions", "migrate", "--from", "file")
}

// The rate is that of the step, and nothing is shown where nobody looks.
func TestProgress(t *testing.T) {
	var shown strings.Builder
	now := clock
	p := &progress{e: &env{err: &shown, now: func() time.Time { return now }}}
	p.update(exchange.Progress{Step: exchange.Counting, Done: 50_000})
	for i := range 5 {
		now = now.Add(150 * time.Millisecond)
		p.update(exchange.Progress{Step: exchange.Copying, Done: 1500 * i, Total: 50_000})
	}
	want := "\r\x1b[Kcounting: 50 000 messages\r\x1b[Kcopying: 0 of 50 000 messages" +
		"\r\x1b[Kcopying: 3 000 of 50 000 messages, 10 000 a second\r\x1b[Kcopying: 6 000 of 50 000 messages, 10 000 a second"
	if shown.String() != want {
		t.Errorf("shown %q, want %q", shown.String(), want)
	}
	shown.Reset()
	p = &progress{e: &env{err: &shown, plain: true, now: func() time.Time { return now }}}
	p.update(exchange.Progress{Step: exchange.Copying, Done: 1})
	p.end()
	if shown.Len() > 0 {
		t.Errorf("a pipe gets %q", shown.String())
	}
}
