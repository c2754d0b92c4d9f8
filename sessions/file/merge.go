package file

import (
	"maps"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/memory"
)

// merger brings changes into what belongs to no conversation, in the order in
// which they were made. Where things are is looked up, not searched for: a log
// can hold a whole store that was restored.
type merger struct {
	into        *memory.Common
	facts       map[string]map[int64]int // places in into.Facts, by scope and id
	forgotten   map[int]bool             // places in into.Facts of what is no more
	occurrences map[firedAt]int
	asides      map[string]int
}

// firedAt is a job and an instant.
type firedAt struct {
	job string
	sec int64
	ns  int
}

func fired(o sessions.Occurrence) firedAt { return firedAt{o.Job, o.Due.Unix(), o.Due.Nanosecond()} }

func newMerger(into *memory.Common) *merger {
	m := &merger{
		into: into, facts: map[string]map[int64]int{}, forgotten: map[int]bool{},
		occurrences: make(map[firedAt]int, len(into.Occurrences)), asides: make(map[string]int, len(into.Quarantined)),
	}
	for i, f := range into.Facts {
		m.place(f, i)
	}
	for i, o := range into.Occurrences {
		m.occurrences[fired(o)] = i
	}
	for i, a := range into.Quarantined {
		m.asides[a.ID] = i
	}
	return m
}

func (m *merger) place(f sessions.FactRecord, at int) {
	if m.facts[f.Scope] == nil {
		m.facts[f.Scope] = map[int64]int{}
	}
	m.facts[f.Scope][f.ID] = at
}

// add makes it what it is after ch.
func (m *merger) add(ch memory.Common) {
	c := m.into
	c.Name, c.Prefix = ch.Name, ch.Prefix
	c.LastOut, c.LastFact = max(c.LastOut, ch.LastOut), max(c.LastFact, ch.LastFact)
	if ch.Days != nil {
		c.Days = ch.Days
	}
	if ch.Pairings != nil {
		c.Pairings = ch.Pairings
	}
	for _, gone := range ch.Forgotten {
		m.forget(gone)
	}
	for _, f := range ch.Facts {
		if i, ok := m.facts[f.Scope][f.ID]; ok {
			c.Facts[i] = f
			continue
		}
		m.place(f, len(c.Facts))
		c.Facts = append(c.Facts, f)
	}
	if c.Due == nil {
		c.Due = map[string]time.Time{}
	}
	maps.Copy(c.Due, ch.Due)
	for _, o := range ch.Occurrences {
		put(&c.Occurrences, m.occurrences, fired(o), o)
	}
	for _, a := range ch.Quarantined {
		put(&c.Quarantined, m.asides, a.ID, a)
	}
	c.Erased = append(c.Erased, ch.Erased...)
}

// forget marks facts. They are taken out in the end, so that places stay.
func (m *merger) forget(gone memory.Forgotten) {
	scope := m.facts[gone.Scope]
	if gone.ID == 0 {
		for _, i := range scope {
			m.forgotten[i] = true
		}
		delete(m.facts, gone.Scope)
		return
	}
	if i, ok := scope[gone.ID]; ok {
		m.forgotten[i] = true
		delete(scope, gone.ID)
	}
}

// end takes out what was forgotten. Nothing is added after it.
func (m *merger) end() {
	if len(m.forgotten) == 0 {
		return
	}
	var left []sessions.FactRecord
	for i, f := range m.into.Facts {
		if !m.forgotten[i] {
			left = append(left, f)
		}
	}
	m.into.Facts = left
}
