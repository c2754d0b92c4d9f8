package reminders

import (
	"context"
	"fmt"
	"time"

	"dragoman/heartbeat"
	"dragoman/sessions"
)

// overdue is what is due of a plan.
type overdue struct {
	due    time.Time // the newest occurrence that is due
	before int       // how many are due before it, as far as they were counted
	next   time.Time // the first that is not due yet; zero: there is none
	// late: it was due while nobody could deliver it. tooLate: more than half of the time
	// until the next has passed.
	late, tooLate bool
}

// maxOverdue is how many occurrences are counted.
const maxOverdue = 500

// newestDue walks p from first, which is due, to now. What is more than maxOverdue ahead of
// first counts as too late.
func newestDue(p *heartbeat.Plan, first, now time.Time) overdue {
	o := overdue{due: first}
	for range maxOverdue {
		next := p.Next(o.due)
		if next.IsZero() || next.After(now) {
			break
		}
		o.due = next
		o.before++
	}
	o.next = p.Next(now)
	passed := now.Sub(o.due)
	o.late = passed > heartbeat.Grace
	o.tooLate = o.late && !o.next.IsZero() && passed >= o.next.Sub(o.due)/2
	return o
}

// tidy removes reminders that have ended and can no longer be put off, plans anew those that
// are due at another time by the rules of today's time zones, and lets those go on whose
// maker may talk again.
func (r *Runner) tidy(ctx context.Context) error {
	notes, err := r.ledger.Notes(ctx, sessions.NoteFilter{Kind: Kind})
	if err != nil {
		return fmt.Errorf("reminders: read all: %w", err)
	}
	r.refused = false
	for _, n := range notes {
		after, changes, err := r.tidied(ctx, n)
		if err != nil {
			return fmt.Errorf("reminders: look after %s of %s: %w", n.Name, n.Owner, err)
		}
		if !changes {
			continue
		}
		err = r.ledger.ChangeNotes(ctx, Kind, n.Owner, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
			for _, h := range have {
				if h.Name != n.Name || !h.Due.Equal(n.Due) || string(h.Data) != string(n.Data) {
					continue
				}
				if after == nil {
					return nil, []string{n.Name}, nil
				}
				put = append(put, *after)
			}
			return put, nil, nil
		})
		if err != nil {
			return fmt.Errorf("reminders: tidy %s of %s: %w", n.Name, n.Owner, err)
		}
	}
	return nil
}

// tidied is what becomes of n; nil: it is removed.
func (r *Runner) tidied(ctx context.Context, n sessions.Note) (after *sessions.Note, changes bool, err error) {
	rem, is := read(n)
	now := r.now()
	switch {
	case !is || rem.broken:
		return nil, false, nil
	case !rem.Cancelled.IsZero():
		return nil, now.Sub(rem.Cancelled) > keepCancelled, nil
	case rem.Done:
		return nil, now.Sub(rem.Fired) > keepDone, nil
	case rem.Refused:
		return r.resumed(ctx, rem)
	}
	p, planned := rem.When.Plan(rem.From, r.book.zone(rem.Zone))
	if planned != nil || !n.Due.After(now) {
		return nil, false, nil // paused, or due
	}
	due := p.Next(now)
	if due.IsZero() || due.Equal(n.Due) {
		return nil, false, nil
	}
	r.o.Logger.Info("a reminder is planned anew", "reminder", n.Name, "owner", n.Owner, "was", n.Due, "next", due)
	n.Due = due
	return &n, true, nil
}

// resumed is rem, whose maker might not talk, if they may again: due as it was, so that what
// came due meanwhile is late.
func (r *Runner) resumed(ctx context.Context, rem reminder) (after *sessions.Note, changes bool, err error) {
	why, err := r.o.Refused(ctx, rem.from())
	if why != "" || err != nil {
		r.refused = true
		return nil, false, err
	}
	r.o.Logger.Info("a reminder goes on", "reminder", rem.name, "owner", rem.owner, "key", rem.Key.String())
	rem.Paused = ""
	rem.Refused = false
	rem.due = rem.Since
	n, err := rem.note()
	return &n, true, err
}
