package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions"
)

// days is a conversation of four messages a day, two of a person and two
// answers, on each of so many days of March.
func days(w *world, n int) {
	w.t.Helper()
	for day := range n {
		e := sessions.Entry{Inbound: channels.Inbound{Key: channels.MustKey("telegram:1"), ID: fmt.Sprint(day)}, Answered: true}
		for hour := range 4 {
			at := time.Date(2026, 3, 1+day, 9+hour, 0, 0, 0, time.Local)
			role := []sessions.Role{sessions.RoleUser, sessions.RoleAssistant}[hour%2]
			e.Append = append(e.Append, sessions.Message{Role: role, Content: fmt.Sprintf("plum %d at %d", 1+day, 9+hour), At: at})
		}
		if _, err := w.daemon.store.Accept(w.t.Context(), e); err != nil {
			w.t.Fatal(err)
		}
	}
}

var plums = regexp.MustCompile(`plum \d+ at \d+`)

// said is what a command prints of them, "1.9" for the ninth hour of the first.
func said(out string) string {
	return strings.NewReplacer("plum ", "", " at ", ".").Replace(strings.Join(plums.FindAllString(out, -1), " "))
}

func TestShowParts(t *testing.T) {
	w := newWorld(t)
	days(w, 3)
	for _, tt := range []struct{ args, want, more string }{
		{"--last 2", "3.11 3.12", "(10 messages before; more: --before 11; all: --last 0)"},
		{"--last 2 --before 11", "3.9 3.10", "(2 messages after; more: --after 10)"},
		{"--last 2 --before 11", "3.9 3.10", "(8 messages before; more: --before 9; all: --last 0)"},
		{"--last 2 --before 2026-03-02", "1.11 1.12", "(8 messages after; more: --after 4)"},
		{"--before 2026-03-02T10:00", "1.9 1.10 1.11 1.12 2.9", "(7 messages after; more: --after 5)"},
		{"--last 3 --after 2026-03-02", "2.9 2.10 2.11", "(5 messages after; more: --after 7)"},
		{"--last 3 --after 7", "2.12 3.9 3.10", "(2 messages after; more: --after 10)"},
		{"--last 3 --after 10", "3.11 3.12", "(10 messages before;"},
		{"--last 0 --after 2026-03-02 --before 2026-03-03", "2.9 2.10 2.11 2.12", "(4 messages after; more: --after 8)"},
		{"--after 12", "", "There are no messages there: 12 messages before and 0 after."},
		{"--before 0", "", "There are no messages there: 0 messages before and 12 after."},
		{"--before 2026-01-01", "", "There are no messages there: 0 messages before and 12 after."},
		{"--after 4 --before 5", "", "There are no messages there: 4 messages before and 8 after."},
	} {
		args := append([]string{"sessions", "show", "telegram:1"}, strings.Fields(tt.args)...)
		if out := w.want([]string{tt.more}, args...); said(out) != tt.want {
			t.Errorf("%s shows %q, want %q:\n%s", tt.args, said(out), tt.want, out)
		}
		var doc struct {
			Earlier, Later int
			Messages       []any
		}
		if err := json.Unmarshal([]byte(w.want(nil, append(args, "--json")...)), &doc); err != nil || doc.Earlier+len(doc.Messages)+doc.Later != 12 {
			t.Errorf("%s: %v: %d messages, %d before and %d after are not 12", tt.args, err, len(doc.Messages), doc.Earlier, doc.Later)
		}
	}
	for _, bad := range []string{"yesterday", "-3", "2026-13-01", "2026-11-01T25:00", "1.5"} {
		w.fail(exitUsage, "--before wants the number of a message, or a time like 2026-11-01, 2026-11-01T10:00", "sessions", "show", "telegram:1", "--before="+bad)
		w.fail(exitUsage, "--from wants a time like 2026-11-01,", "sessions", "search", "plum", "--from="+bad)
	}
}

// More is shown than one answer of the daemon holds, from both ends.
func TestShowManyParts(t *testing.T) {
	w := newWorld(t)
	days(w, 60)
	for args, want := range map[string]int{"--last 0": 240, "--last 230": 230, "--last 150 --before 200": 150, "--last 0 --before 200": 199, "--last 150 --after 20": 150, "--last 999 --after 20": 220} {
		out := w.want(nil, append([]string{"sessions", "show", "telegram:1"}, strings.Fields(args)...)...)
		got := strings.Fields(said(out))
		if len(got) != want {
			t.Errorf("%s shows %d messages, want %d", args, len(got), want)
		}
	}
}

func TestSearchPages(t *testing.T) {
	w := newWorld(t)
	days(w, 3)
	for args, want := range map[string]string{
		"--from 2026-03-02 --to 2026-03-02":               "2.12 2.11 2.10 2.9",
		"--to 2026-03-01T10:00":                           "1.9",
		"--from 2026-03-03 --limit 2":                     "3.12 3.11",
		"--from 2026-03-03T11:00 --key telegram:1":        "3.12 3.11",
		"--from 2026-03-01 --to 2026-03-01 --key irc:#go": "",
		"--from 2027-01-01T00:00:00Z --limit 10":          "",
	} {
		out := w.want(nil, append([]string{"sessions", "search", "plum"}, strings.Fields(args)...)...)
		if said(out) != want {
			t.Errorf("%s finds %q, want %q:\n%s", args, said(out), want, out)
		}
	}
	w.want([]string{"No message from that time contains plum."}, "sessions", "search", "plum", "--to", "2020-01-01")
	var pages []string
	args := []string{"sessions", "search", "plum", "--limit", "5"}
	for more := regexp.MustCompile(`\(there may be more: (--after) (\S+)\)`); ; {
		out := w.want(nil, args...)
		pages = append(pages, said(out))
		next := more.FindStringSubmatch(out)
		if next == nil {
			break
		}
		args = append(args[:5], next[1:]...)
	}
	if diff := cmp.Diff([]string{"3.12 3.11 3.10 3.9 2.12", "2.11 2.10 2.9 1.12 1.11", "1.10 1.9"}, pages); diff != "" {
		t.Errorf("the pages (-want +got):\n%s", diff)
	}
	w.want([]string{"  message 12\n"}, "sessions", "search", "plum", "--limit", "1")
	w.want([]string{`"cursor": "`, `"words": 1`}, "sessions", "search", "plum", "--limit", "1", "--json")
	w.fail(exitUsage, "--after wants the cursor that the previous page printed at its end", "sessions", "search", "plum", "--after", "12")
}
