package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// narrow fails the test if a line is wider than a usual terminal.
func narrow(t *testing.T, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if n := columns(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("a line has %d columns: %q", n, line)
		}
	}
}

func TestListShowsWhatThereIs(t *testing.T) {
	w := newWorld(t)
	w.width = 80
	w.say("telegram:1", "", "> Bob: earlier\n\nplan a trip to the mountains of the far north, where nobody has been before us")
	w.say("telegram:2", "A title", "hello")
	out := w.want([]string{"telegram:1", "plan a trip to the", "A title"}, "sessions", "list")
	narrow(t, out)
	if strings.Contains(out, "earlier") || strings.Contains(out, "hello") {
		t.Errorf("a title is made from the wrong words:\n%s", out)
	}
	w.want([]string{`"derived_title": "plan a trip to the mountains of the far north, where nobody…"`}, "sessions", "list", "--json")
	for _, args := range [][]string{{"--limit", "x"}, {"--after", "x"}, {"--meta", "x"}} {
		w.fail(exitUsage, "", append([]string{"sessions", "list"}, args...)...)
	}
}

func TestListInPages(t *testing.T) {
	w := newWorld(t)
	for i := range 25 {
		w.say(fmt.Sprintf("telegram:%d", i+1), "t", "hello")
	}
	rows := func(args ...string) (int, string) {
		out := w.want([]string{"(there may be more: --after "}, append([]string{"sessions", "list"}, args...)...)
		_, after, _ := strings.Cut(out, "--after ")
		return strings.Count(out, "telegram:"), strings.TrimSuffix(strings.TrimSpace(after), ")")
	}
	for limit, want := range map[string]int{"-3": 1, "0": 1, "1": 1, "25": 25} {
		if got, _ := rows("--limit=" + limit); got != want {
			t.Errorf("--limit %s shows %d conversations, want %d", limit, got, want)
		}
	}
	w.fail(exitUsage, "dragoman: --limit wants a whole number, 0 or more\n", "sessions", "list", "--limit", "-3")
	got, after := rows()
	if got != 10 {
		t.Errorf("sessions list shows %d conversations, want 10", got)
	}
	_, after = rows("--limit", "12", "--after", after)
	out := w.want(nil, "sessions", "list", "--limit", "999", "--after", after)
	if strings.Count(out, "telegram:") != 3 || strings.Contains(out, "there may be more") {
		t.Errorf("the last page shows\n%s", out)
	}
	var all []struct{ Cursor string }
	if err := json.Unmarshal([]byte(w.want(nil, "sessions", "list", "--json", "--after", after)), &all); err != nil || len(all) != 3 {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	w.want([]string{"No more conversations match."}, "sessions", "list", "--after", all[2].Cursor)
}

func TestBars(t *testing.T) {
	for _, c := range []struct {
		n, most int
		want    string
	}{{0, 10, ""}, {10, 10, strings.Repeat("█", 24)}, {5, 10, strings.Repeat("█", 12)}, {1, 1_000_000, "▏"}, {1, 0, ""}} {
		if got := bar(c.n, c.most); got != c.want {
			t.Errorf("bar(%d, %d) = %q, want %q", c.n, c.most, got, c.want)
		}
	}
	want := []string{"0", "999", "1 000", "1 234 567", "-1 000"}
	var got []string
	for _, n := range []int{0, 999, 1000, 1234567, -1000} {
		got = append(got, grouped(n))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("grouped (-want +got):\n%s", diff)
	}
}

// What an operator does to conversations leaves lines that name nobody.
func TestManagingIsWrittenDown(t *testing.T) {
	w := newWorld(t)
	w.daemon.audit = filepath.Join(t.TempDir(), "audit.log")
	w.say("telegram:1", "", "one")
	w.say("telegram:2", "", "two")
	w.want(nil, "sessions", "rename", "telegram:1", "A secret title")
	w.want(nil, "sessions", "join", "telegram:2", "telegram:1", "--yes")
	w.want(nil, "sessions", "delete", "telegram:1", "--yes")
	w.fail(1, "there is no conversation", "sessions", "delete", "telegram:1", "--yes")
	data, err := os.ReadFile(w.daemon.audit)
	if err != nil {
		t.Fatal(err)
	}
	const sum = `"[0-9a-f]{64}"`
	var want string
	for _, did := range []struct{ action, end, sums string }{
		{"rename", "done", sum}, {"join", "done", sum + "," + sum}, {"delete", "done", sum}, {"delete", "failed", sum},
	} {
		for _, state := range []string{"begun", did.end} {
			want += `{"at":"[^"]+","action":"` + did.action + `","state":"` + state + `","targets":\[` + did.sums + `\],"by":"operator"}\n`
		}
	}
	if !regexp.MustCompile("^" + want + "$").Match(data) {
		t.Errorf("the audit log says:\n%s", data)
	}
}
