package reminders

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Entry is a reminder as whoever runs Dragoman sees it, without its words.
type Entry struct {
	Job    string // of its occurrences: the maker, and its number
	Repeat string // how it repeats, in words; "once"
	Key    channels.Key
	Due    time.Time // zero: it is paused
	Paused string    // why
}

// All lists the reminders of everybody, by maker.
func (b *Book) All(ctx context.Context) (list []Entry, err error) {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: Kind})
	if err != nil {
		return nil, fmt.Errorf("reminders: list all: %w", err)
	}
	for _, n := range notes {
		r, is := read(n)
		if !is || r.Done {
			continue
		}
		e := Entry{Job: r.job(), Key: r.Key, Due: r.due, Paused: r.paused()}
		e.Repeat = cmp.Or(b.repeats(r), "once")
		list = append(list, e)
	}
	return list, nil
}
