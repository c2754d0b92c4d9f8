// Package personas has the personas of a configuration, and says which one answers where.
//
// The promise: a persona's prompt is the newest good text of its file, from the next turn on.
// Which persona answers in a conversation depends on the configuration and on what was chosen
// there, and on nothing else, so that several nodes with one configuration agree.
//
// Failures:
//
//   - The file of a prompt is gone, is too large, is empty or is not UTF-8 text: the last good
//     text stays, and the log says so once until the file is good again.
//   - A choice that the configuration no longer allows: the first persona of the binding
//     answers, and the choice comes back with its binding.
//
// Goroutines: none. A Set is safe for concurrent use.
package personas

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/agent"
	"dragoman/channels"
)

// Plain is the name that people write for the agent without a persona.
const Plain = "dragoman"

// Source is one persona as the configuration has it.
type Source struct {
	agent.Persona
	// File is where System was read, "" if it has no file.
	File string
}

// Plan is what the configuration says.
type Plan struct {
	Personas []Source
	// Bound lists the names that may answer in k, the default first, [Plain] among them; none
	// where nothing is bound.
	Bound func(k channels.Key) []string
	// Any: something is bound to some chat.
	Any bool
}

// Options are what a Set works with.
type Options struct {
	// Read reads the file of a prompt.
	Read   func(path string) (string, error)
	Logger *slog.Logger
}

// Set is the personas. Make it with [New].
type Set struct {
	o Options

	mu    sync.Mutex
	bound func(channels.Key) []string
	any   bool
	all   map[string]*persona
}

// persona is one persona and the state of its file.
type persona struct {
	now  *agent.Persona // never changed: a new text is a new one
	file string
	seen stamp
	bad  bool // the log has said so
}

// stamp tells apart the versions of a file.
type stamp struct {
	at   time.Time
	size int64
}

// New makes the set of a plan.
func New(p Plan, o Options) *Set {
	s := &Set{o: o}
	s.Replace(p)
	return s
}

// Replace puts another plan into force, from the next turn on.
func (s *Set) Replace(p Plan) {
	all := map[string]*persona{}
	for _, one := range p.Personas {
		all[one.Name] = &persona{now: &one.Persona, file: one.File, seen: stampOf(one.File)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound = p.Bound
	s.any = p.Any
	s.all = all
}

// stampOf is the zero stamp for a file that cannot be seen.
func stampOf(file string) stamp {
	if file == "" {
		return stamp{}
	}
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// Names are those of all personas, sorted.
func (s *Set) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.all))
}

// Persona returns the persona of that name, nil if there is none.
func (s *Set) Persona(name string) *agent.Persona {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.all[name]
	if p == nil {
		return nil
	}
	if p.file != "" {
		s.look(p)
	}
	return p.now
}

// errBlank: an editor that writes a file empties it first.
var errBlank = errors.New("it is empty")

// look reads the file of p again if it has changed.
func (s *Set) look(p *persona) {
	is := stampOf(p.file)
	if is == p.seen && !is.at.IsZero() {
		return
	}
	p.seen = is
	text, err := s.o.Read(p.file)
	if err == nil && strings.TrimSpace(text) == "" {
		err = errBlank
	}
	switch {
	case err == nil:
		p.bad = false
		if text != p.now.System {
			fresh := *p.now
			fresh.System = text
			p.now = &fresh
		}
	case !p.bad:
		p.bad = true
		s.o.Logger.Warn("the prompt of a persona cannot be read again; it keeps the last one", "agent", p.now.Name, "file", p.file, "err", err)
	}
}

// Bound reports whether anything is bound to some chat.
func (s *Set) Bound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.any
}

// Choices are the names that may answer in k, the default first; none where nothing is bound.
func (s *Set) Choices(k channels.Key) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound == nil {
		return nil
	}
	return s.bound(k)
}

// Of is the name of the persona that answers in k where chosen was chosen, "" being no
// choice. It is "" for the agent without a persona. Where nothing is bound, only a program can
// have chosen, and each choice counts that there is.
func (s *Set) Of(k channels.Key, chosen string) string {
	list := s.Choices(k)
	s.mu.Lock()
	known := s.all[chosen] != nil
	s.mu.Unlock()
	switch {
	case len(list) == 0 && !known:
		chosen = ""
	case len(list) > 0 && !slices.Contains(list, chosen):
		chosen = list[0]
	}
	if chosen == Plain {
		return ""
	}
	return chosen
}
