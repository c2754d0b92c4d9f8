package stream

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
)

// Limits.
const (
	// maxKept is how many durable events a Hub remembers for listeners that come back:
	// a few minutes of a busy daemon, and some 150 KB.
	maxKept = 512
	// MaxMissed is how many events a listener that comes back is sent. After more it
	// is told to read the conversations again, which is cheaper for both.
	MaxMissed = 256
)

// Source reads the store for listeners whose missed events this process does not remember.
type Source interface {
	// Since lists the events about rows that were stored at t or later and that see
	// allows, oldest first, and not more than limit. whole is false if it gave up
	// because there are too many rows to look at.
	Since(ctx context.Context, t time.Time, limit int, see func(*Event) bool) (events []Event, whole bool, err error)
	// States returns an event for each of these rows that still exists.
	States(ctx context.Context, rows []Ref) ([]Event, error)
	// Rows is Since for messages and deliveries alone, all of them. Only a [Follower] asks.
	Rows(ctx context.Context, t time.Time) (events []Event, whole bool, err error)
}

// Options tune a Hub.
type Options struct {
	// Source finds missed events after a restart. Nil: such a listener gets a Reset.
	Source Source
	Now    func() time.Time // nil: time.Now
	// Cut is called for each listener that is cut off because it reads too slowly. It
	// must not block. Nil: not called.
	Cut func()
}

// Hub takes events and gives them to its listeners. It is safe for concurrent use.
type Hub struct {
	opts    Options
	process string // the random name of this Hub in cursors

	mu     sync.Mutex
	number int64 // of the last durable event
	// wholeSince is the number from which on the hub has seen what other processes did.
	wholeSince int64
	// remembers: there was a listener that can come back, so durable events are kept.
	remembers bool
	kept      []kept
	listeners map[*Listener]bool
	follower  *Follower // nil: no other process shares the store
	// asked is the event that listeners are asked about before it has a copy of its own:
	// most events of a daemon are wanted by nobody.
	asked Event
}

// kept is a durable event that the Hub remembers, with its number.
type kept struct {
	number int64
	event  *Event
}

// New makes a Hub. It needs no end.
func New(o Options) *Hub {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Cut == nil {
		o.Cut = func() {}
	}
	return &Hub{opts: o, process: rand.Text()[:8], listeners: map[*Listener]bool{}}
}

// Publish gives e to all listeners of this process. It never blocks. An event
// without a time gets the present one. Call it after the row of e is durable.
func (h *Hub) Publish(e Event) {
	h.mu.Lock()
	follower := h.follower
	h.mu.Unlock()
	if follower != nil && e.Event.Durable() {
		follower.own(&e)
	}
	h.give(&e, true)
}

// publish gives the listeners an event of another process.
func (h *Hub) publish(e Event) { h.give(&e, false) }

// give gives a copy of e to the listeners. own: this process has published it.
func (h *Hub) give(e *Event, own bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	durable := e.Event.Durable()
	if durable {
		h.number++
	}
	keep := durable && h.remembers
	if !keep && !h.wanted(e) {
		return
	}
	shared := new(*e) // by all listeners; it never changes
	if shared.At.IsZero() {
		shared.At = h.opts.Now()
	}
	if keep {
		if len(h.kept) >= maxKept {
			h.kept = append(h.kept[:0], h.kept[maxKept/2:]...)
		}
		h.kept = append(h.kept, kept{h.number, shared})
	}
	for l := range h.listeners {
		if !own && l.filter.Own {
			continue
		}
		if !l.put(h.number, shared) {
			delete(h.listeners, l) // it may take a while until it notices
		}
	}
}

// named reports whether a listener wants events of that name. The caller holds h.mu.
func (h *Hub) named(name Name) bool {
	for l := range h.listeners {
		if l.filter.names(name) {
			return true
		}
	}
	return false
}

// followed reports whether somebody listens to what other processes do.
func (h *Hub) followed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.filter.follows() {
			return true
		}
	}
	return false
}

// forget forgets what the hub remembers for listeners that come back: it may lack what
// other processes did.
func (h *Hub) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = nil
	h.number++
	h.wholeSince = h.number
}

// open are the deliveries without a final state of all listeners.
func (h *Hub) open() map[Ref]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[Ref]bool{}
	for l := range h.listeners {
		l.mu.Lock()
		maps.Copy(all, l.open)
		l.mu.Unlock()
	}
	return all
}

// Filter says which events a listener wants.
type Filter struct {
	// Names are the wanted names; empty: all.
	Names []Name
	// See reports whether the listener may see an event now. It must be quick, because
	// Publish waits for it, and it is called for each event anew, because rights
	// change. It must not change the event. Nil: the listener may see all.
	See func(*Event) bool
	// May is See for what takes longer, such as to ask the store. It is asked for each
	// event when the listener takes it, in the listener's goroutine. Its error is that of
	// Listen or Next. Nil: the listener may see what See allows.
	May func(context.Context, *Event) (bool, error)
	// Own leaves out what other processes of the same store do.
	Own bool
	// Leaves: the listener never comes back, so its events have no cursors, and nothing is
	// remembered for it.
	Leaves bool
}

// follows reports whether the listener wants durable events of other processes.
func (f *Filter) follows() bool {
	return !f.Own && (len(f.Names) == 0 || slices.ContainsFunc(f.Names, Name.Durable))
}

// names reports whether the listener wants events of that name.
func (f *Filter) names(name Name) bool { return len(f.Names) == 0 || slices.Contains(f.Names, name) }

func (f *Filter) wants(e *Event) bool {
	if !f.names(e.Event) {
		return false
	}
	return f.See == nil || f.See(e)
}

// may is May, or true without one.
func (f *Filter) may(ctx context.Context, e *Event) (bool, error) {
	if f.May == nil {
		return true, nil
	}
	return f.May(ctx, e)
}

// Listen begins to listen. after is the cursor of the last event that the listener has
// handled; with "" it gets only what comes from now on. The caller closes the listener.
// Errors: [ErrCursor], and those of the store.
func (h *Hub) Listen(ctx context.Context, f Filter, after string) (*Listener, error) {
	l := &Listener{hub: h, filter: f, wake: make(chan struct{}, 1), open: map[Ref]bool{}}
	h.mu.Lock()
	follower := h.follower
	h.mu.Unlock()
	if follower != nil && f.follows() {
		if err := follower.start(ctx); err != nil {
			return nil, fmt.Errorf("stream: follow other nodes: %w", err)
		}
	}
	if after == "" {
		h.add(l)
		return l, nil
	}
	c, err := parseCursor(after)
	if err != nil {
		return nil, err
	}
	for _, r := range c.Open {
		l.open[r] = true
	}
	l.lost = c.Lost
	missed, whole, err := h.look(ctx, l, c)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("stream: look for missed events: %w", err)
	}
	l.missed(missed, whole)
	return l, nil
}

// look attaches l and returns what it missed since c. What happens meanwhile waits in its
// queue. whole is false if it missed too much.
func (h *Hub) look(ctx context.Context, l *Listener, c *cursor) (missed []queued, whole bool, err error) {
	kept, remembered := h.resume(l, c)
	if !remembered {
		h.add(l)
		events, whole, err := h.missed(ctx, &l.filter, c)
		return replayed(l.unheard(events), l.last.Number), whole, err
	}
	for _, k := range kept {
		may, err := l.filter.may(ctx, k.event)
		if err != nil {
			return nil, false, err
		}
		if may {
			missed = append(missed, k)
		}
	}
	return missed, len(missed) <= MaxMissed, nil
}

// replayed are events from the store, which have no numbers, on their way to a listener
// that attached at number. Only the last has a cursor: it stands for all of them, and a
// listener that leaves before it comes back with the cursor that it had.
func replayed(events []Event, number int64) []queued {
	list := make([]queued, len(events))
	for i := range events {
		list[i] = queued{number: number, event: &events[i], inside: i < len(events)-1}
	}
	return list
}

func (h *Hub) add(l *Listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.last = cursor{Process: h.process, Number: h.number, At: h.opts.Now().UnixMilli()}
	l.attached = h.number
	h.listeners[l] = true
	h.remembers = h.remembers || !l.filter.Leaves
}

// resume attaches l where c ended and returns what it missed, if this process remembers
// all that came since.
func (h *Hub) resume(l *Listener, c *cursor) (missed []queued, remembered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	remembered = c.Process == h.process && c.Number <= h.number && c.Number >= h.wholeSince && !c.Lost &&
		(c.Number == h.number || len(h.kept) > 0 && h.kept[0].number <= c.Number+1)
	if !remembered {
		return nil, false
	}
	l.last = *c
	for i := range h.kept {
		if h.kept[i].number > c.Number && l.filter.wants(h.kept[i].event) {
			missed = append(missed, queued{number: h.kept[i].number, event: h.kept[i].event})
		}
	}
	l.attached = h.number
	h.listeners[l] = true
	return missed, true
}

// missed reads from the store what happened since c. whole is false if that is too much.
func (h *Hub) missed(ctx context.Context, f *Filter, c *cursor) (events []Event, whole bool, err error) {
	if h.opts.Source == nil || c.Lost {
		return nil, false, nil
	}
	var failed error
	see := func(e *Event) bool {
		if failed != nil || !f.wants(e) {
			return false
		}
		var may bool
		may, failed = f.may(ctx, e)
		return may
	}
	events, whole, err = h.opts.Source.Since(ctx, c.time().Add(-Slack), MaxMissed+1, see)
	if err := cmp.Or(err, failed); err != nil || !whole {
		return nil, false, err
	}
	states, err := h.opts.Source.States(ctx, c.Open)
	if err != nil {
		return nil, false, err
	}
	for i := range states {
		if !containsRow(events, &states[i]) && see(&states[i]) {
			events = append(events, states[i])
		}
	}
	return events, len(events) <= MaxMissed, failed
}

func containsRow(events []Event, e *Event) bool {
	return slices.ContainsFunc(events, func(other Event) bool {
		return other.Event == e.Event && other.Key == e.Key && other.Seq == e.Seq
	})
}

// Listeners counts those who listen.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners)
}

// wanted reports whether a listener wants e. The caller holds h.mu.
func (h *Hub) wanted(e *Event) bool {
	if !h.named(e.Event) {
		return false
	}
	h.asked = *e
	for l := range h.listeners {
		if l.filter.wants(&h.asked) {
			return true
		}
	}
	return false
}

// Watched reports whether somebody listens to the events called name about k, so that
// whoever makes them can save the work. It is meant for those that are not durable.
func (h *Hub) Watched(k channels.Key, name Name) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wanted(&Event{Event: name, Key: k})
}
