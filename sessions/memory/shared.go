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
	days              map[string]int64           // generations begun, by day
	pairings          []sessions.Pairing         // few
	facts             map[string][]sessions.Fact // of a scope, by ID
	due               map[string]time.Time       // jobs
	occurrences       map[dueTime]sessions.Occurrence
	asides            map[string]QuarantineRow // by ID
	asideIDs          map[[2]string]string     // of those that are not blank, by channel and the network's id
	erased            map[string]bool          // marks
}

// dueTime is one due time of one job.
type dueTime struct {
	job string
	due time.Time // as rules.Time has it, so that equal ones are the same
}

func dueOf(o *sessions.Occurrence) dueTime { return dueTime{o.Job, rules.Time(o.Due)} }

// NewShared is nothing.
func NewShared() *Shared {
	return &Shared{
		days: map[string]int64{}, facts: map[string][]sessions.Fact{}, due: map[string]time.Time{},
		occurrences: map[dueTime]sessions.Occurrence{}, asides: map[string]QuarantineRow{}, asideIDs: map[[2]string]string{}, erased: map[string]bool{},
	}
}

// clone is a copy of s that stays as it is.
func (s *Shared) clone() *Shared {
	own := *s
	own.days, own.due, own.erased = maps.Clone(s.days), maps.Clone(s.due), maps.Clone(s.erased)
	own.occurrences, own.asides, own.asideIDs = maps.Clone(s.occurrences), maps.Clone(s.asides), maps.Clone(s.asideIDs)
	own.pairings, own.facts = slices.Clone(s.pairings), map[string][]sessions.Fact{}
	for scope, facts := range s.facts {
		own.facts[scope] = slices.Clone(facts)
	}
	return &own
}

// Add makes s what it is after a change, or after all that there was if nothing
// is in s yet.
func (s *Shared) Add(c Common) {
	s.Name, s.Prefix = c.Name, c.Prefix
	s.lastOut, s.lastFact = max(s.lastOut, c.LastOut), max(s.lastFact, c.LastFact)
	maps.Copy(s.days, c.Days)
	maps.Copy(s.due, c.Due)
	if c.Pairings != nil {
		s.pairings = *c.Pairings
	}
	for _, gone := range c.Forgotten {
		if gone.ID == 0 {
			delete(s.facts, gone.Scope)
		} else if i, known := findFact(s.facts[gone.Scope], gone.ID); known {
			s.facts[gone.Scope] = slices.Delete(s.facts[gone.Scope], i, i+1)
		}
	}
	for _, f := range c.Facts {
		i, known := findFact(s.facts[f.Scope], f.ID)
		if known {
			s.facts[f.Scope][i] = f.Fact
		} else {
			s.facts[f.Scope] = slices.Insert(s.facts[f.Scope], i, f.Fact)
		}
	}
	for _, o := range c.Occurrences {
		s.occurrences[dueOf(&o)] = o
	}
	for _, a := range c.Quarantined {
		if old, ok := s.asides[a.ID]; ok {
			delete(s.asideIDs, nameOf(&old))
		}
		if s.asides[a.ID] = a; !a.blank() {
			s.asideIDs[nameOf(&a)] = a.ID
		}
	}
	for _, mark := range c.Erased {
		s.erased[mark] = true
	}
}

func findFact(facts []sessions.Fact, id int64) (int, bool) {
	return slices.BinarySearchFunc(facts, id, func(f sessions.Fact, id int64) int { return cmp.Compare(f.ID, id) })
}

func nameOf(a *QuarantineRow) [2]string { return [2]string{a.Channel, a.Quarantined.ID} }

// blank says that nothing but the place of a is left.
func (a *QuarantineRow) blank() bool { return a.Dropped && a.Quarantined.ID == "" && a.Why == "" }

// All is what there is. Nothing changes it.
func (s *Shared) All() Common {
	c := Common{
		Name: s.Name, Prefix: s.Prefix, LastOut: s.lastOut, LastFact: s.lastFact,
		Days: maps.Clone(s.days), Due: maps.Clone(s.due), Erased: s.Marks(), Quarantined: sorted(s.asides, func(a, b QuarantineRow) int {
			return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID)) // by their numbers
		}),
	}
	pairings := slices.Clone(s.pairings)
	c.Pairings = &pairings
	for _, r := range s.likeFact(&sessions.FactRecord{}) {
		c.Facts = append(c.Facts, *r.Fact)
	}
	c.Occurrences = sorted(s.occurrences, byDue)
	return c
}

// Marks are those that were left.
func (s *Shared) Marks() []string { return slices.Sorted(maps.Keys(s.erased)) }

func byDue(a, b sessions.Occurrence) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), a.Due.Compare(b.Due))
}

func sorted[K comparable, V any](m map[K]V, order func(a, b V) int) []V {
	return slices.SortedFunc(maps.Values(m), order)
}

// without is the change that removes one record.
func (s *Shared) without(r rows.Record) (c Common) {
	switch {
	case r.Fact != nil:
		c.Forgotten = []Forgotten{{r.Fact.Scope, r.Fact.ID}}
	case r.Pairing != nil:
		left := slices.DeleteFunc(slices.Clone(s.pairings), func(p sessions.Pairing) bool { return samePerson(&p, r.Pairing) })
		c.Pairings = &left
	case r.Quarantined != nil:
		// An empty one stays: others are numbered after it.
		if id, ok := s.asideIDs[[2]string{r.Quarantined.Channel, r.Quarantined.ID}]; ok {
			a := s.asides[id]
			a.Quarantined, a.Dropped = sessions.Quarantined{Channel: a.Channel}, true
			c.Quarantined = []QuarantineRow{a}
		}
	}
	return c
}

func samePerson(p, o *sessions.Pairing) bool {
	return p.Channel == o.Channel && p.PersonID == o.PersonID
}

// with is the change that puts one record.
func (s *Shared) with(r rows.Record) (c Common) {
	switch {
	case r.Store != nil:
		c.Days = maps.Clone(s.days) // all of them
		maps.Copy(c.Days, r.Store.Days)
	case r.Fact != nil:
		c.LastFact, c.Facts = r.Fact.ID, []sessions.FactRecord{*r.Fact}
	case r.Pairing != nil:
		all := append(*s.without(r).Pairings, *r.Pairing)
		c.Pairings = &all
	case r.Job != nil:
		c.Due = map[string]time.Time{r.Job.Job: r.Job.Due}
	case r.Occurrence != nil:
		c.Occurrences = []sessions.Occurrence{*r.Occurrence}
	case r.Quarantined != nil:
		id, known := s.asideIDs[[2]string{r.Quarantined.Channel, r.Quarantined.ID}]
		if !known {
			id = fmt.Sprintf("aside-%d", len(s.asides)+1)
		}
		c.Quarantined = []QuarantineRow{{id, *r.Quarantined}}
	}
	return c
}

// applyRecords puts and removes what belongs to no key, and adds it to out.
func (b *backend) applyRecords(changes rows.Changes, out *Common) {
	note := func(c Common) {
		c.Name, c.Prefix = b.Name, b.Prefix
		b.Add(c)
		out.Pairings = cmp.Or(c.Pairings, out.Pairings)
		if c.Days != nil {
			out.Days = c.Days
		}
		out.Facts, out.Forgotten = append(out.Facts, c.Facts...), append(out.Forgotten, c.Forgotten...)
		out.Occurrences, out.Quarantined = append(out.Occurrences, c.Occurrences...), append(out.Quarantined, c.Quarantined...)
		if c.Due != nil && out.Due == nil {
			out.Due = map[string]time.Time{}
		}
		maps.Copy(out.Due, c.Due)
	}
	for _, r := range changes.Removed {
		note(b.without(r))
	}
	for _, r := range changes.Records {
		note(b.with(r))
	}
}

// like are the records that are like an example.
func (s *Shared) like(like rows.Record) (list []rows.Record) {
	switch {
	case like.Store != nil:
		return []rows.Record{{Store: &rows.Store{Name: s.Name, Days: maps.Clone(s.days), LastFact: s.lastFact}}}
	case like.Mark != nil && *like.Mark == "":
		for _, mark := range s.Marks() {
			list = append(list, rows.Record{Mark: &mark})
		}
	case like.Mark != nil:
		if s.erased[*like.Mark] {
			return []rows.Record{{Mark: like.Mark}}
		}
	case like.Fact != nil:
		return s.likeFact(like.Fact)
	case like.Pairing != nil:
		for _, p := range s.pairings {
			if same(like.Pairing.Channel, p.Channel) && same(like.Pairing.PersonID, p.PersonID) {
				list = append(list, rows.Record{Pairing: &p})
			}
		}
		slices.SortFunc(list, func(a, b rows.Record) int {
			return cmp.Or(cmp.Compare(a.Pairing.Channel, b.Pairing.Channel), cmp.Compare(a.Pairing.PersonID, b.Pairing.PersonID))
		})
	case like.Job != nil:
		for _, job := range slices.Sorted(maps.Keys(s.due)) {
			if same(like.Job.Job, job) {
				list = append(list, rows.Record{Job: &sessions.JobRecord{Job: job, Due: s.due[job]}})
			}
		}
	case like.Occurrence != nil:
		return s.likeOccurrence(like.Occurrence)
	case like.Quarantined != nil:
		for _, id := range s.asideIDs {
			a := s.asides[id].QuarantineRecord
			if !(like.Kept && a.Dropped) && same(like.Quarantined.Channel, a.Channel) && same(like.Quarantined.ID, a.ID) {
				a.Raw = slices.Clone(a.Raw)
				list = append(list, rows.Record{Quarantined: &a})
			}
		}
		slices.SortFunc(list, func(a, b rows.Record) int {
			return cmp.Or(cmp.Compare(a.Quarantined.Channel, b.Quarantined.Channel), cmp.Compare(a.Quarantined.ID, b.Quarantined.ID))
		})
	}
	return list
}

// same compares with an example.
func same(like, is string) bool { return like == "" || like == is }

func (s *Shared) likeFact(like *sessions.FactRecord) (list []rows.Record) {
	scopes := []string{like.Scope}
	if like.Scope == "" {
		scopes = slices.Sorted(maps.Keys(s.facts))
	}
	for _, scope := range scopes {
		for _, f := range s.facts[scope] {
			if like.ID == 0 || like.ID == f.ID {
				list = append(list, rows.Record{Fact: &sessions.FactRecord{Scope: scope, Fact: f}})
			}
		}
	}
	return list
}

func (s *Shared) likeOccurrence(like *sessions.Occurrence) (list []rows.Record) {
	if like.Job != "" && !like.Due.IsZero() {
		if o, ok := s.occurrences[dueOf(like)]; ok {
			list = append(list, rows.Record{Occurrence: &o})
		}
		return list
	}
	for _, o := range sorted(s.occurrences, byDue) {
		if same(like.Job, o.Job) && (like.Due.IsZero() || like.Due.Equal(o.Due)) {
			list = append(list, rows.Record{Occurrence: &o})
		}
	}
	return list
}
