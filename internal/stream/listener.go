package stream

import (
	"context"
	"errors"
	"sync"
)

// How far a listener may lag before it is cut off. One event always fits, or a long
// answer that comes as one piece could never be shown.
const (
	maxQueued      = 512
	maxQueuedBytes = 4 << 20
)

// maxOpen is how many deliveries without a final state a cursor lists.
const maxOpen = 64

// ErrSlow: the listener read too slowly and was cut off. It comes back with the cursor
// of the last event that it has handled.
var ErrSlow = errors.New("stream: read too slowly")

// ErrClosed: the listener was closed.
var ErrClosed = errors.New("stream: closed")

// Listener is one who listens. Next has one caller at a time; Close any.
type Listener struct {
	hub    *Hub
	filter Filter
	wake   chan struct{} // capacity 1: the queue is not empty, or it is over

	mu     sync.Mutex
	queue  []queued
	queued int // bytes
	over   error
	// last, open and lost are of the newest event in the queue: see cursor.
	last cursor
	open map[Ref]bool
	lost bool
}

// queued is an event on its way to a listener. number is that of the hub when it came.
type queued struct {
	number int64
	event  Event
}

// Delivered is an event as a listener gets it.
type Delivered struct {
	Event
	// Cursor is for Listen, after the listener has handled the event. It is "" for
	// events that are not durable.
	Cursor string
}

// put queues e, if the listener wants it, or cuts the listener off. It never blocks
// for long: the hub holds its lock.
func (l *Listener) put(number int64, e Event) {
	if !l.filter.wants(&e) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return
	}
	full := len(l.queue) >= maxQueued || l.queued+e.bytes() > maxQueuedBytes
	if full && len(l.queue) > 0 {
		l.over = ErrSlow
		l.queue = nil
		l.queued = 0
	} else {
		l.queue = append(l.queue, queued{number, e})
		l.queued += e.bytes()
	}
	l.ring()
}

// missed puts what the store knows before everything in the queue. If that is not
// whole, a Reset takes its place.
func (l *Listener) missed(events []Event, whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !whole {
		clear(l.open)
		l.lost = false
		events = []Event{{Event: Reset, At: l.last.time()}}
	}
	first := make([]queued, 0, len(events)+len(l.queue))
	for _, e := range events {
		first = append(first, queued{l.last.Number, e})
		l.queued += e.bytes()
	}
	l.queue = append(first, l.queue...)
	if len(l.queue) > 0 {
		l.ring()
	}
}

// Next waits for events and returns all that are there, oldest first. Errors:
// [ErrSlow], [ErrClosed], and that of ctx.
func (l *Listener) Next(ctx context.Context) ([]Delivered, error) {
	for {
		if got, err := l.take(); len(got) > 0 || err != nil {
			return got, err
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *Listener) take() ([]Delivered, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil, l.over
	}
	got := make([]Delivered, 0, len(l.queue))
	for _, q := range l.queue {
		d := Delivered{Event: q.event}
		if q.event.Event.Durable() || q.event.Event == Reset {
			d.Cursor = l.pass(q.number, &q.event)
		}
		got = append(got, d)
	}
	l.queue = nil
	l.queued = 0
	return got, nil
}

// pass moves the cursor behind e.
func (l *Listener) pass(number int64, e *Event) string {
	if e.Event == DeliveryChanged {
		ref := Ref{e.Key, e.Seq}
		delete(l.open, ref)
		switch {
		case e.final():
		case len(l.open) < maxOpen:
			l.open[ref] = true
		default:
			l.lost = true
		}
	}
	c := cursor{Process: l.hub.process, Number: number, At: max(l.last.At, e.At.UnixMilli()), Lost: l.lost}
	for ref := range l.open {
		c.Open = append(c.Open, ref)
	}
	l.last = c
	return c.String()
}

// Close ends the listener. Next returns [ErrClosed] then. It may be called twice.
func (l *Listener) Close() {
	l.hub.mu.Lock()
	delete(l.hub.listeners, l)
	l.hub.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil {
		l.over = ErrClosed
	}
	l.ring()
}

func (l *Listener) ring() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
