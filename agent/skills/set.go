package skills

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"dragoman/agent"
	"dragoman/agent/window"
)

// Options are what a Set works with.
type Options struct {
	// Dir is the folder of skills, and Pins the file of what was accepted.
	Dir, Pins string
	// Every is how often the folder is looked at again, at most. 0: each second.
	Every time.Duration
	Log   *slog.Logger
}

// Set is the accepted skills of a folder. Make it with [Open].
type Set struct {
	o Options

	mu     sync.Mutex
	looked time.Time
	seen   string // of the folder and the pins, as far as file systems tell without reading
	tools  []agent.Tool
	told   string
}

// Open returns the skills of a folder. It reads nothing yet.
func Open(o Options) *Set {
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Set{o: o}
}

// Names are the names of the tools.
func Names() []string { return []string{readName, useName} }

// Tools are use_skill and read_skill if a skill was accepted, else none. It is a source of
// tools: the same slice until the skills change.
func (s *Set) Tools(context.Context) []agent.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.looked) < s.o.Every {
		return s.tools
	}
	s.looked = time.Now()
	seen := stampOf(s.o.Dir) + stampOf(s.o.Pins)
	if seen == s.seen {
		return s.tools
	}
	s.seen = seen
	all, err := s.look()
	s.tell(all, err)
	s.tools = nil
	note := noteOf(all)
	if note != "" {
		s.tools = []agent.Tool{readTool{s}, useTool{s, note}}
	}
	return s.tools
}

// look reads all skills.
func (s *Set) look() ([]Skill, error) {
	pins, err := ReadPins(s.o.Pins)
	if err != nil {
		return nil, err
	}
	return Look(s.o.Dir, pins)
}

// tell logs what is not offered, if that is something else than before.
func (s *Set) tell(all []Skill, err error) {
	var waits []string
	for _, one := range all {
		if one.State != Accepted && one.State != Gone {
			waits = append(waits, one.Name+" ("+one.State+")")
		}
	}
	said := strings.Join(waits, ", ")
	if err != nil {
		said = err.Error()
	}
	if said == s.told {
		return
	}
	s.told = said
	switch {
	case err != nil:
		s.o.Log.Warn("the skills cannot be read, so the model is offered none", "err", err)
	case said != "":
		s.o.Log.Warn("skills are not offered until they are accepted: see dragoman skills list", "skills", said)
	}
}

// errUnreadable says no more, because the model reads it.
var errUnreadable = errors.New("the skills cannot be read now")

// accepted reads a skill as it is now. An error says to the model why it cannot be used.
func (s *Set) accepted(name string) (Skill, error) {
	pins, err := ReadPins(s.o.Pins)
	if err != nil {
		return Skill{}, errUnreadable
	}
	root, err := os.OpenRoot(s.o.Dir)
	if err != nil {
		return Skill{}, errUnreadable
	}
	defer root.Close() // nothing was written
	if pins[name] == "" {
		return Skill{}, fmt.Errorf("there is no skill called %.64q", name)
	}
	one := read(root, name, pins)
	if one.State != Accepted {
		return Skill{}, fmt.Errorf("the skill %s has changed since the operator accepted it, so it waits until they accept it again; tell the person", name)
	}
	return one, nil
}

const (
	// maxAboutShown is how much of a description requests have, in characters.
	maxAboutShown = 300
	// mostNoteTokens limits the list. Above it there are only names.
	mostNoteTokens = 2000
)

// noteOf lists the accepted skills for the system prompt, "" if there are none.
func noteOf(all []Skill) string {
	var names, long []string
	for _, s := range all {
		if s.State == Accepted {
			names = append(names, s.Name)
			long = append(long, "- "+s.Name+": "+oneLine(s.About, maxAboutShown))
		}
	}
	if len(names) == 0 {
		return ""
	}
	const head = "Skills are instructions for some tasks. When a request fits one, load it with " + useName + " before you begin. What each says it is for:\n"
	list := strings.Join(long, "\n")
	if window.EstimateText(list) > mostNoteTokens {
		list = strings.Join(names, ", ")
	}
	return head + list
}
