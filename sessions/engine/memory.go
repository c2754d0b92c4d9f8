package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// mostNear is how many neighbours of a fact are named.
const mostNear = 5

// memory is the facts of one scope within a step, in the order of their numbers, and of those
// beside it, which are the same person's.
type memory struct {
	*step
	scope string           // of new facts
	of    map[int64]string // the scope of each fact
	live  []sessions.Fact
	gone  []sessions.Fact // replaced or forgotten, and can be brought back
}

// memory reads the facts of a scope and those beside it, and deletes those that can no longer
// be brought back.
func (st *step) memory(scope string, beside ...string) *memory {
	m := &memory{step: st, scope: scope, of: map[int64]string{}}
	for _, one := range append([]string{scope}, beside...) {
		for r := range st.records(factsOf(one)) {
			if r.Fact.Scope == one {
				m.read(one, r.Fact.Fact)
			}
		}
	}
	if len(beside) > 0 {
		slices.SortFunc(m.live, byNumber)
		slices.SortFunc(m.gone, byNumber)
	}
	return m
}

// read adds a fact of a scope.
func (m *memory) read(scope string, f sessions.Fact) {
	m.of[f.ID] = scope
	switch {
	case f.Gone.IsZero():
		m.live = append(m.live, f)
	case isOver(&f, m.now):
		m.remove(f)
	default:
		m.gone = append(m.gone, f)
	}
}

func byNumber(a, b sessions.Fact) int { return cmp.Compare(a.ID, b.ID) }

// scopeOf is where a fact is stored.
func (m *memory) scopeOf(f sessions.Fact) string { return cmp.Or(m.of[f.ID], m.scope) }

// sizeOf is how many of list are in a scope.
func (m *memory) sizeOf(list []sessions.Fact, scope string) (n int) {
	for _, f := range list {
		if m.scopeOf(f) == scope {
			n++
		}
	}
	return n
}

func (m *memory) put(f sessions.Fact) {
	m.record(rows.Record{Fact: &sessions.FactRecord{Scope: m.scopeOf(f), Fact: f}})
}

func (m *memory) remove(f sessions.Fact) {
	m.changes.Removed = append(m.changes.Removed, rows.Record{Fact: &sessions.FactRecord{Scope: m.scopeOf(f), Fact: sessions.Fact{ID: f.ID}}})
}

// remember is [Store.Remember].
func (m *memory) remember(n sessions.NewFact) (kept sessions.Kept, err error) {
	kept.Replaced, err = m.replaced(n)
	if err != nil {
		return kept, err
	}
	stored := slices.IndexFunc(m.live, sameAs(n.Text))
	if stored < 0 {
		// A correction leaves no more than there was, also where what it replaces was said
		// elsewhere, or where an undo brought back one too many.
		if most := sessions.MostFacts(m.scope); len(kept.Replaced) == 0 && m.sizeOf(m.live, m.scope) >= most {
			return kept, fmt.Errorf("%w: the memory has %d facts", sessions.ErrTooMany, most)
		}
		kept.Fact = sessions.Fact{ID: m.lastFact() + 1, Text: n.Text, At: rules.Time(m.now), Origins: n.Origins}
		kept.From = n.From
		m.dropTwins(n.Text)
	} else {
		kept.Fact = m.live[stored]
		if len(n.Origins) == 0 {
			kept.Origins = nil
		}
	}
	when := m.nextGone()
	for _, f := range kept.Replaced {
		kept.Pinned = kept.Pinned || f.Pinned
		m.bury(f, n.Text, when)
	}
	if stored < 0 || kept.Pinned != m.live[stored].Pinned || len(kept.Origins) != len(m.live[stored].Origins) {
		m.put(kept.Fact)
	}
	kept.Near = m.near(kept)
	return kept, nil
}

// replaced finds the facts that n replaces. One that it replaced already is left out.
func (m *memory) replaced(n sessions.NewFact) (list []sessions.Fact, err error) {
	for _, id := range n.Replaces {
		named := func(f sessions.Fact) bool { return f.ID == id }
		if i := slices.IndexFunc(m.live, named); i >= 0 {
			same := rules.SameFact(m.live[i].Text, n.Text)
			if !same && !slices.ContainsFunc(list, named) {
				list = append(list, m.live[i])
			}
			continue
		}
		i := slices.IndexFunc(m.gone, named)
		if i < 0 || !rules.SameFact(m.gone[i].ReplacedBy, n.Text) {
			return nil, fmt.Errorf("%w: fact %d", sessions.ErrNotFound, id)
		}
	}
	return list, nil
}

func sameAs(text string) func(sessions.Fact) bool {
	return func(f sessions.Fact) bool { return rules.SameFact(f.Text, text) }
}

// dropTwins deletes what went with the words of a new fact, so that an undo never brings
// back the same words beside it.
func (m *memory) dropTwins(text string) {
	for _, f := range m.gone {
		if rules.SameFact(f.Text, text) {
			m.remove(f)
		}
	}
	m.gone = slices.DeleteFunc(m.gone, sameAs(text))
}

// nextGone is the time for a fact that goes now: later than that of all that went before,
// also if the clock was set back.
func (m *memory) nextGone() time.Time {
	when := rules.Time(m.now)
	for _, f := range m.gone {
		if !when.After(f.Gone) {
			when = f.Gone.Add(time.Microsecond)
		}
	}
	return when
}

// bury takes a fact out of the memory. As many can be brought back as a memory may have:
// whoever forgets more loses the oldest.
func (m *memory) bury(f sessions.Fact, by string, when time.Time) {
	f.Gone = when
	f.ReplacedBy = by
	m.put(f)
	m.gone = append(m.gone, f)
	scope := m.scopeOf(f)
	if m.sizeOf(m.gone, scope) > sessions.MostFacts(scope) {
		oldest := f
		for _, other := range m.gone {
			if m.scopeOf(other) == scope && other.Gone.Before(oldest.Gone) {
				oldest = other
			}
		}
		m.remove(oldest)
		m.gone = slices.DeleteFunc(m.gone, func(f sessions.Fact) bool { return f.ID == oldest.ID })
	}
}

// undo is [Store.UndoFacts].
func (m *memory) undo() (undone sessions.UndoneFacts, err error) {
	if len(m.gone) == 0 {
		return undone, fmt.Errorf("%w: nothing was replaced or forgotten lately", sessions.ErrNotFound)
	}
	last := slices.MaxFunc(m.gone, func(a, b sessions.Fact) int { return a.Gone.Compare(b.Gone) })
	for _, f := range m.gone {
		if !f.Gone.Equal(last.Gone) {
			continue
		}
		f.Gone = time.Time{}
		f.ReplacedBy = ""
		m.put(f)
		undone.Back = append(undone.Back, f)
	}
	i := slices.IndexFunc(m.live, sameAs(last.ReplacedBy))
	if last.ReplacedBy != "" && i >= 0 {
		undone.Dropped = &m.live[i]
		m.remove(m.live[i])
	}
	return undone, nil
}

// near finds the neighbours of a fact among those that it did not replace.
func (m *memory) near(kept sessions.Kept) (list []sessions.Fact) {
	type neighbour struct {
		sessions.Fact
		share float64
	}
	var found []neighbour
	words := telling(kept.Text)
	for _, f := range m.live {
		replaced := slices.ContainsFunc(kept.Replaced, func(r sessions.Fact) bool { return r.ID == f.ID })
		if f.ID == kept.ID || replaced {
			continue
		}
		if share := shared(words, telling(f.Text)); share > 0.5 {
			found = append(found, neighbour{f, share})
		}
	}
	slices.SortFunc(found, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.ID, a.ID))
	})
	for _, n := range found[:min(len(found), mostNear)] {
		list = append(list, n.Fact)
	}
	return list
}

// shared is the share of the words of the shorter of two texts that the other has too.
func shared(a, b []string) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	n := 0
	for _, w := range a {
		if slices.Contains(b, w) {
			n++
		}
	}
	return float64(n) / float64(max(len(a), 1))
}

// telling returns the words of a text that tell it from others. Words of one or two small
// letters ("is", "in", "не") hardly do in any script that has small letters; they count if
// there are no others.
func telling(text string) []string {
	all := rules.Query(text)
	list := slices.DeleteFunc(slices.Clone(all), func(w string) bool {
		first, _ := utf8.DecodeRuneInString(w)
		return utf8.RuneCountInString(w) <= 2 && unicode.IsLower(first)
	})
	if len(list) == 0 {
		return all
	}
	return list
}

// bestFacts returns the facts that have words of a query, best first, and the newer of
// equals first. A word counts for more if few facts have it: in a memory nearly each fact
// has "the", and one has "hamster".
func bestFacts(query string, all []sessions.Fact, limit int) (found []sessions.Fact) {
	// hit is a fact with the weight of its words.
	type hit struct {
		weight float64
		at     int
	}
	words := telling(query)
	hits := make([]hit, len(all))
	for _, w := range words {
		var have []int
		for i, f := range all {
			if rules.Score([]string{w}, f.Text) > 0 {
				have = append(have, i)
			}
		}
		weight := math.Log1p(float64(len(all)) / float64(max(len(have), 1)))
		for _, i := range have {
			hits[i].at = i
			hits[i].weight += weight
		}
	}
	hits = slices.DeleteFunc(hits, func(h hit) bool { return h.weight == 0 })
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.at, a.at)) })
	for _, h := range hits[:min(len(hits), max(limit, 0))] {
		found = append(found, all[h.at])
	}
	return found
}

// cleanMarks makes m storable.
func cleanMarks(m sessions.FactMarks) sessions.FactMarks {
	m.Used, m.Gone = rules.Time(m.Used), rules.Time(m.Gone)
	m.ReplacedBy = rules.Text(m.ReplacedBy)
	return m
}

// isOver reports whether f went so long ago that nothing brings it back.
func isOver(f *sessions.Fact, now time.Time) bool {
	return !f.Gone.IsZero() && now.After(f.Gone.Add(sessions.FactUndo))
}
