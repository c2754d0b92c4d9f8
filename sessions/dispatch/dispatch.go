// Package dispatch keeps the open items of every key in memory, and calls a handler for
// the keys that are due, with one call at a time for a key.
//
// The promise: no wake-up is lost, and no key has two calls at once. A store passes each
// change to [Dispatcher.Apply] after it is durable, in the order of its commits. Looking for
// more work and going to sleep happen under the same lock, so a message that arrives while a
// handler returns is seen by one or the other. An open item uses a few words of memory; a
// key without one uses none.
//
// Nothing here is durable: a store adds its open rows when it opens. A handler that fails,
// panics, or returns with due work and no change is called again after a backoff.
//
// [Dispatcher.Run] owns all goroutines, one for each key whose handler runs, and waits for
// them before it returns.
package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

const (
	// recheck is how late due items are found at most after the clock was set or the
	// machine was suspended.
	recheck = 15 * time.Second
	// firstBackoff doubles with each failure up to lastBackoff.
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 30 * time.Second
)

// Options adjust a [Dispatcher]. The zero value works.
type Options struct {
	// Now is the clock for due times; time.Now if nil.
	Now func() time.Time
	// Logger logs handlers that failed. Nil discards.
	Logger *slog.Logger
	// Epoch is below all epochs of this dispatcher.
	Epoch int64
}

// Dispatcher is the dispatcher of one store. Make it with [New].
type Dispatcher struct {
	now func() time.Time
	log *slog.Logger

	mu    sync.Mutex
	keys  map[channels.Key]*state // those with open items or a running handler
	start func(*state)            // starts work on a key; nil while Run does not run
	epoch int64
	ran   bool
}

// state is the state of one key.
type state struct {
	key      channels.Key
	agenda   agenda
	changes  uint64 // counts applied items
	live     int64  // epoch of the live claim, or 0
	cancel   context.CancelCauseFunc
	active   bool // has a goroutine
	failures int
	// rest is when a key that failed may run again, on the real clock.
	rest  time.Time
	timer *time.Timer // until the first item is due; may be nil
}

func (s *state) stop() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// New makes a dispatcher without items.
func New(o Options) *Dispatcher {
	d := &Dispatcher{
		now: o.Now, log: o.Logger, epoch: o.Epoch,
		keys: map[channels.Key]*state{},
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	return d
}

// Apply applies durable changes and ends the claims of fenced keys. Stores call it in the
// order of their commits, before they answer the caller who made the change.
func (d *Dispatcher) Apply(changes []Item, fenced []channels.Key) {
	if len(changes) == 0 && len(fenced) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range fenced {
		if s := d.keys[k]; s != nil {
			s.fence()
		}
	}
	for _, it := range changes {
		s := d.keys[it.Key]
		if s == nil {
			if it.Gone {
				continue
			}
			s = &state{key: it.Key}
			d.keys[it.Key] = s
		}
		s.agenda.put(it)
		s.changes++
		d.schedule(s)
	}
}

func (s *state) fence() {
	if s.live != 0 {
		s.live = 0
		s.cancel(sessions.ErrFenced)
	}
	s.failures, s.rest = 0, time.Time{}
}

// Check returns nil if c is the live claim of its key, else ErrFenced.
func (d *Dispatcher) Check(c sessions.Claim) error {
	if c.Epoch == 0 || d.Claim(c.Key) != c.Epoch {
		return sessions.ErrFenced
	}
	return nil
}

// Claim returns the epoch of the live claim of k, 0 if there is none.
func (d *Dispatcher) Claim(k channels.Key) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.keys[k]; s != nil {
		return s.live
	}
	return 0
}

// Items lists the items of k in some lanes, sorted by Seq.
func (d *Dispatcher) Items(k channels.Key, lanes ...Lane) (items []Item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.keys[k]
	if s == nil {
		return nil
	}
	for _, lane := range lanes {
		items = append(items, s.agenda[lane]...)
	}
	slices.SortFunc(items, bySeq)
	return items
}

// Stats counts open items. It does not set Dead and Quarantined.
func (d *Dispatcher) Stats() sessions.Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	var st sessions.Stats
	now := d.now()
	for _, s := range d.keys {
		for lane, items := range s.agenda {
			for _, it := range items {
				if Lane(lane) == Delivery {
					st.Unsent++
					if it.Uncertain {
						st.Unknown++
					}
					st.OldestSend = rules.Earliest(st.OldestSend, it.Since)
					continue
				}
				st.Waiting++
				if it.Due.After(now) {
					st.Postponed++
				}
				st.Oldest = rules.Earliest(st.Oldest, it.Since)
			}
		}
	}
	return st
}
