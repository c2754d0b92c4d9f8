package engine

import (
	"context"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// sweepSums is how many sums one step moves or removes.
const sweepSums = 500

// Sweep removes the notes whose life is over, moves sums of old days to the first day of
// their month, removes very old ones, and facts that can no longer be brought back. It returns how many notes it removed. The table
// of lives (kinds.go) says how long each kind is kept. Each owner's notes are one step, so
// other changes come in between.
func (s *Store) Sweep(ctx context.Context) (removed int, err error) {
	type place struct{ kind, owner string }
	over := map[place]bool{}
	v := s.view(ctx)
	for r := range v.records(rows.Record{Note: &sessions.Note{}}) {
		if lifeOf(r.Note.Kind).over(r.Note, s.now()) {
			over[place{r.Note.Kind, r.Note.Owner}] = true
		}
	}
	if v.err != nil {
		return 0, s.wrap("sweep", v.err)
	}
	err = s.sweepFacts(ctx)
	if err != nil {
		return 0, err
	}
	for at := range over {
		n := 0
		err := s.update(ctx, "sweep", func(st *step) error {
			n = st.sweepNotes(at.kind, at.owner)
			return nil
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
	for more := true; more; {
		err := s.update(ctx, "sweep", func(st *step) error {
			more = st.sweepCounts()
			return nil
		})
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// sweepNotes removes the notes of an owner whose life is over.
func (st *step) sweepNotes(kind, owner string) (n int) {
	for r := range st.records(rows.Record{Note: &sessions.Note{Kind: kind, Owner: owner}}) {
		if lifeOf(kind).over(r.Note, st.now) {
			st.changes.Removed = append(st.changes.Removed, r)
			n++
		}
	}
	return n
}

// sweepCounts moves or removes some sums, and reports whether there may be more. A sum is
// moved by two additions, so that what is added to it meanwhile is not lost: the next sweep
// moves that.
func (st *step) sweepCounts() (more bool) {
	today := rules.Time(st.now)
	fold, drop := today.Add(-countDays).Format(dayForm), today.Add(-countMonths).Format(dayForm)
	for r := range st.records(rows.Record{Count: &sessions.Count{}}) {
		c := *r.Count
		switch first := firstOfMonth(c.Day); {
		case c.Day < drop:
			st.changes.Removed = append(st.changes.Removed, r)
		case c.Day < fold && c.Day != first:
			moved, gone := c, c
			moved.Day = first
			gone.N = -c.N
			st.changes.Add = append(st.changes.Add, moved, gone)
		}
		if len(st.changes.Removed)+len(st.changes.Add) >= sweepSums {
			return true
		}
	}
	return false
}

// firstOfMonth is the first day of the month of a day.
func firstOfMonth(day string) string { return day[:len("202611")] + "01" }
