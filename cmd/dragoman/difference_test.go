package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What changed between two listings of a tool is shown in order, also a line that moved or that
// comes twice now.
func TestDifference(t *testing.T) {
	lines := func(text string) []string {
		if text == "" {
			return nil
		}
		return strings.Split(text, " ")
	}
	for name, test := range map[string]struct{ before, now, want string }{
		"nothing":       {"{ a, b }", "{ a, b }", ""},
		"only a comma":  {"{ a b }", "{ a, b, }", ""},
		"a change":      {"{ a b }", "{ a c }", "-b +c"},
		"a move":        {"a b c", "b c a", "-a +a"},
		"a line twice":  {"a b", "a b a b", "+a +b"},
		"a line once":   {"x s y s z", "x s y z", "-s"},
		"new":           {"", "a b", "+a +b"},
		"gone":          {"a b", "", "-a -b"},
		"in two places": {"a s b s c", "a s B s C", "-b +B -c +C"},
	} {
		got := strings.ReplaceAll(strings.Join(difference(lines(test.before), lines(test.now)), " "), "- ", "-")
		if diff := cmp.Diff(test.want, strings.ReplaceAll(got, "+ ", "+")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var long, other []string
	for i := range 3000 {
		long = append(long, strconv.Itoa(i))
		other = append(other, "x"+strconv.Itoa(i))
	}
	if got := difference(long, other); len(got) != 6000 || got[0] != "- 0" || got[5999] != "+ x2999" {
		t.Errorf("of long texts %d lines are shown", len(got))
	}
}
