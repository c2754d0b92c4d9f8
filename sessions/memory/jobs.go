package memory

import (
	"context"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// occurrence is one due time of one job.
type occurrence struct{ sessions.Occurrence }

// end gives a fired occurrence its outcome when its message will never be
// answered by a turn. It does nothing without an occurrence.
func (o *occurrence) end(ch *change, outcome, why string) {
	if o != nil {
		o.Outcome, o.Why, o.At = outcome, why, rules.Time(ch.now)
		ch.occurred(o)
	}
}

// dueTime is one due time of one job.
type dueTime struct {
	job string
	due time.Time // as rules.Time has it, so that equal ones are the same
}

// occurrence finds what became of job at due.
func (s *state) occurrence(job string, due time.Time) *occurrence {
	return s.outcomes[dueTime{job, rules.Time(due)}]
}

// addOccurrence takes in one that is not there.
func (s *state) addOccurrence(o sessions.Occurrence) *occurrence {
	added := &occurrence{o}
	s.occurrences = append(s.occurrences, added)
	s.outcomes[dueTime{o.Job, rules.Time(o.Due)}] = added
	return added
}

// record stores an outcome, over an earlier one of the same occurrence.
func (s *Store) record(ch *change, o sessions.Occurrence) *occurrence {
	o.Job, o.Outcome, o.Why = rules.Text(o.Job), rules.Text(o.Outcome), rules.Text(o.Why)
	o.Due = rules.Time(o.Due)
	if o.At = rules.Time(o.At); o.At.IsZero() {
		o.At = rules.Time(ch.now)
	}
	old := s.occurrence(o.Job, o.Due)
	if old == nil {
		old = s.addOccurrence(o)
	}
	old.Occurrence = o
	ch.occurred(old)
	return old
}

// NextDue is part of [sessions.Jobs].
func (s *Store) NextDue(ctx context.Context, job string) (due time.Time, planned bool, err error) {
	err = s.read(ctx, "next due", func() error {
		due, planned = s.due[job]
		return nil
	})
	return due, planned, err
}

// Plan is part of [sessions.Jobs].
func (s *Store) Plan(ctx context.Context, job string, next time.Time) error {
	return s.update(ctx, "plan", func(ch *change) error {
		s.plan(ch, job, next)
		return nil
	})
}

func (s *Store) plan(ch *change, job string, next time.Time) {
	s.due[job] = rules.Time(next)
	if ch.common.Due == nil {
		ch.common.Due = map[string]time.Time{}
	}
	ch.common.Due[job] = s.due[job]
}

// advance plans the next occurrence if due is the planned one, and reports
// whether due is still without an outcome.
func (s *Store) advance(ch *change, job string, due, next time.Time) (fresh bool, err error) {
	if planned, ok := s.due[job]; !ok || !planned.Equal(due) {
		return false, fmt.Errorf("%w: job %q is not due at %s any more", sessions.ErrConflict, job, due.Format(time.RFC3339))
	}
	s.plan(ch, job, next)
	return s.occurrence(job, due) == nil, nil
}

// Fire is part of [sessions.Jobs]. An occurrence that has an outcome already,
// because the job was planned back to it, is not fired again: the job just
// goes on to the next.
func (s *Store) Fire(ctx context.Context, job string, due, next time.Time, m channels.Inbound) error {
	return s.update(ctx, "fire", func(ch *change) error {
		e := sessions.Entry{Inbound: rules.Inbound(m), Origin: sessions.OriginHeartbeat}
		if err := rules.CheckEntry(e); err != nil {
			return err
		}
		c, err := s.chat(m.Key)
		if err != nil {
			return err
		}
		fresh, err := s.advance(ch, job, due, next)
		if _, seen := s.seen.Seq(Seen(e.Inbound)); err != nil || !fresh || seen || s.wasErased(e.Inbound) {
			return err
		}
		r := s.addInbound(ch, c, e)
		r.fired = s.record(ch, sessions.Occurrence{Job: job, Due: due, Outcome: "fired"})
		ch.in(c, r)
		return nil
	})
}

// Skip is part of [sessions.Jobs].
func (s *Store) Skip(ctx context.Context, job string, due, next time.Time, outcome, why string) error {
	return s.update(ctx, "skip", func(ch *change) error {
		fresh, err := s.advance(ch, job, due, next)
		if err == nil && fresh {
			s.record(ch, sessions.Occurrence{Job: job, Due: due, Outcome: outcome, Why: why})
		}
		return err
	})
}

// Occurrences is part of [sessions.Jobs].
func (s *Store) Occurrences(ctx context.Context, job string, limit int) (list []sessions.Occurrence, err error) {
	err = s.read(ctx, "occurrences", func() error {
		for _, o := range s.occurrences {
			if job == "" || o.Job == job {
				list = append(list, o.Occurrence)
			}
		}
		list = rules.NewestFirst(list, limit)
		return nil
	})
	return list, err
}
