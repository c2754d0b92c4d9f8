// Package memory is the reference backend: rows in plain maps and slices under
// one mutex. It keeps nothing on disk, so its promises end with the process, and
// it never fails for a reason of its own. Tests use it.
//
// The same rows are the part of the file store that is in memory: made by
// [Open] over a [Disk], the backend tells the disk what every step changed
// before anybody sees that it did, and keeps in memory only the conversations
// that are in use. Then it has one goroutine more than the dispatcher's, the one
// that reads the disk and then commits, which Close ends. Every method but Hold
// waits until the disk has been read; if it cannot be, all of them say so, Run
// among them.
package memory

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/durable"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
)

var (
	_ sessions.Store = (*Store)(nil)
	_ rows.Backend   = (*backend)(nil)
	_ rows.Scrubber  = (*backend)(nil)
)

// Options adjust a [Store]. The zero value works.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger is told about failing handlers. Nil discards.
	Logger *slog.Logger
	// Name is the package that errors are said to come from; "memory" if "".
	Name string
}

// Store is the engine over rows in memory. Make it with [New] or [Open].
type Store struct {
	*engine.Store
	b *backend
}

// New makes an empty store without a disk.
func New(o Options) *Store {
	b := newBackend(o)
	b.work = b.dispatcher(0)
	return b.store(o)
}

func (b *backend) store(o Options) *Store {
	return &Store{engine.New(b, cmp.Or(o.Name, "memory"), b.now), b}
}

// backend keeps rows in memory.
type backend struct {
	reader
	now    func() time.Time
	log    *slog.Logger
	work   *dispatch.Dispatcher
	leases dispatch.Leases
	disk   Disk               // nil: memory alone
	queue  *durable.Queue[op] // nil without a disk
	// begun is closed when the disk has been read, or could not be for the
	// reason beginErr. It is nil without a disk.
	begun    chan struct{}
	beginErr error
	// outside counts what goes on at the disk without the lock. Only what
	// finds the store open under the lock, or the batcher, adds to it.
	outside sync.WaitGroup
	fenced  []channels.Key // by steps of the batch that is on its way; under the lock

	mu     sync.Mutex
	closed bool
	broken bool // the disk failed: the state is to be read anew
	state
}

func newBackend(o Options) *backend {
	if o.Now == nil {
		o.Now = time.Now
	}
	b := &backend{now: o.Now, log: o.Logger, state: newState()}
	b.reader = reader{b, false}
	return b
}

func (b *backend) dispatcher(epoch int64) *dispatch.Dispatcher {
	return dispatch.New(dispatch.Options{Now: b.now, Logger: b.log, Epoch: epoch})
}

// Wait returns when the disk has been read, with the reason if it could not be.
func (s *Store) Wait(ctx context.Context) error { return s.b.wait(ctx) }

func (b *backend) wait(ctx context.Context) error {
	if b.begun == nil {
		return nil
	}
	select {
	case <-b.begun:
		return b.beginErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Update runs a step: see rows.Backend.
func (b *backend) Update(ctx context.Context, _ []channels.Key, f func(rows.Reader) (rows.Changes, error)) error {
	if err := b.wait(ctx); err != nil {
		return err
	}
	if b.queue != nil {
		return b.queue.Do(ctx, op{run: f})
	}
	return b.together([]op{{run: f}})[0]
}

// inside reads under the lock that is held.
func (b *backend) inside() reader { return reader{b, true} }

// read runs f under the lock.
func (b *backend) read(ctx context.Context, f func() error) error {
	err := ctx.Err()
	if err == nil {
		err = b.wait(ctx)
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err = b.ready(); err == nil {
		err = f()
	}
	return err
}

// ready says, under the lock, why there is nothing to read or to change.
func (b *backend) ready() error {
	switch {
	case b.closed:
		return durable.ErrClosed
	case b.broken:
		return b.mend()
	}
	return nil
}

// Run hands out work: see sessions.Work.
func (b *backend) Run(ctx context.Context, h sessions.Handler) error {
	// Without ctx: a second Run is refused also if the first came to nothing.
	if err := b.wait(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return b.work.Run(ctx, h)
}

// Live checks a claim: see rows.Backend.
func (b *backend) Live(c sessions.Claim) error { return b.work.Check(c) }

// claim is that of k as a step sees it. A fence of the batch that is on its way
// has not reached the dispatcher yet.
func (b *backend) claim(k channels.Key) int64 {
	if slices.Contains(b.fenced, k) {
		return 0
	}
	return b.work.Claim(k)
}

// Hold holds a lease: see sessions.Leases.
func (b *backend) Hold(ctx context.Context, name string, run func(context.Context) error) error {
	return b.leases.Hold(ctx, name, run)
}

// Stats counts the queues.
func (b *backend) Stats(ctx context.Context) (st sessions.Stats, err error) {
	err = b.read(ctx, func() error {
		st = b.work.Stats()
		for _, c := range b.chats {
			for _, o := range c.Out {
				if o.State == sessions.DeliveryDead {
					st.Dead++
				}
			}
		}
		st.Quarantined = len(b.like(rows.Record{Quarantined: &sessions.QuarantineRecord{}, Kept: true}))
		return nil
	})
	return st, err
}

// Check proves that the backend can write now: over a disk it writes something.
func (b *backend) Check(ctx context.Context) error {
	if b.queue == nil {
		return b.read(ctx, func() error { return nil })
	}
	if err := b.wait(ctx); err != nil {
		return err
	}
	return b.queue.Do(ctx, op{write: true, run: func(rows.Reader) (rows.Changes, error) { return rows.Changes{}, nil }})
}

// Close ends the backend. What is queued for the disk is done first, and what
// reads it comes to its end; the disk itself stays open, it is the caller's.
func (b *backend) Close() error {
	if b.queue != nil {
		b.queue.Close()
	}
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.outside.Wait()
	return nil
}

// Scrub removes what the disk still holds of what was deleted.
func (b *backend) Scrub(ctx context.Context, keys []channels.Key) error {
	if b.disk == nil {
		return nil
	}
	err := b.read(ctx, func() error {
		b.outside.Add(1)
		return nil
	})
	if err != nil {
		return err
	}
	defer b.outside.Done()
	return b.disk.Wipe(keys)
}

// Snapshot runs f on one moment: see rows.Backend.
func (b *backend) Snapshot(ctx context.Context, f func(rows.Reader) error) error {
	var then Moment
	if b.disk != nil {
		if err := b.wait(ctx); err != nil {
			return err
		}
		then = b.disk.Moment() // before the lock
		defer then.End()
	}
	frozen := &backend{now: b.now}
	err := b.read(ctx, func() error {
		frozen.state = b.freeze(then != nil)
		if then != nil {
			then.Take()
			frozen.disk = frozenDisk{b.disk, then}
		}
		b.outside.Add(1) // as the last: only who sees no error takes it back
		return nil
	})
	if err != nil {
		return err
	}
	defer b.outside.Done()
	return f(frozen.inside())
}

// frozenDisk is a disk as it was.
type frozenDisk struct {
	Disk
	then Moment
}

// Content is that of the moment.
func (d frozenDisk) Content(k channels.Key, _ bool) (Content, error) { return d.then.Content(k) }
