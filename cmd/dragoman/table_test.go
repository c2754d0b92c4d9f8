package main

import (
	"strings"
	"testing"
	"time"

	"dragoman/sessions"
)

func TestTableFitsTheTerminal(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "日本語のとても長い題名がここにあります 👨‍👩‍👧‍👦 and it goes on and on and on and on", "x")
	w.say("irc:#a-very-long-channel-name-that-nobody-would-choose", "", "x")
	for _, width := range []int{60, 80, 120} {
		w.width = width
		out := w.want(nil, "sessions", "list")
		for line := range strings.Lines(out) {
			if got := columns(strings.TrimRight(line, "\n")); got > width {
				t.Errorf("a line takes %d of %d columns: %q", got, width, line)
			}
		}
	}
	w.width = 60
	w.want([]string{"…"}, "sessions", "list")
	w.width = 0
	w.want([]string{"and on and on and on"}, "sessions", "list")
}

// In a narrow terminal columns are left out before what can be copied is cut.
func TestNarrowTablesKeepWhatIsCopied(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "A title that is longer than it has room here", "x")
	_, _, err := w.daemon.store.RequestPairing(t.Context(), sessions.Pairing{
		Channel: "telegram", PersonID: "123456789", Name: "Somebody With A Name", Code: "ABCD-EFGH", Expires: clock.Add(time.Hour),
	}, clock, 9)
	if err != nil {
		t.Fatal(err)
	}
	w.width = 40
	for _, test := range []struct{ line, whole, not string }{
		{"sessions list", "telegram:1  A title", "TOKENS"},
		{"sessions stats", "2026-03-01      1         2", "█"},
		{"sessions generations telegram:1", "20260301_001  5 min ago", "FIRST"},
		{"pair list", "ABCD-EFGH", "NAME"},
	} {
		out := w.want([]string{test.whole}, strings.Fields(test.line)...)
		if strings.Contains(out, test.not) {
			t.Errorf("dragoman %s shows %q in 40 columns:\n%s", test.line, test.not, out)
		}
	}
	w.width = 120
	w.want([]string{"TOKENS", "A title that is longer than it has room here"}, "sessions", "list")
}
