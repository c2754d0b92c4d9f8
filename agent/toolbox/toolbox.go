// Package toolbox has all tools that a daemon can give its model, whatever they come
// from, and gives it those that the configuration allows.
//
// The promise: a name means one tool. [New] refuses two tools of one name, so nothing
// that is added later can stand in for a built-in tool. The order is the names', so a
// request begins the same from turn to turn.
//
// Names are known at two times. Those of built-in tools are plain, and known when a
// configuration is read. A tool of a server that is asked at run time is called
// SERVER__TOOL (see [Borrowed]): the configuration may name it before anybody knows
// whether the server has it. [Toolbox.Allowed] returns what is missing in the end.
// What comes and goes is a [Source], and [Toolbox.Lend] makes one of several.
//
// Failures: none but a wrong list in New, which is a mistake of ours. A name that
// nothing offers is reported, and the other tools are offered all the same. A source that
// offers a name that is taken loses that tool.
//
// Goroutines: one for each source while [Lent.Tools] asks them. Everything is safe for
// concurrent use.
package toolbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/agent/window"
)

// Toolbox is a set of tools. Make it with [New].
type Toolbox struct {
	tools []agent.Tool // sorted by name
}

// New puts tools into a toolbox. It returns an error if two have one name.
func New(tools []agent.Tool) (*Toolbox, error) {
	b := &Toolbox{tools: slices.Clone(tools)}
	slices.SortFunc(b.tools, func(x, y agent.Tool) int { return cmp.Compare(x.Spec().Name, y.Spec().Name) })
	names := b.Names()
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return nil, fmt.Errorf("toolbox: two tools are called %q", names[i])
		}
	}
	return b, nil
}

// Names returns the names of all tools, sorted.
func (b *Toolbox) Names() (names []string) {
	for _, t := range b.tools {
		names = append(names, t.Spec().Name)
	}
	return names
}

// Allowed returns the tools with these names, sorted, and the names that no tool has.
// Nil names mean all tools, and an empty list none. Tools that are off ([agent.Spec.Off])
// are never among them.
func (b *Toolbox) Allowed(names []string) (tools []agent.Tool, missing []string) {
	all := b.Names()
	for _, name := range names {
		if !slices.Contains(all, name) {
			missing = append(missing, name)
		}
	}
	for _, t := range b.tools {
		spec := t.Spec()
		if spec.Off == "" && (names == nil || slices.Contains(names, spec.Name)) {
			tools = append(tools, t)
		}
	}
	return tools, missing
}

// Off returns, of these names, the tools that this daemon cannot offer, with the reasons.
func (b *Toolbox) Off(names []string) map[string]string {
	off := map[string]string{}
	for _, t := range b.tools {
		spec := t.Spec()
		if spec.Off != "" && slices.Contains(names, spec.Name) {
			off[spec.Name] = spec.Off
		}
	}
	return off
}

// borrowed stands between the name of a server and that of its tool.
const borrowed = "__"

// Borrowed reports whether name is one that only a tool of a server can have:
// SERVER__TOOL. No built-in tool has such a name.
func Borrowed(name string) bool {
	server, tool, found := strings.Cut(name, borrowed)
	return found && window.IsToolName(name) && server != "" && strings.Trim(tool, "_") != ""
}

// Names are the names of built-in tools. It is what the configuration is checked
// against before there is a [Toolbox].
type Names []string

// Known returns the names that exist in every daemon of this build, sorted.
func (n Names) Known() []string { return n }

// MayExist reports whether a running daemon could have a tool of this name, or one whose
// name begins so if it ends with a star.
func (n Names) MayExist(name string) bool {
	begin, many := strings.CutSuffix(name, every)
	if !many {
		return slices.Contains(n, name) || Borrowed(name)
	}
	return slices.ContainsFunc(n, func(known string) bool { return strings.HasPrefix(known, begin) }) || Borrowed(begin+"x")
}
