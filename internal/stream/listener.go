package stream

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// How far a listener may lag before it is cut off. One event always fits, or a long
// answer that comes as one piece could never be shown.
const (
	maxQueued      = 512
	maxQueuedBytes = 4 << 20
)

// How much Next returns at once. Each event that it returns is a copy with a cursor (3 KB
// where many deliveries are open), and whoever writes it out has its text once more. A
// listener that does not read keeps all of that until it is cut off.
const (
	maxBatch      = 16
	maxBatchBytes = 64 << 10
)

// maxOpen is how many deliveries without a final state a cursor lists.
const maxOpen = 64

// ErrSlow: the listener read too slowly and was cut off. It comes back with the cursor
// of the last event that it has handled.
var ErrSlow = errors.New("stream: read too slowly")

// ErrClosed: the listener was closed.
var ErrClosed = errors.New("stream: closed")

// Listener is one who listens. Next and Cursor have one caller at a time; Close any.
type Listener struct {
	hub    *Hub
	filter Filter
	wake   chan struct{} // capacity 1: the queue is not empty, or it is over

	mu     sync.Mutex
	queue  []queued
	queued int // bytes
	// taken were in the queue, and Next returns them batch by batch. They do not count as
	// waiting, so a listener that comes back for many events is not cut off for that.
	taken []queued
	over  error
	// last, open and lost are of the newest event in the queue: see cursor.
	last cursor
	open map[Ref]bool
	lost bool
	// attached is the hub's number when the listener came: a Reset stands for all before.
	attached int64
	// read are the events that it got from the store, until readUntil. What they are about
	// may be published only after that.
	read      []*Event
	readUntil time.Time
}

// publishedWithin is how long it takes at most until what is stored is published.
const publishedWithin = 5 * time.Second

// queued is an event on its way to a listener. number is that of the hub when it came.
type queued struct {
	number int64
	event  *Event
	inside bool // its cursor is that of a later event: see replayed
}

// Delivered is an event as a listener gets it.
type Delivered struct {
	Event
	// Cursor is for Listen, after the listener has handled the event. It is "" for
	// events that are not durable, for all but the last of those that were missed and come
	// from the store, and for listeners that never come back (Filter.Leaves).
	Cursor string
}

// put queues e, if the listener wants it, or cuts the listener off: then it reports false.
// It never blocks for long: the hub holds its lock.
func (l *Listener) put(number int64, e *Event) bool {
	if !l.filter.wants(e) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return false
	}
	if l.hasRead(e) {
		return true
	}
	full := len(l.queue) >= maxQueued || l.queued+e.bytes() > maxQueuedBytes
	if full && len(l.queue) > 0 {
		l.over = ErrSlow
		l.hub.opts.Cut()
		l.queue = nil
		l.queued = 0
	} else {
		l.queue = append(l.queue, queued{number: number, event: e})
		l.queued += e.bytes()
	}
	l.ring()
	return l.over == nil
}

// unheard are the events from the store without those that were published while it was
// read and wait in the queue. It remembers the others, and takes what they overtook out of
// the queue.
func (l *Listener) unheard(events []Event) []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	events = slices.DeleteFunc(events, func(e Event) bool {
		return slices.ContainsFunc(l.queue, func(q queued) bool { return q.event.sameRow(&e) && !e.newer(q.event) })
	})
	for i := range events {
		l.read = append(l.read, &events[i])
	}
	l.readUntil = l.hub.opts.Now().Add(publishedWithin)
	l.queue = slices.DeleteFunc(l.queue, func(q queued) bool {
		overtaken := l.hasRead(q.event)
		if overtaken {
			l.queued -= q.event.bytes()
		}
		return overtaken
	})
	return events
}

// hasRead reports whether l got e, or what came after it, from the store. The caller holds l.mu.
func (l *Listener) hasRead(e *Event) bool {
	if len(l.read) == 0 || !e.Event.Durable() {
		return false
	}
	if l.hub.opts.Now().After(l.readUntil) {
		l.read = nil
		return false
	}
	return slices.ContainsFunc(l.read, func(read *Event) bool { return e.sameRow(read) && !e.newer(read) })
}

// missed puts events before everything in the queue. If they are not whole, a Reset
// takes their place.
func (l *Listener) missed(events []queued, whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !whole {
		clear(l.open)
		l.lost = false
		now := l.hub.opts.Now()
		l.last = cursor{At: now.UnixMilli()}
		events = []queued{{number: l.attached, event: &Event{Event: Reset, At: now}}}
	}
	for i := range events {
		l.queued += events[i].event.bytes()
	}
	l.queue = append(events, l.queue...)
	if len(l.queue) > 0 {
		l.ring()
	}
}

// Next waits for events and returns the oldest that are there, at most 16, and at most
// 64 KiB of them unless the first one alone is larger. Errors: [ErrSlow] and [ErrClosed]
// after all that the listener had taken, that of ctx, and those of Filter.May.
func (l *Listener) Next(ctx context.Context) ([]Delivered, error) {
	for {
		taken, over := l.take()
		got, err := l.choose(ctx, taken)
		if len(got) > 0 || err != nil {
			return got, err
		}
		if over != nil {
			return nil, over
		}
		if len(taken) > 0 {
			continue
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take takes the next batch. If there was nothing to take, over is why nothing more comes.
func (l *Listener) take() (batch []queued, over error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.taken) == 0 {
		l.taken = l.queue
		l.queue = nil
		l.queued = 0
	}
	if len(l.taken) == 0 {
		return nil, l.over
	}
	n := batchOf(l.taken)
	batch = slices.Clone(l.taken[:n])
	clear(l.taken[:n]) // the events, which may be long, do not wait for the rest
	l.taken = l.taken[n:]
	return batch, nil
}

// batchOf is how many of list, which has at least one, fit into a batch.
func batchOf(list []queued) int {
	n := 1
	bytes := list[0].event.bytes()
	for n < min(len(list), maxBatch) {
		bytes += list[n].event.bytes()
		if bytes > maxBatchBytes {
			break
		}
		n++
	}
	return n
}

// choose are those of taken that the listener may see, with their cursors.
func (l *Listener) choose(ctx context.Context, taken []queued) ([]Delivered, error) {
	got := make([]Delivered, 0, len(taken))
	for i := range taken {
		q := &taken[i]
		may := q.event.Event == Reset
		if !may {
			var err error
			may, err = l.filter.may(ctx, q.event)
			if err != nil {
				return nil, err
			}
		}
		d := Delivered{Event: *q.event}
		if durable := q.event.Event.Durable() || q.event.Event == Reset; durable && may && !l.filter.Leaves {
			d.Cursor = l.pass(q.number, q.event)
		}
		if q.inside {
			d.Cursor = ""
		}
		if may {
			got = append(got, d)
		}
	}
	return got, nil
}

// Cursor is one for everything until now, for a listener that has handled all that Next
// returned: with it, one that gets few events need not look for a long time when it comes
// back. "" if there is more to take first, or if it never comes back.
func (l *Listener) Cursor() string {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.taken) > 0 || len(l.queue) > 0 || l.over != nil || l.lost || l.filter.Leaves {
		return ""
	}
	l.last.At = max(l.last.At, l.hub.opts.Now().UnixMilli())
	l.last.Number = l.hub.number
	return l.text()
}

// pass moves the cursor behind e.
func (l *Listener) pass(number int64, e *Event) string {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	l.last.At = max(l.last.At, e.At.UnixMilli())
	l.last.Number = number
	return l.text()
}

// text is the cursor of what l has passed. The caller holds l.mu.
func (l *Listener) text() string {
	c := cursor{Process: l.hub.process, Number: l.last.Number, At: l.last.At, Lost: l.lost}
	for ref := range l.open {
		c.Open = append(c.Open, ref)
	}
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
