package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Shared is what belongs to no conversation, in memory. Make it with
// [NewShared].
type Shared struct {
	Name, Prefix      string // see Common
	lastOut, lastFact int64
	days              map[string]int64 // generations begun, by day
	erased            map[string]bool  // marks
	records           map[group]map[string]rows.Record
	asides            map[string]rows.Record // by QuarantineRow.ID, for their names
}

// group is the kind of a record and the first part of its name. The second part
// tells records of a group apart.
type group struct {
	kind
	first string
}

type kind int

const (
	fact kind = iota
	pairing
	job
	occurrence
	quarantined
)

// nameOf is the name of a record, whose parts sort as those of rows.Reader do. A
// part is empty where it is zero.
func nameOf(r rows.Record) (g group, second string) {
	switch {
	case r.Fact != nil:
		if r.Fact.ID != 0 {
			second = fmt.Sprintf("%019d", r.Fact.ID)
		}
		return group{fact, r.Fact.Scope}, second
	case r.Pairing != nil:
		return group{pairing, r.Pairing.Channel}, r.Pairing.PersonID
	case r.Job != nil:
		return group{job, r.Job.Job}, ""
	case r.Occurrence != nil:
		if due := rules.Time(r.Occurrence.Due); !due.IsZero() {
			second = due.Format("2006-01-02T15:04:05.000000000")
		}
		return group{occurrence, r.Occurrence.Job}, second
	}
	return group{quarantined, r.Quarantined.Channel}, r.Quarantined.ID
}

// NewShared is nothing.
func NewShared() *Shared {
	return &Shared{
		days: map[string]int64{}, erased: map[string]bool{},
		records: map[group]map[string]rows.Record{}, asides: map[string]rows.Record{},
	}
}

// clone is a copy of s that stays as it is.
func (s *Shared) clone() *Shared {
	own := *s
	own.days, own.erased, own.records = maps.Clone(s.days), maps.Clone(s.erased), map[group]map[string]rows.Record{}
	for g, records := range s.records {
		own.records[g] = maps.Clone(records)
	}
	return &own
}

func (s *Shared) put(r rows.Record) {
	g, second := nameOf(r)
	if s.records[g] == nil {
		s.records[g] = map[string]rows.Record{}
	}
	s.records[g][second] = r
}

// remove removes the record of that name, or with no second part all of a group.
func (s *Shared) remove(r rows.Record) {
	g, second := nameOf(r)
	if delete(s.records[g], second); second == "" || len(s.records[g]) == 0 {
		delete(s.records, g)
	}
}

// like are the records that are like an example, sorted by their names.
func (s *Shared) like(example rows.Record) (list []rows.Record) {
	g, second := nameOf(example)
	groups := []group{g}
	if g.first == "" {
		groups = slices.DeleteFunc(slices.Collect(maps.Keys(s.records)), func(one group) bool { return one.kind != g.kind })
		slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.first, b.first) })
	}
	for _, g := range groups {
		names := []string{second}
		if second == "" {
			names = slices.Sorted(maps.Keys(s.records[g]))
		}
		for _, name := range names {
			if r, there := s.records[g][name]; there && !(example.Kept && r.Quarantined.Dropped) {
				list = append(list, r)
			}
		}
	}
	return list
}

// Add makes s what it is after a change, or after all that there was if nothing
// is in s yet.
func (s *Shared) Add(c Common) {
	s.Name, s.Prefix = c.Name, c.Prefix
	s.lastOut, s.lastFact = max(s.lastOut, c.LastOut), max(s.lastFact, c.LastFact)
	maps.Copy(s.days, c.Days)
	for name, due := range c.Due {
		s.put(rows.Record{Job: &sessions.JobRecord{Job: name, Due: due}})
	}
	if c.Pairings != nil {
		for _, r := range s.like(rows.Record{Pairing: &sessions.Pairing{}}) {
			s.remove(r)
		}
		for _, p := range *c.Pairings {
			s.put(rows.Record{Pairing: &p})
		}
	}
	for _, gone := range c.Forgotten {
		s.remove(rows.Record{Fact: &sessions.FactRecord{Scope: gone.Scope, Fact: sessions.Fact{ID: gone.ID}}})
	}
	for _, f := range c.Facts {
		s.put(rows.Record{Fact: &f})
	}
	for _, o := range c.Occurrences {
		s.put(rows.Record{Occurrence: &o})
	}
	for _, a := range c.Quarantined {
		r := rows.Record{Quarantined: &a.QuarantineRecord}
		if was, known := s.asides[a.ID]; known && a.blank() {
			s.remove(was)
		} else if !a.blank() {
			s.put(r)
			s.asides[a.ID], s.asides[quarantineRow(r).ID] = r, r
		}
	}
	for _, mark := range c.Erased {
		s.erased[mark] = true
	}
}

// quarantineRow is r as the disk is told of it. Rows of former versions are
// numbered.
func quarantineRow(r rows.Record) QuarantineRow {
	return QuarantineRow{r.Quarantined.Channel + "/" + r.Quarantined.ID, *r.Quarantined}
}

// blank says that what a was about is gone.
func (a *QuarantineRow) blank() bool { return a.Dropped && a.Quarantined.ID == "" && a.Why == "" }

// All is what there is. Nothing changes it.
func (s *Shared) All() Common {
	c := Common{
		Name: s.Name, Prefix: s.Prefix, LastOut: s.lastOut, LastFact: s.lastFact,
		Days: maps.Clone(s.days), Erased: s.Marks(), Pairings: s.pairings(),
	}
	for _, example := range []rows.Record{
		{Fact: &sessions.FactRecord{}},
		{Job: &sessions.JobRecord{}},
		{Occurrence: &sessions.Occurrence{}},
		{Quarantined: &sessions.QuarantineRecord{}},
	} {
		for _, r := range s.like(example) {
			c.put(r)
		}
	}
	return c
}

// pairings are all of them: they are few, and the disk is told of all if one
// changes.
func (s *Shared) pairings() *[]sessions.Pairing {
	list := []sessions.Pairing{}
	for _, r := range s.like(rows.Record{Pairing: &sessions.Pairing{}}) {
		list = append(list, *r.Pairing)
	}
	return &list
}

// Marks are those that were left.
func (s *Shared) Marks() []string { return slices.Sorted(maps.Keys(s.erased)) }

// put adds a record that is no pairing to what the disk is told.
func (c *Common) put(r rows.Record) {
	switch {
	case r.Fact != nil:
		c.Facts = append(c.Facts, *r.Fact)
	case r.Job != nil:
		if c.Due == nil {
			c.Due = map[string]time.Time{}
		}
		c.Due[r.Job.Job] = r.Job.Due
	case r.Occurrence != nil:
		c.Occurrences = append(c.Occurrences, *r.Occurrence)
	case r.Quarantined != nil:
		c.Quarantined = append(c.Quarantined, quarantineRow(r))
	}
}

// applyRecords puts and removes what belongs to no key, and tells the disk.
func (s *Shared) applyRecords(changes rows.Changes, disk *Common) {
	paired := false
	for _, r := range changes.Removed {
		s.remove(r)
		switch {
		case r.Fact != nil:
			disk.Forgotten = append(disk.Forgotten, Forgotten{r.Fact.Scope, r.Fact.ID})
		case r.Quarantined != nil:
			row := quarantineRow(r)
			row.QuarantineRecord = sessions.QuarantineRecord{Quarantined: sessions.Quarantined{Channel: row.Channel}, Dropped: true}
			disk.Quarantined = append(disk.Quarantined, row)
		}
		paired = paired || r.Pairing != nil
	}
	for _, r := range changes.Records {
		if r.Store != nil {
			maps.Copy(s.days, r.Store.Days)
			disk.Days = r.Store.Days
			continue
		}
		if r.Fact != nil {
			s.lastFact = max(s.lastFact, r.Fact.ID)
		}
		s.put(r)
		disk.put(r)
		paired = paired || r.Pairing != nil
	}
	if paired {
		disk.Pairings = s.pairings()
	}
}
