package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"dragoman/channels"
	"dragoman/internal/durable"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// batchMost is how many steps share a commit at most.
const batchMost = 256

var errBroken = errors.New("the disk failed, the state has to be read anew")

// op is one step on its way to the disk.
type op struct {
	run   func(*change) error
	after bool        // the caller goes on with the disk when it is done
	taken atomic.Bool // by the batcher, or by a caller who gives up
	done  chan error  // holds the one answer
}

// batcher commits steps. Its goroutine reads the disk first; then it takes what
// is queued, does all of it under the store's lock, has the disk make it
// durable with one commit, and lets go of the lock: nobody sees what is not
// durable.
type batcher struct {
	s       *Store
	ops     chan *op // holds one batch; callers wait while it is full
	closing chan struct{}
	ended   chan struct{}
	once    sync.Once
}

func newBatcher(s *Store) *batcher {
	return &batcher{s: s, ops: make(chan *op, batchMost), closing: make(chan struct{}), ended: make(chan struct{})}
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
	if !b.s.begin() {
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
	errs := b.s.together(batch)
	for i, o := range batch {
		if errs[i] == nil && o.after {
			b.s.outside.Add(1)
		}
		o.done <- errs[i]
	}
}

// together does a batch as one commit and says how each step ended. If the
// disk fails, all of them fail and the state is read anew.
func (s *Store) together(batch []*op) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(batch))
	fail := func(err error) []error {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	if s.broken {
		if err := s.mend(); err != nil {
			return fail(err)
		}
	}
	var changes []Change
	var items []dispatch.Item
	var fenced []channels.Key
	for i, o := range batch {
		ch := &change{now: s.now(), fencedBefore: fenced}
		var panicked bool
		if errs[i], panicked = guard(o, ch); panicked {
			s.broken = true // the step may be half done
			return fail(errs[i])
		}
		if errs[i] != nil {
			continue
		}
		s.rank(ch)
		if c, any := ch.export(s); any {
			changes = append(changes, c)
		}
		items, fenced = append(items, ch.items...), append(fenced, ch.fenced...)
	}
	if len(changes) > 0 {
		if err := s.disk.Commit(changes); err != nil {
			s.broken = true
			return fail(err)
		}
	}
	s.work.Apply(items, fenced)
	return errs
}

// guard runs o and turns a panic into its error.
func guard(o *op, ch *change) (err error, panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			err, panicked = rules.Panic(p), true
		}
	}()
	return o.run(ch), false
}
