package gateway

import (
	"context"
	"time"

	"dragoman/internal/stream"
	"dragoman/sessions"
)

const (
	sweepEvery = 24 * time.Hour
	sweepFirst = time.Minute
	sweepBatch = 100
	// maxClockJump is how far the clock may be ahead of the last known time.
	maxClockJump = 48 * time.Hour
)

// sweep deletes, once a day until ctx ends, the conversations that were last
// updated Options.RetentionDays ago. After a failure it waits for the next day.
func (g *Gateway) sweep(ctx context.Context) {
	g.eachDay(ctx, "conversations", func() {
		n, err := g.expire(ctx)
		if n > 0 {
			g.opts.Logger.Info("old conversations deleted", "conversations", n, "days", g.opts.RetentionDays)
		}
		if err != nil && ctx.Err() == nil {
			g.opts.Logger.Error("old conversations could not be deleted; trying again in a day", "err", err)
		}
	})
}

// sweepNotes removes, once a day until ctx ends, the notes whose life is over. Several
// nodes may do so at once.
func (g *Gateway) sweepNotes(ctx context.Context) {
	g.eachDay(ctx, "notes", func() {
		n, err := g.removeNotes(ctx)
		if n > 0 {
			g.opts.Logger.Debug("notes removed whose life is over", "notes", n)
		}
		if err != nil && ctx.Err() == nil {
			g.opts.Logger.Error("old notes could not be removed; trying again in a day", "err", err)
		}
	})
}

func (g *Gateway) removeNotes(ctx context.Context) (n int, err error) {
	defer recoverTo(&err, "the sweep of old notes")
	return g.store.Sweep(ctx)
}

// eachDay calls remove once a day until ctx ends. It leaves a day out if the clock is far
// ahead of the day before or, on the first one, of the newest conversation: a wrong clock
// would delete everything. A clock that runs behind only deletes too little.
func (g *Gateway) eachDay(ctx context.Context, what string, remove func()) {
	known := g.lastUpdate(ctx)
	for wait := sweepFirst; sleep(ctx, wait); wait = sweepEvery {
		now := g.opts.Now()
		ahead := now.Sub(known)
		known = now
		if ahead > maxClockJump {
			g.opts.Logger.Info("the clock is days ahead of the last known time; if it still is in a day, what is old is deleted then", "what", what, "now", now.UTC())
			continue
		}
		remove()
	}
}

// lastUpdate is when the newest conversation was updated; now if there is none,
// zero if the store fails.
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

// expire deletes in small batches, so that no other writer waits long. The last
// batch, which is not full, also deletes the finished rows of keys without a
// conversation.
func (g *Gateway) expire(ctx context.Context) (n int, err error) {
	defer recoverTo(&err, "the sweep of old conversations")
	before := g.opts.Now().AddDate(0, 0, -g.opts.RetentionDays)
	for ctx.Err() == nil {
		keys, err := g.store.Expire(ctx, before, sweepBatch)
		for _, k := range keys {
			n++
			g.emit(stream.Event{Event: stream.SessionDelete, Key: k, Why: "expired"})
		}
		if err != nil || len(keys) < sweepBatch {
			return n, err
		}
	}
	return n, ctx.Err()
}
