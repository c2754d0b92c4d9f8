package reminders

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Entry is a reminder in a list of everybody's. Its words are its maker's.
type Entry struct {
	Job    string // of its occurrences: the maker, and its number
	Repeat string // how it repeats, in words; "once"
	Key    channels.Key
	Due    time.Time // zero: it is paused
	Paused string    // why
	Text   string    // its text or its prompt
	Prompt bool      // it is a prompt
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
		e.Text = r.Text + r.Prompt
		e.Prompt = r.Prompt != ""
		e.Repeat = cmp.Or(b.repeats(r), "once")
		list = append(list, e)
	}
	return list, nil
}
