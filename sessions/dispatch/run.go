package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Run calls h for each key that is due until ctx ends, and then waits for the
// handlers. See engine.Store.Run.
func (d *Dispatcher) Run(ctx context.Context, h sessions.Handler) error {
	d.mu.Lock()
	if d.ran {
		d.mu.Unlock()
		return errors.New("dispatch: run: called a second time")
	}
	d.ran = true
	var handlers sync.WaitGroup
	d.start = func(s *state) { handlers.Go(func() { d.work(ctx, s, h) }) }
	for _, s := range d.keys {
		d.schedule(s)
	}
	d.mu.Unlock()

	<-ctx.Done()
	d.mu.Lock()
	d.start = nil
	for _, s := range d.keys {
		s.stop()
	}
	d.mu.Unlock()
	handlers.Wait()
	return nil
}

// work calls h for one key until it has nothing due.
func (d *Dispatcher) work(ctx context.Context, s *state, h sessions.Handler) {
	for {
		claim, hctx, changes := d.claim(ctx, s)
		if hctx == nil {
			return
		}
		err := Call(hctx, h, claim)
		d.release(ctx, hctx, s, changes, err)
	}
}

// claim begins the next claim of s. If nothing is due it makes s inactive and returns a nil
// context.
func (d *Dispatcher) claim(ctx context.Context, s *state) (sessions.Claim, context.Context, uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil || d.pause(s) > 0 {
		s.active = false
		if ctx.Err() == nil {
			d.schedule(s)
		}
		return sessions.Claim{}, nil, 0
	}
	d.epoch++
	s.live = d.epoch
	hctx, cancel := context.WithCancelCause(ctx)
	s.cancel = cancel
	return sessions.Claim{Key: s.key, Epoch: s.live}, hctx, s.changes
}

// release ends a claim after its handler returned.
func (d *Dispatcher) release(ctx, hctx context.Context, s *state, changes uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fenced := s.live == 0
	s.live = 0
	s.cancel(nil)
	next, open := s.agenda.next()
	stuck := err == nil && open && !next.After(d.now()) && s.changes == changes
	switch {
	case fenced || ctx.Err() != nil:
		// A fence has reset the failures; at the end there are no more claims.
		return
	case err == nil && !stuck:
		s.failures = 0
		return
	case stuck:
		err = errors.New("the handler returned with work left and nothing done")
	}
	s.failures++
	pause := Backoff(s.failures)
	s.rest = time.Now().Add(pause)
	d.log.Warn("work on a conversation failed; will try again", "key", s.key.String(), "attempt", s.failures, "pause", pause, "err", err)
}

// Backoff returns the pause after a number of failures in a row, with jitter.
func Backoff(failures int) time.Duration {
	pause := lastBackoff
	if failures < 10 {
		pause = min(firstBackoff<<(failures-1), lastBackoff)
	}
	return pause - rand.N(pause/4)
}

// Call runs h and turns a panic into an error, so that one broken conversation does not end
// the others.
func Call(ctx context.Context, h sessions.Handler, c sessions.Claim) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("dispatch: call the handler: %w", rules.Panic(p))
		}
	}()
	return h(ctx, c)
}

// pause returns how long s has nothing to do: 0 if it is due now.
func (d *Dispatcher) pause(s *state) time.Duration {
	due, open := s.agenda.next()
	if !open {
		return recheck
	}
	wait := due.Sub(d.now())
	if !s.rest.IsZero() {
		wait = max(wait, time.Until(s.rest))
	}
	return min(max(wait, 0), recheck)
}

// schedule starts work on s now or when it is due, or removes s if it has no items.
func (d *Dispatcher) schedule(s *state) {
	if s.active {
		return // work calls claim after the handler returns
	}
	s.stop()
	_, open := s.agenda.next()
	switch pause := d.pause(s); {
	case !open:
		delete(d.keys, s.key)
	case d.start == nil: // Run will schedule it
	case pause > 0:
		s.timer = time.AfterFunc(pause, func() { d.wake(s) })
	default:
		s.active = true
		d.start(s)
	}
}

// wake schedules s when its timer fires.
func (d *Dispatcher) wake(s *state) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys[s.key] == s {
		d.schedule(s)
	}
}
