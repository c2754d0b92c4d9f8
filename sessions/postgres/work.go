package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
)

const (
	// workers is how many keys one node works on at once. The gateway has a lower
	// limit.
	workers = 2000
	// dueEvery is how often a node polls for due keys. It also does so at each due
	// time that it knows.
	dueEvery = time.Second
	// maxDue is how many keys it wakes at once.
	maxDue = 200
)

// running is the one call of Run.
type running struct {
	b       *backend
	ctx     context.Context //nolint:containedctx // River calls back without it
	handler sessions.Handler
	kick    chan struct{} // makes wakeLoop look at once
	left    chan struct{} // closed by Leave
	stop    context.CancelFunc
	ended   chan struct{}  // closed when Run returns
	local   sync.WaitGroup // keys claimed without River, and reservations for more
	closed  bool           // no more reservations; guarded by backend.mu
	stuck   atomic.Bool    // conversations cannot be handed on, and the log says so
}

// Run works on keys until ctx ends: see rows.Backend.
func (b *backend) Run(ctx context.Context, h sessions.Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run := &running{b: b, ctx: ctx, handler: h, kick: make(chan struct{}, 1), left: make(chan struct{}), stop: cancel, ended: make(chan struct{})}
	b.mu.Lock()
	again := b.run != nil
	if !again {
		b.run = run
	}
	b.mu.Unlock()
	if again {
		return errors.New("called a second time")
	}
	defer close(run.ended)
	if err := b.join(ctx); err != nil {
		return err
	}
	outside := context.WithoutCancel(ctx)
	if err := b.river.Start(outside); err != nil {
		return err
	}
	var looking sync.WaitGroup
	looking.Go(func() { run.wakeLoop() })
	looking.Go(func() {
		select {
		case <-run.left:
			_ = b.river.Stop(ctx) // it fetches no more jobs; StopAndCancel below ends it
		case <-ctx.Done():
		}
	})
	var err error
	select {
	case <-ctx.Done():
	case <-b.node.lost.Done():
		err = errLost
		// The node is lost, so do not wait long for River's orderly end.
		var done context.CancelFunc
		outside, done = context.WithTimeout(outside, b.TTL/4)
		defer done()
	}
	cancel()
	looking.Wait()
	err = errors.Join(err, b.river.StopAndCancel(outside))
	b.mu.Lock()
	run.closed = true
	b.mu.Unlock()
	run.local.Wait()
	return err
}

// wakeLoop wakes due keys until Run ends.
func (r *running) wakeLoop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.kick:
		case <-timer.C:
		}
		pause := dueEvery
		next, err := r.b.wakeDue(r.ctx)
		switch {
		case err != nil && r.ctx.Err() == nil:
			r.b.Logger.Warn("could not look for conversations that are due; will try again", "err", r.b.explain(err))
		case !next.IsZero():
			pause = min(max(next.Sub(r.b.Now()), 0), dueEvery)
		}
		timer.Reset(pause)
	}
}

// wakeDue wakes keys that are due, and returns when the next one is; zero: none.
func (b *backend) wakeDue(ctx context.Context) (next time.Time, err error) {
	now := b.Now()
	err = b.change(ctx, nil, func(ctx context.Context, t *tx) (func(), error) {
		n, err := batchOne(ctx, t, pgx.RowTo[int], `WITH u AS (UPDATE keys SET wake = nextval('epochs')
			WHERE id IN (SELECT id FROM keys WHERE due <= $1 AND wake = 0 ORDER BY due LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id AS key, wake, live), `+jobQuery+` SELECT count(*) FROM u`, nanos(now), maxDue)
		if err != nil {
			return nil, err
		}
		if n == maxDue {
			next = now // there may be more
		} else if at, err := value[*int64](ctx, t, `SELECT min(due) FROM keys WHERE due > $1 AND wake = 0`, nanos(now)); err != nil {
			return nil, err
		} else if at != nil {
			next = timeOf(*at)
		}
		if n == 0 {
			return nil, nil
		}
		t.woken = true
		return func() {}, nil
	})
	return next, err
}

// work claims the key of a job, unless the job is an old one, and calls the handler
// until the key has no work left. mine, if not nil, is the claim that came with the job.
func (r *running) work(job wakeUp, mine *claim) (err error) {
	b := r.b
	b.mu.Lock()
	b.working[job.Wake] = true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.working, job.Wake)
	}()
	var failed error
	for {
		last := mine
		if last != nil {
			failed = dispatch.Call(last.ctx, r.handler, last.Claim)
			if failed == nil && r.release(last) {
				return nil
			}
		}
		for {
			if mine, err = r.nextClaim(job, last, failed); err == nil {
				r.stuck.Store(false)
				break
			}
			// Until this is written or the node is dead, no other node can claim the key.
			level := slog.LevelDebug // one warning for all keys
			if !r.stuck.Swap(true) {
				level = slog.LevelWarn
			}
			b.Logger.Log(r.ctx, level, "could not hand a conversation on; will try again, as with others", "err", b.explain(err))
			channels.Sleep(b.node.lost, time.Second)
			if b.node.lost.Err() != nil {
				return err
			}
		}
		if mine == nil {
			return nil
		}
	}
}
