package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/internal/api"
	"dragoman/sessions"
)

// What is said of nodes: what each holds and since when, and which role nobody has.
func TestNodes(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	list := []api.Node{
		{ID: "a", Host: "one:/state", Self: true, Roles: []string{"channels", "jobs"}, Since: now.Add(-time.Hour), Holds: []api.Lease{{Name: "channel:telegram", Since: now.Add(-3 * time.Minute)}}},
		{ID: "b", Host: "two:/state", Roles: []string{sessions.Leaving}, Since: now.Add(-time.Hour)},
	}
	e := &env{now: func() time.Time { return now }}
	said := func() (lines []string) {
		e.nodesLine(api.Status{Nodes: list}, func(what, value string) { lines = append(lines, fmt.Sprint(what, ": ", value)) })
		return lines
	}
	got := said()
	if len(got) != 3 || !strings.Contains(got[0], "holds telegram (3 min ago)") || got[2] != `warning: messages wait for an answer, because no running node has "turns" in its roles` {
		t.Errorf("status says %q", got)
	}
	list[1].Roles = nil // all
	list[0].Configuration = "11111111"
	if got := said(); len(got) != 2 {
		t.Errorf("status says %q of a node that does not show its configuration", got)
	}
	list[1].Configuration = "22222222"
	if got := said(); len(got) != 3 || !strings.Contains(got[2], "warning: the configurations of these nodes differ: one:/state (11111111) and two:/state (22222222)") {
		t.Errorf("status says %q", got)
	}
	list[1].Configuration = "11111111"
	if got := said(); len(got) != 2 {
		t.Errorf("status says %q, want no warning", got)
	}
}
