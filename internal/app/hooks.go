package app

import (
	"context"
	"time"

	"dragoman/internal/hooks"
	"dragoman/sessions"
)

// lettersEvery is how often a node looks for events that others have stored for a hook.
const lettersEvery = 5 * time.Second

// openHooks makes the hooks of the configuration. Nothing starts.
func (d *Daemon) openHooks() {
	o := hooks.Options{Store: d.store, Hold: countedLeases{d.store, d.metrics}.Hold, Count: d.metrics.Hook, Logger: d.log}
	if d.peers != nil {
		o.Look = lettersEvery
	}
	d.hooks = hooks.New(hooksOf(d.cfg), o)
}

// queue is what the operator sees of inbox, outbox, quarantine, and of the events on their
// way to hooks.
type queue struct {
	filing
	hooks *hooks.Hooks
}

// ListQueue lists the entries of the store, then those for hooks.
func (q queue) ListQueue(ctx context.Context, limit int) ([]sessions.QueueItem, error) {
	items, err := q.filing.ListQueue(ctx, limit)
	if err != nil {
		return nil, err
	}
	letters, err := q.hooks.List(ctx)
	return append(items, letters...), err
}

// ShowQueue returns one entry.
func (q queue) ShowQueue(ctx context.Context, id string) (sessions.QueueItem, error) {
	if hooks.Owns(id) {
		return q.hooks.Show(ctx, id)
	}
	return q.filing.ShowQueue(ctx, id)
}

// RetryQueue tries an entry again now.
func (q queue) RetryQueue(ctx context.Context, id string) error {
	if hooks.Owns(id) {
		return q.hooks.Retry(ctx, id)
	}
	return q.filing.RetryQueue(ctx, id)
}

// DropQueue gives an entry up.
func (q queue) DropQueue(ctx context.Context, id string) error {
	if hooks.Owns(id) {
		return q.hooks.Drop(ctx, id)
	}
	return q.filing.DropQueue(ctx, id)
}
