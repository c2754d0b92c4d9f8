package gateway

import (
	"context"
	"time"

	"dragoman/internal/event"
	"dragoman/sessions"
)

const (
	sweepEvery = 24 * time.Hour
	// sweepFirst lets a start catch up with its messages before old
	// conversations are looked for.
	sweepFirst = time.Minute
	sweepBatch = 100
	// sweepTrust is how far a clock may be ahead of what is known of it.
	sweepTrust = 48 * time.Hour
)

// sweep deletes once a day what was last updated Options.RetentionDays ago,
// until ctx ends. A failure waits for the next day. So does a clock that is far
// ahead of the last sweep, and in the first one of the newest conversation: it
// may be wrong, and would take all there is. One that is behind takes too little.
func (g *Gateway) sweep(ctx context.Context) {
	known := g.lastUpdate(ctx)
	for wait := sweepFirst; sleep(ctx, wait); wait = sweepEvery {
		now := g.opts.Now()
		ahead := now.Sub(known)
		if known = now; ahead > sweepTrust {
			g.opts.Logger.Info("the clock is days ahead of the last known time; if it still is in a day, old conversations are deleted then", "now", now.UTC())
			continue
		}
		n, err := g.expire(ctx)
		if n > 0 {
			g.opts.Logger.Info("old conversations deleted", "conversations", n, "days", g.opts.RetentionDays)
		}
		if err != nil && ctx.Err() == nil {
			g.opts.Logger.Error("old conversations could not be deleted; trying again in a day", "err", err)
		}
	}
}

// lastUpdate is when the newest conversation was updated; now if there is none,
// zero if that cannot be known.
func (g *Gateway) lastUpdate(ctx context.Context) time.Time {
	list, err := g.store.Find(ctx, sessions.Query{Limit: 1})
	switch {
	case err != nil:
		return time.Time{}
	case len(list) == 0:
		return g.opts.Now()
	}
	return list[0].Updated
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
