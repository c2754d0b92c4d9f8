package toolbox

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"dragoman/agent"
)

// Source gives tools that come and go while the daemon runs, such as those of one server.
type Source interface {
	// Tools returns the tools that there are now, in any order. It is called when a turn
	// begins, so it must return soon, and at once when ctx ends: with what it knows by
	// then. It returns the same slice until the tools change, and must not change one that
	// it has returned. It must be safe for concurrent use.
	Tools(ctx context.Context) []agent.Tool
}

// LendOptions say what becomes of the tools of sources. The zero value works.
type LendOptions struct {
	// May reports whether the configuration allows the tool of that name. Nil: all.
	May func(name string) bool
	// Wrap is put around each tool. Nil: nothing is.
	Wrap func(agent.Tool) agent.Tool
	// Log gets the names of tools that cannot be offered.
	Log *slog.Logger
}

// Lent is the tools of several sources, as one source. Make it with [Toolbox.Lend].
type Lent struct {
	own     []string // the names of the toolbox
	sources []Source
	o       LendOptions

	mu   sync.Mutex
	last [][]agent.Tool // of each source
	now  []agent.Tool
	told map[string]bool // names that the log has
}

var _ Source = (*Lent)(nil)

// Lend returns the tools of sources. None of them can stand in for a tool of b, nor for
// one of an earlier source.
func (b *Toolbox) Lend(sources []Source, o LendOptions) *Lent {
	if o.May == nil {
		o.May = func(string) bool { return true }
	}
	if o.Wrap == nil {
		o.Wrap = func(t agent.Tool) agent.Tool { return t }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Lent{own: b.Names(), sources: slices.Clone(sources), o: o, last: make([][]agent.Tool, len(sources)), told: map[string]bool{}}
}

// Tools returns the tools of all sources that the configuration allows: the same slice
// until a source has other ones. The sources are asked side by side.
func (l *Lent) Tools(ctx context.Context) []agent.Tool {
	if len(l.sources) == 0 {
		return nil
	}
	lists := make([][]agent.Tool, len(l.sources))
	var all sync.WaitGroup
	for i, s := range l.sources {
		all.Go(func() { lists[i] = s.Tools(ctx) })
	}
	all.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	same := slices.EqualFunc(lists, l.last, func(x, y []agent.Tool) bool {
		return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
	})
	if !same {
		l.last = lists
		l.now = l.merge(lists)
	}
	return l.now
}

// merge returns the tools of lists that may be offered.
func (l *Lent) merge(lists [][]agent.Tool) (merged []agent.Tool) {
	taken := slices.Clone(l.own)
	for _, list := range lists {
		for _, t := range list {
			spec := t.Spec()
			switch {
			case spec.Off != "" || !l.o.May(spec.Name):
			case slices.Contains(taken, spec.Name):
				l.tell(spec.Name)
			default:
				taken = append(taken, spec.Name)
				merged = append(merged, l.o.Wrap(t))
			}
		}
	}
	return merged
}

// tell logs once that a name is taken.
func (l *Lent) tell(name string) {
	if !l.told[name] && len(l.told) < maxTold {
		l.told[name] = true
		l.o.Log.Warn("a tool is not offered, because another one has its name", "tool", name)
	}
}

// maxTold bounds what a server that makes up names can fill.
const maxTold = 1000
