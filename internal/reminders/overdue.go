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

// tidy removes reminders that have ended and can no longer be put off, and plans anew those
// that are due at another time by the rules of today's time zones.
func (r *Runner) tidy(ctx context.Context) error {
	notes, err := r.ledger.Notes(ctx, sessions.NoteFilter{Kind: Kind})
	if err != nil {
		return fmt.Errorf("reminders: read all: %w", err)
	}
	for _, n := range notes {
		after, changes := r.tidied(n)
		if !changes {
			continue
		}
		err := r.ledger.ChangeNotes(ctx, Kind, n.Owner, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
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
func (r *Runner) tidied(n sessions.Note) (after *sessions.Note, changes bool) {
	rem, is := read(n)
	now := r.now()
	if !is || rem.broken {
		return nil, false
	}
	if rem.Done {
		return nil, now.Sub(rem.Fired) > keepDone
	}
	p, err := rem.When.Plan(rem.From, r.book.zone(rem.Zone))
	if err != nil || !n.Due.After(now) {
		return nil, false // paused, or due
	}
	due := p.Next(now)
	if due.IsZero() || due.Equal(n.Due) {
		return nil, false
	}
	r.o.Logger.Info("a reminder is planned anew", "reminder", n.Name, "owner", n.Owner, "was", n.Due, "next", due)
	n.Due = due
	return &n, true
}
