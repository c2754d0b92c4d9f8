package reminders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/heartbeat"
	"dragoman/sessions"
)

// The methods of this file are for whoever names a reminder by its job, like
// telegram:42/r7. Who may do that to which is their business.

// keepCancelled is how long a reminder can be brought back.
const keepCancelled = time.Hour

// Add is Make. It returns the job of the reminder.
func (b *Book) Add(ctx context.Context, a Asker, o heartbeat.Order) (job string, err error) {
	r, _, err := b.add(ctx, a, o)
	if err != nil {
		return "", err
	}
	return r.job(), nil
}

// PauseNamed keeps a reminder without a due time until somebody resumes it. why is for people.
func (b *Book) PauseNamed(ctx context.Context, job, why string) error {
	return b.alter(ctx, "pause", job, func(r *reminder) (gone bool, err error) {
		if r.Paused != "" || r.Done {
			return false, nil
		}
		r.Paused = why
		r.Since = r.due
		r.due = time.Time{}
		return false, nil
	})
}

// ResumeNamed makes a paused reminder due again, at its first time from now on. Whose maker may
// not talk stays paused.
func (b *Book) ResumeNamed(ctx context.Context, job string) error {
	return b.alter(ctx, "resume", job, func(r *reminder) (gone bool, err error) {
		if r.Paused == "" || r.Refused {
			return false, nil
		}
		return false, b.goOn(r)
	})
}

// goOn makes r due at its first time from now on.
func (b *Book) goOn(r *reminder) error {
	p, err := r.When.Plan(r.From, b.zone(r.Zone))
	if err != nil {
		return refuse("%s", err)
	}
	due := p.Next(b.o.Now().UTC())
	if due.IsZero() {
		return refuse("its time is over; give it another one")
	}
	r.due = due
	r.Paused = ""
	r.Since = time.Time{}
	return nil
}

// CancelNamed ends a reminder. RestoreNamed can bring it back for an hour.
func (b *Book) CancelNamed(ctx context.Context, job string) error {
	return b.alter(ctx, "cancel", job, func(r *reminder) (gone bool, err error) {
		if r.broken {
			return true, nil
		}
		if r.Done {
			return false, notFound(job)
		}
		r.Since = r.due
		r.due = time.Time{}
		r.Done = true
		r.Cancelled = b.o.Now().UTC()
		return false, nil
	})
}

// RestoreNamed brings back what CancelNamed ended: paused if it was, else due at its first time
// from now on.
func (b *Book) RestoreNamed(ctx context.Context, job string) error {
	return b.alter(ctx, "restore", job, func(r *reminder) (gone bool, err error) {
		if r.Cancelled.IsZero() || b.o.Now().Sub(r.Cancelled) > keepCancelled {
			return false, notFound(job)
		}
		r.Cancelled = time.Time{}
		r.Done = false
		if r.Paused != "" {
			return false, nil
		}
		if b.goOn(r) != nil {
			return false, refuse("its time is over; ask for it anew")
		}
		return false, nil
	})
}

// ChangeNamed changes when a reminder is due and what it says. A new time ends a pause.
func (b *Book) ChangeNamed(ctx context.Context, job string, o heartbeat.Order) error {
	err := checkWords(o, false)
	if err != nil {
		return err
	}
	timed := o.When != heartbeat.When{}
	if !timed && o.Text+o.Prompt == "" {
		return refuse("write what to change: text, prompt, or when")
	}
	return b.alter(ctx, "change", job, func(r *reminder) (gone bool, err error) {
		if r.broken || r.Done {
			return false, notFound(job)
		}
		r.rewrite(o)
		when := r.When
		if timed {
			when = o.When
		}
		if timed && o.Zone != "" {
			zone, err := loadZone(o.Zone)
			if err != nil {
				return false, err
			}
			r.Zone = zone.String()
		}
		if timed || o.Prompt != "" {
			err = b.replan(r, when, b.zone(r.Zone), timed)
		}
		return false, err
	})
}

// alter changes the reminder of a job in one step. gone: it is removed. The runner is told.
// Errors: sessions.ErrNotFound, heartbeat.Refusal, the store's.
func (b *Book) alter(ctx context.Context, what, job string, change func(r *reminder) (gone bool, err error)) error {
	owner := sessions.JobsOwner(job)
	if owner == "" {
		return notFound(job)
	}
	name := job[len(owner)+1:]
	err := b.store.ChangeNotes(ctx, Kind, owner, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
		at := slices.IndexFunc(have, func(n sessions.Note) bool { return n.Name == name })
		if at < 0 || name == LastName {
			return nil, nil, notFound(job)
		}
		r, _ := read(have[at])
		was := r.Done
		gone, err := change(&r)
		switch {
		case err == nil && was && !r.Done && len(readAll(have)) >= MaxPerson:
			return nil, nil, refuse("there are %d reminders already, and nobody may have more; cancel one first", MaxPerson)
		case err != nil:
			return nil, nil, err
		case gone:
			return nil, []string{name}, nil
		}
		n, err := r.note()
		return []sessions.Note{n}, nil, err
	})
	if errors.Is(err, sessions.ErrNotFound) {
		return err
	}
	if err != nil {
		return wrap(what+" a reminder", err)
	}
	b.changed()
	return nil
}

func notFound(job string) error { return fmt.Errorf("reminders: %s: %w", job, sessions.ErrNotFound) }

// Upcoming are the due times of a reminder from now on until a time, at most so many. It is
// empty for one that is paused, or is none.
func (b *Book) Upcoming(ctx context.Context, job string, until time.Time, most int) (list []time.Time, err error) {
	owner := sessions.JobsOwner(job)
	if owner == "" {
		return nil, nil
	}
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: Kind, Owner: owner, Name: job[len(owner)+1:]})
	if err != nil {
		return nil, fmt.Errorf("reminders: read %s: %w", job, err)
	}
	for _, n := range notes {
		r, is := read(n)
		p, planned := r.When.Plan(r.From, b.zone(r.Zone))
		if !is || r.broken || planned != nil {
			continue
		}
		for due := r.due; !due.IsZero() && !due.After(until) && len(list) < most; due = p.Next(due) {
			list = append(list, due)
		}
	}
	return list, nil
}
