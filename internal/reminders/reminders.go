// Package reminders keeps what people asked to be reminded of: it makes, lists, changes,
// cancels and puts off reminders and jobs that were made by talking.
//
// The promise: a reminder that was said back is on the disk, and is due when it was said to
// be. A number such as r7 never means another reminder. Whoever asks sees and changes only
// what they may: their own and, as an approver of a chat, those of that chat.
//
// A reminder is a note of its maker's identity; those of one person's identities are listed
// and changed together (see docs/decisions/0031-reminders.md). Each method is
// one durable step, so two calls at once do not undo each other, on whatever nodes.
//
// What happens when something does not go as planned:
//
//	the network does not vouch for who asks   refused; nothing could be theirs
//	a time that is over, a rule without days  refused, with what time it is
//	too many of a person                      refused, in the step that would add one
//	too many of a chat                        refused; makers at the same moment may pass the limit by one each
//	a number that two accounts of a person have  it means that of the account from which they ask
//	the zone of a person is not known         the configuration's counts, and each answer says so; they are asked once
//	no such number, or somebody else's        both are told as "no reminder r7 here"
//	a note that cannot be read                it is listed as broken and can be cancelled
//	the store fails                           the store's error; nothing has changed
//
// Errors of type [heartbeat.Refusal] are sentences for whoever asked. The package starts no
// goroutines, and a [Book] is safe for concurrent use.
package reminders

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/sessions"
)

// Kind is the kind of the notes that reminders are.
const Kind = "reminder"

// Limits of reminders.
const (
	MaxPerson = 50
	MaxChat   = 200
	// maxText is how long a text or a prompt may be, in bytes.
	maxText = 4000
	// minPrompt is the shortest time between two runs of a prompt.
	minPrompt = time.Hour
)

// Store keeps notes: sessions/engine.Store is one.
type Store interface {
	Notes(ctx context.Context, f sessions.NoteFilter) ([]sessions.Note, error)
	ChangeNotes(ctx context.Context, kind, owner string, change func(have []sessions.Note) (put []sessions.Note, remove []string, err error)) error
}

// Options tune a [Book]. The zero value works.
type Options struct {
	// Now is the wall clock. Default [time.Now].
	Now func() time.Time
	// Zone is the zone of people who have not said theirs. Default [time.Local].
	Zone *time.Location
	// Approves reports whether who may change what others made in a shared chat. Default:
	// no one may.
	Approves func(ctx context.Context, k channels.Key, who channels.Person) bool
	// Together returns the identities of the person that one belongs to, itself first.
	// Default: each identity is a person.
	Together func(ctx context.Context, identity string) ([]string, error)
	// Spell writes the commands in text as people type them on the network of k: "!jobs" on
	// IRC. Models repeat to people what they read. Default: as they are.
	Spell func(k channels.Key, text string) string
}

// Book is the reminders of a store.
type Book struct {
	store Store
	o     Options
	wake  chan struct{} // capacity 1: something is due at another time
}

// New makes a book over a store.
func New(store Store, o Options) *Book {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Approves == nil {
		o.Approves = func(context.Context, channels.Key, channels.Person) bool { return false }
	}
	if o.Together == nil {
		o.Together = func(_ context.Context, identity string) ([]string, error) { return []string{identity}, nil }
	}
	if o.Spell == nil {
		o.Spell = func(_ channels.Key, text string) string { return text }
	}
	o.Zone = cmp.Or(o.Zone, time.Local)
	return &Book{store: store, o: o, wake: make(chan struct{}, 1)}
}

// changed tells a [Runner] of this book that something is due at another time.
func (b *Book) changed() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func refuse(format string, args ...any) error {
	return heartbeat.Refusal(fmt.Sprintf(format, args...))
}

// Asker is who asks, and where.
type Asker struct {
	Key     channels.Key
	Person  channels.Person
	Private bool
	// Model: a model asks for them, and reads what is said.
	Model bool
	// Taint is whose words led to what they ask, beside their own.
	Taint []sessions.Origin
}

// owner is whose notes a has.
func (a Asker) owner() (string, error) {
	switch {
	case a.Key.IsZero():
		return "", refuse("there are no reminders outside of a conversation")
	case a.Person.ID() == "":
		return "", refuse("the network does not vouch for who this person is, so a reminder would be nobody's")
	}
	return sessions.Sender{Channel: a.Key.Channel(), ID: a.Person.ID()}.Owner(), nil
}
