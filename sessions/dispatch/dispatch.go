// Package dispatch knows what every key still has to do and hands the keys
// that are due to a handler, one call at a time for one key.
//
// Its promise: no wake-up is lost and no key is worked on twice at once. A
// store tells it about each change after the change is durable, in the order
// of its commits ([Dispatcher.Apply]); looking for more work and going to
// sleep happen under the same lock, so a message that arrives while a handler
// returns is seen by one or the other. Its memory is a few words for each open
// item; keys with nothing open cost nothing.
//
// It is not durable itself: a store fills it when it opens. A handler that
// fails or panics, or returns with work left and nothing changed, is called
// again after a backoff.
//
// [Dispatcher.Run] owns all goroutines: one for each key that is being worked
// on, and it waits for them before it returns.
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
	// recheck bounds how long the wall clock can be misjudged: after a step
	// of the clock or a suspended machine, due items are found this late.
	recheck = 15 * time.Second
	// firstBackoff doubles with each failure up to lastBackoff.
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 30 * time.Second
)

// Options adjust a [Dispatcher]. The zero value works.
type Options struct {
	// Now is the clock that due times are compared with; time.Now if nil.
	Now func() time.Time
	// Logger logs handlers that failed. Nil discards.
	Logger *slog.Logger
	// Epoch is a number that all epochs of this dispatcher are above.
	Epoch int64
}

// Dispatcher is one store's dispatcher. Make it with [New].
type Dispatcher struct {
	now func() time.Time
	log *slog.Logger

	mu    sync.Mutex
	keys  map[channels.Key]*state // of keys with something open or running
	start func(*state)            // works on a key; nil when Run is not running
	epoch int64
	ran   bool
}

// state is the dispatcher's memory of one key.
type state struct {
	key      channels.Key
	agenda   agenda
	changes  uint64 // counts applied items
	live     int64  // epoch of the live claim, or 0
	cancel   context.CancelCauseFunc
	active   bool // a goroutine works on it
	failures int
	// rest is until when a failing key is left alone, on the real clock.
	rest  time.Time
	timer *time.Timer // until it has something to do; nil: none runs
}

func (s *state) stop() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// New makes a dispatcher with nothing to do.
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

// Apply takes over changes that are durable now and ends the claims of fenced
// keys. Stores call it in the order of their commits and before they answer
// the caller whose change it was.
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

// Claim is the epoch of the live claim of k, 0 if there is none.
func (d *Dispatcher) Claim(k channels.Key) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.keys[k]; s != nil {
		return s.live
	}
	return 0
}

// Items lists those of k in lanes, by Seq.
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

// Stats counts open items, but not dead deliveries and quarantined messages.
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
