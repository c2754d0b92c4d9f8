package durable

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// ErrClosed is what Do returns once the queue is closed.
var ErrClosed = errors.New("the store is closed")

// Queue hands operations to the one goroutine that commits, which does together
// what is queued at one time. Make it with [NewQueue].
type Queue[T any] struct {
	ops     chan *queued[T] // holds one batch; callers wait while it is full
	closing chan struct{}
	ended   chan struct{} // closed when Run has returned
	once    sync.Once
}

type queued[T any] struct {
	op    T
	taken atomic.Bool // by Run, or by a caller who gives up
	done  chan error  // holds the one answer
}

// NewQueue is a queue whose batches have at most that many operations.
func NewQueue[T any](most int) *Queue[T] {
	return &Queue[T]{ops: make(chan *queued[T], most), closing: make(chan struct{}), ended: make(chan struct{})}
}

// Len is how many operations wait.
func (q *Queue[T]) Len() int { return len(q.ops) }

// Closed reports whether Close was called.
func (q *Queue[T]) Closed() bool {
	select {
	case <-q.closing:
		return true
	default:
		return false
	}
}

// Do has op done and returns how that ended. A caller whose ctx ends gets its
// error only if op will never be done.
func (q *Queue[T]) Do(ctx context.Context, op T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if q.Closed() {
		return ErrClosed
	}
	o := &queued[T]{op: op, done: make(chan error, 1)}
	select {
	case q.ops <- o:
	case <-q.closing:
		return ErrClosed
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
	case <-q.ended:
		// Run took what was queued before it ended; this one came later.
		if !o.taken.Swap(true) {
			return ErrClosed
		}
	}
	return <-o.done
}

// Run hands batches to commit, which says how each operation ended, until Close
// was called and nothing waits.
func (q *Queue[T]) Run(commit func([]T) []error) {
	defer close(q.ended)
	batch := make([]*queued[T], 0, cap(q.ops))
	ops := make([]T, 0, cap(q.ops))
	for {
		if batch = Gather(q.ops, q.closing, batch); len(batch) == 0 {
			return
		}
		live := batch[:0] // those for which somebody waits still
		for _, o := range batch {
			if !o.taken.Swap(true) {
				live, ops = append(live, o), append(ops, o.op)
			}
		}
		if len(live) > 0 {
			for i, err := range commit(ops) {
				live[i].done <- err
			}
		}
		clear(batch)
		clear(ops)
		ops = ops[:0]
	}
}

// Close has Do refuse what comes from now on, and waits until Run has returned.
func (q *Queue[T]) Close() {
	q.once.Do(func() { close(q.closing) })
	<-q.ended
}
