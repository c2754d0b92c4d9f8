package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// NextDue is part of [sessions.Jobs].
func (s *Store) NextDue(ctx context.Context, job string) (time.Time, bool, error) {
	var due int64
	err := s.row(ctx, `SELECT due FROM jobs WHERE job = ?`, job).Scan(&due)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, wrap("next due", err)
	}
	return timeOf(due), true, nil
}

// Plan is part of [sessions.Jobs].
func (s *Store) Plan(ctx context.Context, job string, next time.Time) error {
	return s.update(ctx, "plan", func(t *tx) error {
		return t.exec(`INSERT INTO jobs (job, due) VALUES (?, ?) ON CONFLICT (job) DO UPDATE SET due = excluded.due`, job, nanos(next))
	})
}

// advance plans the next occurrence if due is the planned one, and reports
// whether due is still without an outcome.
func (t *tx) advance(job string, due, next time.Time) (fresh bool, err error) {
	n, err := t.changed(`UPDATE jobs SET due = ? WHERE job = ? AND due = ?`, nanos(next), job, nanos(due))
	if err != nil {
		return false, err
	}
	if n == 0 {
		return false, fmt.Errorf("%w: job %q is not due at %s any more", sessions.ErrConflict, job, due.Format(time.RFC3339))
	}
	err = t.row(`SELECT count(*) = 0 FROM occurrences WHERE job = ? AND due = ?`, job, nanos(due)).Scan(&fresh)
	return fresh, err
}

// record stores an outcome, over an earlier one of the same occurrence.
func (t *tx) record(o sessions.Occurrence, inbox int64) error {
	at := o.At
	if at.IsZero() {
		at = t.now
	}
	return t.exec(`INSERT INTO occurrences (job, due, outcome, why, at, inbox_id) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (job, due) DO UPDATE SET outcome = excluded.outcome, why = excluded.why, at = excluded.at`,
		o.Job, nanos(o.Due), rules.Text(o.Outcome), rules.Text(o.Why), nanos(at), inbox)
}

// Fire is part of [sessions.Jobs]. An occurrence that has an outcome already,
// because the job was planned back to it, is not fired again: the job just
// goes on to the next.
func (s *Store) Fire(ctx context.Context, job string, due, next time.Time, m channels.Inbound) error {
	e, err := prepareEntry(sessions.Entry{Inbound: m, Origin: sessions.OriginHeartbeat}, s.now())
	if err != nil {
		return wrap("fire", err)
	}
	return s.update(ctx, "fire", func(t *tx) error {
		fresh, err := t.advance(job, due, next)
		if err != nil || !fresh {
			return err
		}
		if _, seen, err := t.seen(e.dedupe); err != nil || seen {
			return err
		}
		r, err := t.key(e.Inbound.Key)
		if err != nil {
			return err
		}
		seq, err := t.addInbound(r, e, sessions.Queued)
		if err != nil {
			return err
		}
		return t.record(sessions.Occurrence{Job: job, Due: due, Outcome: "fired"}, rowID(r.id, seq))
	})
}

// Skip is part of [sessions.Jobs].
func (s *Store) Skip(ctx context.Context, job string, due, next time.Time, outcome, why string) error {
	return s.update(ctx, "skip", func(t *tx) error {
		fresh, err := t.advance(job, due, next)
		if err != nil || !fresh {
			return err
		}
		return t.record(sessions.Occurrence{Job: job, Due: due, Outcome: outcome, Why: why}, 0)
	})
}

// Occurrences is part of [sessions.Jobs].
func (s *Store) Occurrences(ctx context.Context, job string, limit int) ([]sessions.Occurrence, error) {
	query, args := `SELECT job, due, outcome, why, at FROM occurrences ORDER BY due DESC, job LIMIT +?`, []any{max(limit, 0)}
	if job != "" {
		query, args = `SELECT job, due, outcome, why, at FROM occurrences WHERE job = ? ORDER BY due DESC LIMIT +?`, []any{job, max(limit, 0)}
	}
	rows, err := s.rows(ctx, query, args...)
	if err != nil {
		return nil, wrap("occurrences", err)
	}
	var list []sessions.Occurrence
	err = each(rows, func() error {
		var o sessions.Occurrence
		var due, at int64
		err := rows.Scan(&o.Job, &due, &o.Outcome, &o.Why, &at)
		o.Due, o.At = timeOf(due), timeOf(at)
		list = append(list, o)
		return err
	})
	if err != nil {
		return nil, wrap("occurrences", err)
	}
	return list, nil
}
