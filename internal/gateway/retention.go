package gateway

import (
	"context"
	"time"

	"dragoman/internal/event"
)

const (
	sweepEvery = 24 * time.Hour
	// sweepFirst lets a start catch up with its messages before old
	// conversations are looked for.
	sweepFirst = time.Minute
	sweepBatch = 100
)

// sweep deletes once a day what was last updated Options.RetentionDays ago,
// until ctx ends. A failure waits for the next day.
func (g *Gateway) sweep(ctx context.Context) {
	for wait := sweepFirst; sleep(ctx, wait); wait = sweepEvery {
		n, err := g.expire(ctx)
		if n > 0 {
			g.opts.Logger.Info("old conversations deleted", "conversations", n, "days", g.opts.RetentionDays)
		}
		if err != nil && ctx.Err() == nil {
			g.opts.Logger.Error("old conversations could not be deleted; trying again in a day", "err", err)
		}
	}
}

// expire deletes in small batches, so that nobody waits long for the store. The
// last of them, which is not full, also ends what has no conversation.
func (g *Gateway) expire(ctx context.Context) (n int, err error) {
	defer recoverTo(&err, "the sweep of old conversations")
	before := g.opts.Now().AddDate(0, 0, -g.opts.RetentionDays)
	for ctx.Err() == nil {
		keys, err := g.store.Expire(ctx, before, sweepBatch)
		for _, k := range keys {
			n++
			g.emit(event.Event{Event: event.SessionDelete, Key: k, Why: "expired"})
		}
		if err != nil || len(keys) < sweepBatch {
			return n, err
		}
	}
	return n, ctx.Err()
}
