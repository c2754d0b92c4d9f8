package durable

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// ErrClosed is returned by Do after Close.
var ErrClosed = errors.New("the store is closed")

// Queue passes operations to one goroutine, which commits all that are queued at one time
// together. Make it with [NewQueue].
type Queue[T any] struct {
	ops     chan *queued[T] // holds one batch; callers wait while it is full
	closing chan struct{}
	ended   chan struct{} // closed when Run has returned
	once    sync.Once
}

// queued is an operation and where its caller waits for the result.
type queued[T any] struct {
	op    T
	taken atomic.Bool // by Run, or by a caller who gives up
	done  chan error  // has room for the result
}

// NewQueue makes a queue whose batches have at most that many operations.
func NewQueue[T any](most int) *Queue[T] {
	return &Queue[T]{ops: make(chan *queued[T], most), closing: make(chan struct{}), ended: make(chan struct{})}
}

// Len counts the queued operations.
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

// Do queues op and returns its result. A caller whose ctx ends gets that error only if op
// will never run.
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
		// Run has ended; this one was queued too late for it.
		if !o.taken.Swap(true) {
			return ErrClosed
		}
	}
	return <-o.done
}

// Run passes batches to commit, which returns the result of each operation. It returns
// after Close, when the queue is empty.
func (q *Queue[T]) Run(commit func([]T) []error) {
	defer close(q.ended)
	batch := make([]*queued[T], 0, cap(q.ops))
	ops := make([]T, 0, cap(q.ops))
	for {
		batch = gather(q.ops, q.closing, batch)
		if len(batch) == 0 {
			return
		}
		live := batch[:0] // those whose callers still wait
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

// gather waits for an operation and takes what else is queued, up to the capacity of batch.
// Before that it lets other goroutines run that can, so that their operations share the
// commit. After closing is closed it does not wait, and returns nothing when nothing is left.
func gather[T any](ops <-chan T, closing <-chan struct{}, batch []T) []T {
	batch = batch[:0]
	select {
	case o := <-ops:
		batch = append(batch, o)
	case <-closing:
	}
	runtime.Gosched()
	for len(batch) < cap(batch) {
		select {
		case o := <-ops:
			batch = append(batch, o)
		default:
			return batch
		}
	}
	return batch
}

// Close makes Do refuse operations from now on, and waits until Run has returned.
func (q *Queue[T]) Close() {
	q.once.Do(func() { close(q.closing) })
	<-q.ended
}
