package main

import (
	"strings"
	"testing"

	"dragoman/internal/api"
)

// Whoever accepts a server is asked about what they do: count its words as theirs, or offer
// other tools.
func TestWhetherToAccept(t *testing.T) {
	for name, test := range map[string]struct {
		changes []string
		odd     []string
		asks    string
	}{
		"nothing":             {[]string{"", ""}, nil, ""},
		"first list":          {[]string{"unread", "", "unread"}, nil, "count as your own words"},
		"one is new":          {[]string{"unread", "new"}, nil, "be offered what"},
		"one is gone":         {[]string{"gone"}, nil, "be offered what"},
		"a file has changed":  {[]string{""}, []string{"files of its program have changed"}, "be offered what"},
		"unread, and changed": {[]string{"unread", "changed"}, nil, "be offered what"},
	} {
		r := api.ToolReport{Server: "mail", Odd: test.odd}
		for _, change := range test.changes {
			r.Tools = append(r.Tools, api.ToolListed{Change: change})
		}
		got := whetherToAccept(r)
		if (got == "") != (test.asks == "") || !strings.Contains(got, test.asks) || got != "" && !strings.Contains(got, "mail") {
			t.Errorf("%s: the question is %q, want %q in it", name, got, test.asks)
		}
	}
}
