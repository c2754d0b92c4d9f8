package tools

import (
	"cmp"
	"slices"
	"time"

	"dragoman/agent"
)

// Needs is what the built-in tools work with. A tool uses it only while it runs, so
// the tools made from zero Needs can be described and not run.
type Needs struct {
	Workspace   *Workspace
	Facts       Facts
	Archive     Searcher
	Attachments Attachments
	Documents   Documents
	Pages       Pages
	Reminders   Reminders
	// Messages is nil where the model can reach no other chat.
	Messages Messages
	// Outgoing is nil where no files can be sent.
	Outgoing Outgoing
	// Search is nil where no search service is configured.
	Search Searching
	// Drawing is nil where no server draws.
	Drawing Drawing
	// Tasks is nil where the model does everything itself.
	Tasks *Tasks
	// Exec is nil where commands are not configured.
	Exec Running
	// Zone is the time zone that people are told the time in.
	Zone *time.Location
	Now  func() time.Time
}

// makers make one built-in tool each. The files of the tools fill it before main
// begins, and nothing changes it afterwards.
var makers []func(Needs) agent.Tool

// builtin makes a tool one that every daemon has. Its file calls it, so that a new
// tool is its file and its test, and its name stands in them alone:
//
//	var _ = builtin(func(n Needs) agent.Tool { return Clock(n.Zone, n.Now) })
func builtin(maker func(Needs) agent.Tool) struct{} {
	makers = append(makers, maker)
	return struct{}{}
}

// Builtin makes all built-in tools, sorted by name.
func Builtin(n Needs) []agent.Tool {
	list := make([]agent.Tool, 0, len(makers))
	for _, maker := range makers {
		list = append(list, maker(n))
	}
	slices.SortFunc(list, func(x, y agent.Tool) int { return cmp.Compare(nameOf(x), nameOf(y)) })
	return list
}

// nameOf is the name of a tool. Those of this package know theirs without their schema.
func nameOf(t agent.Tool) string {
	if named, ok := t.(interface{ name() string }); ok {
		return named.name()
	}
	return t.Spec().Name
}

// Names returns the names of all built-in tools, sorted.
func Names() (names []string) {
	for _, t := range Builtin(Needs{}) {
		names = append(names, nameOf(t))
	}
	return names
}
