package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"dragoman/agent/window"
)

// kit is the tools of an agent at one moment. It never changes: a turn has one from its
// beginning to its end.
type kit struct {
	tools  map[string]Tool
	specs  map[string]Spec
	sorted []Spec
	index  map[string]bool // the names of the tools of Options.Index
}

// kits is the newest kit, and what it was made from.
type kits struct {
	mu   sync.Mutex
	own  []Tool // those of New
	more []Tool
	now  *kit
}

// newKit makes a kit of tools, and of those of the index. A wrong tool is an error.
func (a *Agent) newKit(tools []Tool) (*kit, error) {
	k := &kit{tools: make(map[string]Tool), specs: make(map[string]Spec), index: make(map[string]bool)}
	if a.opts.Index != nil {
		for _, t := range a.opts.Index.Tools() {
			s := t.Spec()
			k.tools[s.Name] = t
			k.specs[s.Name] = s
			k.index[s.Name] = true
		}
	}
	for _, t := range tools {
		err := k.add(t)
		if err != nil {
			return nil, err
		}
	}
	k.sort()
	return k, nil
}

func (k *kit) add(t Tool) error {
	s := t.Spec()
	if !window.IsToolName(s.Name) {
		return fmt.Errorf("agent: tool %q: a name must be 1 to 64 letters, digits, _ or -", s.Name)
	}
	if _, found := k.tools[s.Name]; found {
		return fmt.Errorf("agent: two tools are called %q", s.Name)
	}
	if len(s.Parameters) == 0 {
		s.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if !window.IsObject(string(s.Parameters)) {
		return fmt.Errorf("agent: tool %q: its parameters are not a JSON schema", s.Name)
	}
	k.tools[s.Name] = t
	k.specs[s.Name] = s
	k.sorted = append(k.sorted, s)
	return nil
}

func (k *kit) sort() {
	slices.SortFunc(k.sorted, func(x, y Spec) int { return strings.Compare(x.Name, y.Name) })
}

// dropOrder returns the names of sorted tools, those to leave out first first. Of equals,
// the first by name is left out first.
func dropOrder(sorted []Spec) (names []string) {
	specs := slices.Clone(sorted)
	slices.SortStableFunc(specs, func(x, y Spec) int { return cmp.Compare(x.Keep, y.Keep) })
	for _, s := range specs {
		names = append(names, s.Name)
	}
	return names
}

// kitNow is the kit for a turn that begins. A tool of Options.More that is wrong, or has
// the name of another one, is left out: the others work without it.
func (a *Agent) kitNow(ctx context.Context) *kit {
	if a.opts.More == nil {
		return a.latestKit()
	}
	more := a.opts.More(ctx)
	a.kits.mu.Lock()
	defer a.kits.mu.Unlock()
	if sameTools(more, a.kits.more) {
		return a.kits.now
	}
	k, err := a.newKit(a.kits.own)
	if err != nil {
		return a.kits.now // New has made the same one
	}
	for _, t := range more {
		err := k.add(t)
		if err != nil {
			a.log.Warn("a tool is left out", "err", err)
		}
	}
	k.sort()
	a.kits.more = more
	a.kits.now = k
	a.usual.clear() // what was made for the one before would be kept for nothing
	return k
}

// latestKit is the newest kit that a turn had.
func (a *Agent) latestKit() *kit {
	a.kits.mu.Lock()
	defer a.kits.mu.Unlock()
	return a.kits.now
}

// sameTools reports whether both are one slice.
func sameTools(x, y []Tool) bool {
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
}
