package toolbox_test

import (
	"context"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/toolbox"
)

// source is a source with these tools.
type source struct{ tools []agent.Tool }

func (s *source) Tools(context.Context) []agent.Tool { return s.tools }

func sourceOf(names ...string) *source {
	s := &source{}
	for _, name := range names {
		s.tools = append(s.tools, named(name))
	}
	return s
}

func namesOf(tools []agent.Tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Spec().Name)
	}
	return strings.Join(names, " ")
}

func TestLend(t *testing.T) {
	files, cal := sourceOf("files__read", "files__write", "time"), sourceOf("cal__add", "files__read")
	cal.tools = append(cal.tools, off{"cal__off"})
	b := box(t, "time")
	l := b.Lend([]toolbox.Source{files, cal}, toolbox.LendOptions{May: func(name string) bool { return name != "files__write" }})
	first := l.Tools(t.Context())
	if got := namesOf(first); got != "files__read cal__add" {
		t.Fatalf("lent are %q", got)
	}
	again := l.Tools(t.Context())
	if &first[0] != &again[0] {
		t.Error("another slice, though nothing has changed")
	}
	cal.tools = sourceOf("cal__list").tools
	if got := namesOf(l.Tools(t.Context())); got != "files__read cal__list" {
		t.Errorf("after a change lent are %q", got)
	}
	files.tools = nil
	if got := namesOf(l.Tools(t.Context())); got != "cal__list" {
		t.Errorf("without a source lent are %q", got)
	}
	if got := b.Lend(nil, toolbox.LendOptions{}).Tools(t.Context()); got != nil {
		t.Errorf("no source lends %v", got)
	}
}
