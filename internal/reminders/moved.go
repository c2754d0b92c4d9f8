package reminders

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/heartbeat"
	"dragoman/sessions"
)

// What people ask for by the clock before they have said where they are is due on the clock of
// the configuration, and that is said. They meant their own: once they say it, it moves there.

// byClock reports whether r is due when a clock shows something.
func (r *reminder) byClock() bool { return r.When.At != "" || r.When.Repeat != nil }

// move makes r due when the clocks in zone show what was asked for. What would be over there
// stays as it was.
func (b *Book) move(r *reminder, zone *time.Location) bool {
	now := b.o.Now().UTC()
	if !r.byClock() || !r.due.After(now) {
		return false // paused, or being delivered
	}
	p, err := r.When.Plan(r.From, zone)
	if err != nil {
		return false
	}
	due := p.Next(now)
	if due.IsZero() {
		return false
	}
	r.Zone = zone.String()
	r.due = due
	return true
}

// moveOne moves r for whoever asks for that; it may be there already.
func (b *Book) moveOne(r *reminder, zone *time.Location) error {
	switch {
	case r.Zone == zone.String() || !r.byClock() || b.move(r, zone):
		return nil
	case r.due.IsZero():
		return refuse("reminder %s is paused; give it a new time", r.name)
	}
	return refuse("the time of reminder %s is over in %s; give it another one", r.name, zone)
}

// moveAll moves what the person of an identity has asked for while their zone was not known. It
// returns what is due at another time now.
func (b *Book) moveAll(ctx context.Context, owner string, zone *time.Location) (moved []reminder, err error) {
	owners, err := b.o.Together(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("reminders: look up who %s is: %w", owner, err)
	}
	for _, one := range owners {
		var of []reminder
		err := b.store.ChangeNotes(ctx, Kind, one, func(have []sessions.Note) (put []sessions.Note, remove []string, err error) {
			of = nil
			for _, n := range have {
				r, is := read(n)
				if !is || r.broken || r.Done || r.Zone != "" || !b.move(&r, zone) {
					continue
				}
				changed, err := r.note()
				if err != nil {
					return nil, nil, err
				}
				put = append(put, changed)
				if !r.due.Equal(n.Due) {
					of = append(of, r)
				}
			}
			return put, nil, nil
		})
		if err != nil {
			return nil, fmt.Errorf("reminders: move those of %s: %w", one, err)
		}
		moved = append(moved, of...)
	}
	if len(moved) > 0 {
		b.changed()
	}
	return moved, nil
}

// maxMoved is how many of them are named.
const maxMoved = 10

// sayMoved names what has moved, for a, without the words: a model reads it, and they may be
// somebody else's. A shared chat reads of its own alone. but is not named.
func (b *Book) sayMoved(ctx context.Context, a Asker, moved []reminder, but string) string {
	if len(moved) == 0 {
		return ""
	}
	owners, err := b.owners(ctx, a)
	if err != nil {
		return "" // it is done, and /jobs shows it
	}
	var list []string
	more := 0
	for _, r := range moved {
		switch name := nameFor(owners, r); {
		case r.job() == but, !a.Private && r.Key != a.Key:
		case len(list) == maxMoved:
			more++
		default:
			list = append(list, fmt.Sprintf("%s (%s)", name, r.due.In(b.zone(r.Zone)).Format("Monday 2 January, 15:04")))
		}
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	if len(list) == 0 {
		return ""
	}
	return "\nWhat was asked for before is on that clock now, too: " + strings.Join(list, ", ") + "."
}

// refusedBeside is err with what was done all the same, if it is a sentence for whoever asked.
func refusedBeside(err error, done string) error {
	refusal, refused := errors.AsType[heartbeat.Refusal](err)
	if !refused || done == "" {
		return err
	}
	return refuse("%s.%s", refusal, done)
}
