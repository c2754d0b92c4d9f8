package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// occurred stores the outcome of an occurrence, in place of an earlier one.
func (st *step) occurred(o sessions.Occurrence) {
	o = cleanOccurrence(o)
	if o.At.IsZero() {
		o.At = rules.Time(st.now)
	}
	st.record(rows.Record{Occurrence: &o})
}

// unheard marks the runs of the jobs that wrote o as failed.
func (st *step) unheard(o *rows.Out, why string) {
	for _, job := range sessions.JobsOf(o.Job) {
		st.unheardOf(job, o, why)
	}
}

// unheardOf marks the run of job that wrote o as failed: the last one that ended before o
// was stored.
func (st *step) unheardOf(job string, o *rows.Out, why string) {
	var run *sessions.Occurrence
	for r := range st.records(rows.Record{Occurrence: &sessions.Occurrence{Job: job}}) {
		ran := r.Occurrence
		spoke := ran.Outcome == "ran" || ran.Outcome == "failed"
		if spoke && !ran.At.After(o.Created) && (run == nil || ran.At.After(run.At)) {
			run = ran
		}
	}
	if run == nil || run.Outcome == "failed" { // by itself, or by another piece of its text
		return
	}
	st.occurred(sessions.Occurrence{Job: run.Job, Due: run.Due, Outcome: "failed", Why: sessions.NotDelivered + why, At: run.At, Changed: st.now})
}

func cleanOccurrence(o sessions.Occurrence) sessions.Occurrence {
	o.Job = rules.Text(o.Job)
	o.Outcome = rules.Text(o.Outcome)
	o.Why = rules.Text(o.Why)
	o.Due, o.At = rules.Time(o.Due), rules.Time(o.At)
	o.Changed = rules.Time(o.Changed)
	return o
}

// NextDue is when job is due next; false if it was never planned.
func (s *Store) NextDue(ctx context.Context, job string) (time.Time, bool, error) {
	v := s.view(ctx)
	v.err = hasJob(job)
	if r, ok := v.one(rows.Record{Job: &sessions.JobRecord{Job: job}}); ok {
		return r.Job.Due, true, nil
	}
	return time.Time{}, false, s.wrap("next due", v.err)
}

// Plan moves job from was, the result of NextDue, to next. For a job that was never
// planned, was is zero. ErrConflict: the job is not due at was any more.
func (s *Store) Plan(ctx context.Context, job string, was, next time.Time) error {
	return s.update(ctx, "plan", func(st *step) error { return st.move(job, was, next) })
}

// move plans a job that is due at was for next. Errors: ErrConflict.
func (st *step) move(job string, was, next time.Time) error {
	if err := hasJob(job); err != nil {
		return err
	}
	planned, ok := st.one(rows.Record{Job: &sessions.JobRecord{Job: job}})
	if ok == was.IsZero() || ok && !planned.Job.Due.Equal(was) {
		return fmt.Errorf("%w: job %q is no longer due at %s", sessions.ErrConflict, job, was.Format(time.RFC3339))
	}
	st.record(rows.Record{Job: &sessions.JobRecord{Job: job, Due: rules.Time(next)}})
	return nil
}

// advance plans the next occurrence as move does, and reports whether the one at due
// has no outcome yet.
func (st *step) advance(job string, was, due, next time.Time) (fresh bool, err error) {
	if err := st.move(job, was, next); err != nil {
		return false, err
	}
	_, known := st.one(rows.Record{Occurrence: &sessions.Occurrence{Job: job, Due: rules.Time(due)}})
	return !known, nil
}

// Fire records the occurrence at due as fired, puts m into the inbox (as
// SourceHeartbeat) and moves job from was to next as Plan does, in one commit. An
// occurrence of the schedule has due equal to was. An occurrence that already has an
// outcome, because the job was planned back to it, does not fire again: the job
// continues with the next one.
func (s *Store) Fire(ctx context.Context, job string, was, due, next time.Time, m channels.Inbound) error {
	return s.update(ctx, "fire", func(st *step) error {
		e := sessions.Entry{Inbound: rules.Inbound(m), Source: sessions.SourceHeartbeat}
		if err := checkEntry(e); err != nil {
			return err
		}
		c := st.chat(m.Key)
		fresh, err := st.advance(job, was, due, next)
		if err != nil || !fresh {
			return err
		}
		if _, seen := st.seen(e.Inbound); seen {
			return nil
		}
		st.occurred(sessions.Occurrence{Job: job, Due: due, Outcome: "fired"})
		r := st.addInbound(c, e, rules.InWaiting)
		r.Job, r.JobDue = rules.Text(job), rules.Time(due)
		st.put(c, r, true)
		return nil
	}, m.Key)
}

// Skip records the occurrence that is planned for due with an outcome ("skipped",
// "missed") and plans the next one. ErrConflict as in Plan.
func (s *Store) Skip(ctx context.Context, job string, due, next time.Time, outcome, why string) error {
	if err := knownOutcome(outcome); err != nil {
		return s.wrap("skip", err)
	}
	return s.update(ctx, "skip", func(st *step) error {
		fresh, err := st.advance(job, due, due, next)
		if err == nil && fresh {
			st.occurred(sessions.Occurrence{Job: job, Due: due, Outcome: outcome, Why: why})
		}
		return err
	})
}

// Occurrences lists the newest first; job "" means all jobs.
func (s *Store) Occurrences(ctx context.Context, job string, limit int) (list []sessions.Occurrence, err error) {
	v := s.view(ctx)
	for r := range v.records(rows.Record{Occurrence: &sessions.Occurrence{Job: job}}) {
		list = append(list, *r.Occurrence)
	}
	slices.SortStableFunc(list, func(a, b sessions.Occurrence) int {
		return cmp.Or(b.Due.Compare(a.Due), cmp.Compare(a.Job, b.Job))
	})
	return list[:min(max(limit, 0), len(list))], s.wrap("occurrences", v.err)
}
