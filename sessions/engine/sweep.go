package engine

import (
	"context"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// sweepSums is how many sums, or outcomes of jobs, one step moves or removes.
const sweepSums = 500

// outcomeLife is how long the outcome of a job is kept: so whoever looks at a job of once a
// year sees its last run.
const outcomeLife = 366 * day

// Sweep removes the notes whose life is over, moves sums of old days to the first day of
// their month, removes very old ones, facts that can no longer be brought back, and outcomes
// of jobs that are older than a year. It returns how many notes it removed. The table of
// lives (kinds.go) says how long each kind is kept. Each owner's notes are one step, so other
// changes come in between.
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
	for _, some := range []func(*step) bool{(*step).sweepCounts, (*step).sweepOutcomes} {
		err := s.sweepBy(ctx, some)
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// sweepBy makes steps of some until it says that there is no more.
func (s *Store) sweepBy(ctx context.Context, some func(*step) (more bool)) error {
	for more := true; more; {
		err := s.update(ctx, "sweep", func(st *step) error {
			more = some(st)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
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

// sweepOutcomes removes some outcomes of jobs that are over, and reports whether there may be
// more. What is still under way has none yet.
func (st *step) sweepOutcomes() (more bool) {
	old := st.now.Add(-outcomeLife)
	for r := range st.records(rows.Record{Occurrence: &sessions.Occurrence{}}) {
		o := r.Occurrence
		if o.Outcome == "fired" || o.Due.After(old) || o.At.After(old) || o.Changed.After(old) {
			continue
		}
		st.changes.Removed = append(st.changes.Removed, r)
		if len(st.changes.Removed) >= sweepSums {
			return true
		}
	}
	return false
}

// firstOfMonth is the first day of the month of a day.
func firstOfMonth(day string) string { return day[:len("202611")] + "01" }
