package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
)

const (
	// workers is how many keys one node works on at once. The gateway has its own
	// bound.
	workers = 2000
	// dueEvery is how often a node looks for keys whose time has come, beside the
	// times that it knows of.
	dueEvery = time.Second
	// dueMost is how many keys it wakes at once.
	dueMost = 200
)

// wakeUp is the job by which River hands out a key. It names the key by a number,
// since River keeps its jobs for a while.
type wakeUp struct {
	Key  int64 `json:"key"`
	Wake int64 `json:"wake"` // its number
}

// Kind is how River calls it.
func (wakeUp) Kind() string { return "wake_up" }

// worker works on wake-ups.
type worker struct {
	river.WorkerDefaults[wakeUp]
	b *backend
}

// Timeout is none: a dead node's jobs are handed out again by its peers, and a
// turn may take long.
func (worker) Timeout(*river.Job[wakeUp]) time.Duration { return -1 }

// Work never fails: what is left to do is in the row of the key.
func (w *worker) Work(_ context.Context, job *river.Job[wakeUp]) error {
	w.b.mu.Lock()
	run := w.b.run
	w.b.mu.Unlock()
	return run.work(job.Args, nil, nil)
}

func (b *backend) newRiver(cooldown time.Duration) (*river.Client[pgx.Tx], error) {
	all := river.NewWorkers()
	river.AddWorker(all, &worker{b: b})
	return river.NewClient(driver{riverpgxv5.New(b.pool), b.jobsCame}, &river.Config{
		ID: b.id, Logger: b.quiet(), Workers: all, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		FetchCooldown: cooldown, FetchPollInterval: pollEvery, CompletedJobRetentionPeriod: time.Minute, CancelledJobRetentionPeriod: time.Minute,
	})
}

// quiet is the logger for River, which is told of what goes wrong.
func (b *backend) quiet() *slog.Logger { return slog.New(warnings{b.log.Handler()}) }

// warnings leaves out what is less than a warning.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

// claim is one of this process.
type claim struct {
	sessions.Claim
	began, version int64 // of the row when it began, and as this process knows it
	known          *known
	cancel         context.CancelCauseFunc
}

// running is the one Run of a backend.
type running struct {
	b       *backend
	ctx     context.Context //nolint:containedctx // River calls back without it
	handler sessions.Handler
	kick    chan struct{} // has the loop look at once
	left    chan struct{} // closed by Leave
	stop    context.CancelFunc
	ended   chan struct{}  // closed when Run returns
	own     sync.WaitGroup // keys that River knows nothing of, and who may begin with one
	over    bool           // nobody may; under the lock of b
}

// Run is sessions.Work's.
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
	if err := errors.Join(b.join(ctx), b.findTakers(ctx)); err != nil {
		return err
	}
	outside := context.WithoutCancel(ctx)
	if err := b.river.Start(outside); err != nil {
		return err
	}
	var looking sync.WaitGroup
	looking.Go(func() { run.look() })
	looking.Go(func() {
		select {
		case <-run.left:
			_ = b.river.Stop(ctx) // it takes no more; what ends it is below
		case <-ctx.Done():
		}
	})
	var err error
	select {
	case <-ctx.Done():
	case <-b.node.lost:
		err = errLost
		// What River does to end in order is in vain.
		var done context.CancelFunc
		outside, done = context.WithTimeout(outside, b.ttl/4)
		defer done()
	}
	cancel()
	looking.Wait()
	err = errors.Join(err, b.river.StopAndCancel(outside))
	b.mu.Lock()
	run.over = true
	b.mu.Unlock()
	run.own.Wait()
	return err
}

// look wakes keys whose time has come, until Run ends.
func (r *running) look() {
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
			r.b.log.Warn("could not look for conversations that are due; will try again", "err", err)
		case !next.IsZero():
			pause = min(max(next.Sub(r.b.now()), 0), dueEvery)
		}
		timer.Reset(pause)
	}
}

// wakeDue wakes keys whose time has come, and returns when that of the next one
// comes, if there is one.
func (b *backend) wakeDue(ctx context.Context) (next time.Time, err error) {
	now := b.now()
	err = b.change(ctx, nil, func(ctx context.Context, t *tx) (func(), error) {
		n, err := ask(ctx, t, pgx.RowTo[int], `WITH u AS (UPDATE keys SET wake = nextval('epochs')
			WHERE id IN (SELECT id FROM keys WHERE due <= $1 AND wake = 0 ORDER BY due LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id AS key, wake, live), `+jobQuery+` SELECT count(*) FROM u`, nanos(now), dueMost)
		if err != nil {
			return nil, err
		}
		if n == dueMost {
			next = now // there are more
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

// changed is told of each commit: whose claims it ended, and when it left
// something to do, if that is later.
func (b *backend) changed(t *tx, fenced []channels.Key, due time.Time) {
	for _, k := range fenced {
		b.fence(k, t.keys[k].live)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, version := range t.saved {
		if c := b.claims[k]; c != nil {
			c.version = max(c.version, version)
		}
	}
	if b.run != nil && !due.IsZero() {
		select {
		case b.run.kick <- struct{}{}:
		default: // it looks soon
		}
	}
}

// fence ends a claim, if this process has it.
func (b *backend) fence(k channels.Key, epoch int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.claims[k]; c != nil && c.Epoch == epoch {
		delete(b.claims, k)
		c.cancel(sessions.ErrFenced)
	}
}

// claimed are the keys that this process has claimed.
func (b *backend) claimed() []channels.Key {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.claims))
}

// Live checks a claim of this process. What another node fenced is refused when
// it is written, if its notice was not there before.
func (b *backend) Live(c sessions.Claim) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if mine := b.claims[c.Key]; mine == nil || mine.Epoch != c.Epoch {
		return sessions.ErrFenced
	}
	return nil
}

// work claims the key of a job, unless that is done, and calls the handler as long
// as there is something to do.
func (r *running) work(job wakeUp, mine *claim, hctx context.Context) (err error) {
	b := r.b
	b.mu.Lock()
	b.at[job.Wake] = true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.at, job.Wake)
	}()
	var failed error
	for {
		last := mine
		if last != nil {
			if failed = dispatch.Call(hctx, r.handler, last.Claim); failed == nil && r.letGo(job, last) {
				return nil
			}
		}
		for {
			if mine, hctx, err = r.turn(job, last, failed); err == nil {
				break
			}
			// Nobody else may begin before this is written, or the node is dead.
			b.log.Warn("could not hand a conversation on; will try again", "err", err)
			if !r.wait(time.Second) {
				return err
			}
		}
		if mine == nil {
			return nil
		}
	}
}

// wait pauses, unless the node is lost.
func (r *running) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.b.node.lost:
		return false
	}
}

// letGo ends a claim whose handler succeeded, if nothing is left to do. It sees
// every change of the key: one that came after those of this process has given the
// row another version.
func (r *running) letGo(job wakeUp, last *claim) bool {
	b := r.b
	b.mu.Lock()
	version := last.version
	b.mu.Unlock()
	if version == last.began || b.fault != nil && b.fault() != nil {
		return false
	}
	tag, err := b.pool.Exec(context.WithoutCancel(r.ctx), `UPDATE keys k SET live = 0, node = '', wake = 0, rest = 0, failures = 0, due = NULL
		WHERE id = $1 AND wake = $2 AND live = $3 AND version = $4 AND (`+dueQuery+`) IS NULL`, job.Key, job.Wake, last.Epoch, version)
	if err != nil || tag.RowsAffected() == 0 {
		return false
	}
	b.forget(last)
	return true
}

// turn ends the claim before, if there was one, which ended with an error or
// nil, and begins the next one, if the key has something to do now. If not, the
// wake-up is over: all in one transaction, under the lock of the key.
func (r *running) turn(job wakeUp, last *claim, failed error) (next *claim, hctx context.Context, err error) {
	err = r.b.change(context.WithoutCancel(r.ctx), nil, func(ctx context.Context, t *tx) (func(), error) {
		r.b.forget(next) // of a try that failed
		next = nil
		var row *keyRow
		t.queue(`SELECT `+keyColumns+` FROM keys WHERE id = $1 FOR UPDATE`, job.Key).Query(func(list pgx.Rows) (err error) {
			row, err = pgx.CollectOneRow(list, scanKey)
			return err
		})
		// A statement sees what was committed before it: this one begins under the lock.
		due, err := ask(ctx, t, pgx.RowTo[*int64], `SELECT due FROM (`+nextQuery+`) n`, job.Key)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && row.wake != job.Wake {
			r.b.forget(last)
			return nil, nil // an old one
		}
		if err != nil {
			return nil, err
		}
		row.due = due
		s, epoch := r.judge(row, last, failed), int64(0)
		if s.now {
			// A node that was frozen may have taken a job before it finds out.
			epoch, err = value[int64](ctx, t, `UPDATE keys SET live = nextval('epochs'), node = $2, rest = 0, failures = $3
				WHERE id = $1 AND EXISTS (SELECT 1 FROM nodes WHERE id = $2 AND expires > clock_timestamp()) RETURNING live`, row.id, r.b.id, s.failures)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return nil, err
			}
		}
		if epoch != 0 {
			next, hctx = r.b.begin(r.ctx, sessions.Claim{Key: row.head.Key, Epoch: epoch}, row.version)
			return func() { r.b.forget(last) }, nil
		}
		var later time.Time
		if row.due != nil {
			*row.due = max(*row.due, s.rest)
			later = timeOf(max(*row.due, 0))
		}
		t.queue(`UPDATE keys SET live = 0, node = '', wake = 0, rest = $2, failures = $3, due = $4 WHERE id = $1`, row.id, s.rest, s.failures, row.due)
		return func() {
			r.b.forget(last)
			r.b.changed(t, nil, later)
		}, nil
	})
	if err != nil {
		r.b.forget(next)
		return nil, nil, err
	}
	return next, hctx, nil
}

// verdict is what comes of a key when its claim ends.
type verdict struct {
	now            bool // it is claimed again
	rest, failures int64
}

// judge decides whether a key is claimed now, or rests because its handler
// failed. A fence begins afresh.
func (r *running) judge(row *keyRow, last *claim, failed error) verdict {
	now := r.b.now()
	due := row.due != nil && *row.due <= nanos(now)
	select {
	case <-r.left: // another node
		return verdict{false, row.rest, row.failures}
	case <-r.ctx.Done(): // the same, or the next life
		return verdict{false, row.rest, row.failures}
	default:
	}
	if last == nil || row.live != last.Epoch {
		return verdict{due, 0, row.failures}
	}
	if failed == nil && due && row.version == last.began {
		failed = errors.New("the handler returned with work left and nothing done")
	}
	if failed == nil {
		return verdict{due, 0, 0}
	}
	pause := dispatch.Backoff(int(row.failures) + 1)
	r.b.log.Warn("work on a conversation failed; will try again", "key", row.head.Key.String(), "attempt", row.failures+1, "pause", pause, "err", failed)
	return verdict{false, nanos(now.Add(pause)), row.failures + 1}
}

// begin notes a claim of this process before it is committed: a fence may come
// right after.
func (b *backend) begin(ctx context.Context, c sessions.Claim, version int64) (*claim, context.Context) {
	hctx, cancel := context.WithCancelCause(ctx)
	mine := &claim{Claim: c, began: version, version: version, cancel: cancel}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claims[c.Key] = mine
	return mine, hctx
}

// forget ends a claim of this process.
func (b *backend) forget(c *claim) {
	if c == nil {
		return
	}
	c.cancel(nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.claims[c.Key] == c {
		delete(b.claims, c.Key)
	}
}

var errLost = fmt.Errorf("%w: this node could not renew its row in time; its work is another's now", sessions.ErrFenced)
