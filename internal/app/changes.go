package app

import (
	"context"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/internal/reminders"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// These changes are no rows of a queue, so the store's watcher does not see them. Whoever
// makes one, the API or a command in a chat, makes it here.

// publish publishes an event, where there is a stream.
func (f filing) publish(e stream.Event) {
	if f.tell != nil {
		e.At = time.Now()
		f.tell(e)
	}
}

// Rename also tells who listens.
func (f filing) Rename(ctx context.Context, k channels.Key, title string) error {
	err := f.crashStore.Rename(ctx, k, title)
	if err == nil {
		f.publish(stream.Event{Event: stream.SessionChange, Key: k, Why: "title"})
	}
	return err
}

// Configure also tells who listens.
func (f filing) Configure(ctx context.Context, k channels.Key, change func(*sessions.Settings) error) error {
	err := f.crashStore.Configure(ctx, k, change)
	if err == nil {
		f.publish(stream.Event{Event: stream.SessionChange, Key: k, Why: "settings"})
	}
	return err
}

// RequestPairing also tells who listens.
func (f filing) RequestPairing(ctx context.Context, p sessions.Pairing, now time.Time, most int) (sessions.Pairing, bool, error) {
	kept, created, err := f.crashStore.RequestPairing(ctx, p, now, most)
	if err == nil && created {
		f.publish(stream.Event{Event: stream.PairingChange, Channel: p.Channel, Why: "asked"})
	}
	return kept, created, err
}

// ApprovePairing also tells who listens.
func (f filing) ApprovePairing(ctx context.Context, code string, now time.Time) (sessions.Pairing, error) {
	p, err := f.crashStore.ApprovePairing(ctx, code, now)
	if err == nil {
		f.publish(stream.Event{Event: stream.PairingChange, Channel: p.Channel, Why: "approved"})
	}
	return p, err
}

// ChangeNotes also tells who listens to what these notes are about.
func (f filing) ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error {
	var names []string // of the last try: a step may run several times
	err := f.crashStore.ChangeNotes(ctx, kind, owner, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		put, remove, err := change(have)
		names = slices.Clone(remove)
		for _, n := range put {
			names = append(names, n.Name)
		}
		return put, remove, err
	})
	if err == nil && len(names) > 0 {
		f.tellNotes(kind, owner, names)
	}
	return err
}

// ChangeAllNotes also tells who listens to what these notes are about.
func (f filing) ChangeAllNotes(ctx context.Context, kinds []string, change func(have []sessions.Note) (put, remove []sessions.Note, err error)) error {
	err := f.crashStore.ChangeAllNotes(ctx, kinds, change)
	for _, kind := range kinds {
		if err == nil {
			f.tellNotes(kind, "", nil)
		}
	}
	return err
}

// tellNotes tells that notes of a kind are other ones; without names, that several owners'
// are.
func (f filing) tellNotes(kind, owner string, names []string) {
	switch kind {
	case reminders.Kind:
		e := stream.Event{Event: stream.JobChange}
		for _, name := range names {
			if name != reminders.LastName {
				e.Job = owner + "/" + name
			}
		}
		f.publish(e)
	case pausedKind:
		f.publish(stream.Event{Event: stream.JobChange, Job: sessions.JobOf(owner)})
	case people.TokenKind:
		f.publish(stream.Event{Event: stream.TokenChange})
	case people.LinkKind:
		f.publish(stream.Event{Event: stream.PeopleChange})
	}
}

// RefusePairing also tells who listens.
func (f filing) RefusePairing(ctx context.Context, code string, now time.Time) (sessions.Pairing, error) {
	p, err := f.crashStore.RefusePairing(ctx, code, now)
	if err == nil {
		f.publish(stream.Event{Event: stream.PairingChange, Channel: p.Channel, Why: "refused"})
	}
	return p, err
}

// Remember also tells who listens.
func (f filing) Remember(ctx context.Context, scope string, n sessions.NewFact) (sessions.Kept, error) {
	kept, err := f.crashStore.Remember(ctx, scope, n)
	f.tellMemory(scope, err)
	return kept, err
}

// Forget also tells who listens.
func (f filing) Forget(ctx context.Context, scope string, id int64) error {
	err := f.crashStore.Forget(ctx, scope, id)
	f.tellMemory(scope, err)
	return err
}

// PinFact also tells who listens.
func (f filing) PinFact(ctx context.Context, scope string, id int64, pinned bool) error {
	err := f.crashStore.PinFact(ctx, scope, id, pinned)
	f.tellMemory(scope, err)
	return err
}

// UndoFacts also tells who listens.
func (f filing) UndoFacts(ctx context.Context, scope string, beside ...string) (sessions.UndoneFacts, error) {
	undone, err := f.crashStore.UndoFacts(ctx, scope, beside...)
	f.tellMemory(scope, err)
	return undone, err
}

// tellMemory tells that the memory of a chat or of a person is another one, unless err says
// that it is not. A person's is told to those who read their private chat.
func (f filing) tellMemory(scope string, err error) {
	_, of, _ := strings.Cut(sessions.SharedScope(scope), ":")
	k, unknown := channels.ParseKey(of)
	if err == nil && unknown == nil {
		f.publish(stream.Event{Event: stream.MemoryChange, Key: k})
	}
}

// Unpair also tells who listens.
func (f filing) Unpair(ctx context.Context, channel, person string) error {
	err := f.crashStore.Unpair(ctx, channel, person)
	if err == nil {
		f.publish(stream.Event{Event: stream.PairingChange, Channel: channel, Why: "removed"})
	}
	return err
}
