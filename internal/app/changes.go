package app

import (
	"context"
	"time"

	"dragoman/channels"
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

// Unpair also tells who listens.
func (f filing) Unpair(ctx context.Context, channel, person string) error {
	err := f.crashStore.Unpair(ctx, channel, person)
	if err == nil {
		f.publish(stream.Event{Event: stream.PairingChange, Channel: channel, Why: "removed"})
	}
	return err
}
