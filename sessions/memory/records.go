package memory

import (
	"cmp"
	"context"
	"hash/maphash"
	"iter"
	"maps"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Records: see rows.Reader.
func (r reader) Records(ctx context.Context, like rows.Record) iter.Seq2[rows.Record, error] {
	return stream(ctx, r, func() ([]rows.Record, error) {
		switch {
		case like.Generation != nil:
			return r.b.generations(like.Generation), nil
		case like.Summary != nil:
			return r.b.summaries(like.Summary.Key)
		}
		return r.b.like(like), nil
	})
}

// generations are those of a key, or the one of an ID.
func (s *state) generations(like *rows.Generation) (list []rows.Record) {
	some := []*chat{s.chats[like.Key]}
	if like.Key.IsZero() {
		if s.begins[like.ID] == 0 {
			return nil
		}
		some = slices.Collect(maps.Values(s.chats))
	}
	for _, c := range some {
		if c == nil || c.conv == nil {
			continue
		}
		for _, g := range c.conv.generations {
			if same(like.ID, g.ID) {
				list = append(list, rows.Record{Generation: &rows.Generation{Key: c.key, Generation: g}})
			}
		}
	}
	return list
}

func (b *backend) summaries(k channels.Key) (list []rows.Record, err error) {
	c := b.chats[k]
	if c == nil || c.conv == nil {
		return nil, nil
	}
	if err := b.load(c); err != nil {
		return nil, err
	}
	for _, s := range c.conv.summaries {
		list = append(list, rows.Record{Summary: &rows.Summary{Key: k, Summary: s}})
	}
	return list, nil
}

func (s *state) like(like rows.Record) (list []rows.Record) {
	switch {
	case like.Store != nil:
		return []rows.Record{{Store: &rows.Store{Name: s.restored, Days: maps.Clone(s.days), LastFact: s.lastFact}}}
	case like.Mark != nil:
		if s.erased[*like.Mark] {
			return []rows.Record{{Mark: like.Mark}}
		}
		for _, mark := range slices.Sorted(maps.Keys(s.erased)) {
			if *like.Mark != "" {
				break
			}
			list = append(list, rows.Record{Mark: &mark})
		}

	case like.Fact != nil:
		return s.likeFact(like.Fact)
	case like.Pairing != nil:
		for _, p := range s.pairings {
			if same(like.Pairing.Channel, p.Channel) && same(like.Pairing.PersonID, p.PersonID) {
				own := *p
				list = append(list, rows.Record{Pairing: &own})
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
		for _, a := range s.asides {
			if !a.blank() && !(like.Kept && a.Dropped) && same(like.Quarantined.Channel, a.Channel) && same(like.Quarantined.ID, a.Quarantined.ID) {
				own := a.QuarantineRecord
				own.Raw = slices.Clone(own.Raw)
				list = append(list, rows.Record{Quarantined: &own})
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

func (s *state) likeFact(like *sessions.FactRecord) (list []rows.Record) {
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

func (s *state) likeOccurrence(like *sessions.Occurrence) (list []rows.Record) {
	if like.Job != "" && !like.Due.IsZero() {
		if o := s.outcomes[dueTime{like.Job, rules.Time(like.Due)}]; o != nil {
			own := *o
			list = append(list, rows.Record{Occurrence: &own})
		}
		return list
	}
	for _, o := range s.occurrences {
		if same(like.Job, o.Job) && (like.Due.IsZero() || like.Due.Equal(o.Due)) {
			own := *o
			list = append(list, rows.Record{Occurrence: &own})
		}
	}
	slices.SortFunc(list, func(a, b rows.Record) int {
		return cmp.Or(cmp.Compare(a.Occurrence.Job, b.Occurrence.Job), a.Occurrence.Due.Compare(b.Occurrence.Due))
	})
	return list
}

// idFilter knows ids of deliveries by their hashes: one that it does not have is
// not there, one that it has may be, or may have been. A nil one takes none.
type idFilter map[uint64]struct{}

var idSeed = maphash.MakeSeed()

func (f idFilter) add(id string) {
	if f != nil {
		f[maphash.String(idSeed, id)] = struct{}{}
	}
}

// mayHave reports whether there may be a delivery of that id. The first who asks
// has all conversations looked through, once.
func (b *backend) mayHave(id string) bool {
	if b.sent == nil {
		all, err := b.looked()
		if err != nil {
			return true // who looks for it is told
		}
		b.sent = idFilter{}
		for _, c := range all {
			for _, o := range c.out {
				b.sent.add(o.ID)
			}
		}
	}
	_, may := b.sent[maphash.String(idSeed, id)]
	return may
}
