package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"dragoman/internal/durable"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// batchMost is how many steps share a commit at most.
const batchMost = 256

var errBroken = errors.New("the disk failed, the state has to be read anew")

// op is one step on its way to the disk.
type op struct {
	run   func(rows.Reader) (rows.Changes, error)
	write bool        // commit it even if nothing changes
	taken atomic.Bool // by the batcher, or by a caller who gives up
	done  chan error  // holds the one answer
}

// batcher commits steps. Its goroutine reads the disk first; then it takes what
// is queued, does all of it under the store's lock, has the disk make it
// durable with one commit, and lets go of the lock: nobody sees what is not
// durable.
type batcher struct {
	b       *backend
	ops     chan *op // holds one batch; callers wait while it is full
	closing chan struct{}
	ended   chan struct{}
	once    sync.Once
}

func newBatcher(b *backend) *batcher {
	return &batcher{b: b, ops: make(chan *op, batchMost), closing: make(chan struct{}), ended: make(chan struct{})}
}

// do has o done and returns when that is durable or has failed. A caller whose
// ctx ends gets its error only if o will never be run.
func (b *batcher) do(ctx context.Context, o *op) error {
	o.done = make(chan error, 1)
	select {
	case <-b.closing:
		return errClosed
	default:
	}
	select {
	case b.ops <- o:
	case <-b.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		if !o.taken.Swap(true) {
			return ctx.Err()
		}
	case <-b.ended:
		if !o.taken.Swap(true) {
			return errClosed
		}
	}
	return <-o.done
}

func (b *batcher) close() {
	b.once.Do(func() { close(b.closing) })
	<-b.ended
}

func (b *batcher) run() {
	defer close(b.ended)
	if !b.b.begin() {
		return
	}
	batch := make([]*op, 0, batchMost)
	for {
		if batch = durable.Gather(b.ops, b.closing, batch); len(batch) == 0 {
			return
		}
		b.commit(batch)
		clear(batch)
	}
}

// commit does a batch and answers all callers.
func (b *batcher) commit(batch []*op) {
	batch = slices.DeleteFunc(batch, func(o *op) bool { return o.taken.Swap(true) })
	if len(batch) == 0 {
		return
	}
	for i, err := range b.b.together(batch) {
		batch[i].done <- err
	}
}

// together does a batch as one commit and says how each step ended. If the
// disk fails, all of them fail and the state is read anew.
func (b *backend) together(batch []*op) []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.fenced = nil }()
	errs := make([]error, len(batch))
	fail := func(err error) []error {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	if b.broken {
		if err := b.mend(); err != nil {
			return fail(err)
		}
	}
	var changes []Change
	var all applied
	for i, o := range batch {
		done, any, err, panicked := b.one(o)
		if errs[i] = err; panicked {
			b.broken = true // the step may be half done
			return fail(err)
		}
		if err != nil || !any {
			continue
		}
		changes = append(changes, done.Change)
		all.items, all.fenced = append(all.items, done.items...), append(all.fenced, done.fenced...)
		b.fenced = all.fenced
	}
	if len(changes) > 0 {
		if err := b.disk.Commit(changes); err != nil {
			b.broken = true
			return fail(err)
		}
	}
	b.work.Apply(all.items, all.fenced)
	return errs
}

// one runs o and makes its changes, if there are any. A panic becomes its error.
func (b *backend) one(o *op) (done applied, any bool, err error, panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			err, panicked = rules.Panic(p), true
		}
	}()
	changes, err := o.run(b.inside())
	if err != nil || changes.Empty() && !o.write {
		return done, false, err, false
	}
	done, err = b.apply(changes)
	return done, true, err, false
}
