package dispatch

import (
	"container/heap"
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
// handlers. See [sessions.Work].
func (d *Dispatcher) Run(ctx context.Context, h sessions.Handler) error {
	d.mu.Lock()
	if d.ran {
		d.mu.Unlock()
		return errors.New("dispatch: run: called a second time")
	}
	d.ran = true
	d.mu.Unlock()

	var handlers sync.WaitGroup
	defer handlers.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.kick:
		case <-timer.C:
		}
		ready, pause := d.ready()
		for _, s := range ready {
			handlers.Go(func() { d.work(ctx, s, h) })
		}
		timer.Reset(pause)
	}
}

// ready takes the keys off the queue whose time has come, marks them active
// and says how long to sleep for the rest.
func (d *Dispatcher) ready() (ready []*state, pause time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for len(d.queue) > 0 && !d.queue[0].wake.After(now) {
		s := heap.Pop(&d.queue).(*state)
		if d.pause(s) > 0 {
			d.schedule(s)
			continue
		}
		s.active = true
		ready = append(ready, s)
	}
	if len(d.queue) == 0 {
		return ready, recheck
	}
	return ready, max(time.Until(d.queue[0].wake), 0)
}

// work calls h for one key as long as it has something to do.
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

// claim begins the next claim of s, or ends its activity and returns no
// context if there is nothing to do for now.
func (d *Dispatcher) claim(ctx context.Context, s *state) (sessions.Claim, context.Context, uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil || d.pause(s) > 0 {
		s.active = false
		d.schedule(s)
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
		// A fence begins afresh; at the end nothing is claimed any more.
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

// Backoff is the pause after that many failures in a row, with jitter.
func Backoff(failures int) time.Duration {
	pause := lastBackoff
	if failures < 10 {
		pause = min(firstBackoff<<(failures-1), lastBackoff)
	}
	return pause - rand.N(pause/4)
}

// Call runs h and turns a panic into an error: one broken conversation must
// not take the others with it.
func Call(ctx context.Context, h sessions.Handler, c sessions.Claim) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("dispatch: call the handler: %w", rules.Panic(p))
		}
	}()
	return h(ctx, c)
}

// pause is how long s has nothing to do: 0 if it is due now.
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

// schedule gives s its place in the queue after a change, or forgets it if
// nothing is left of it.
func (d *Dispatcher) schedule(s *state) {
	if s.active {
		return // work looks again when the handler has returned
	}
	if s.agenda.empty() {
		if s.index >= 0 {
			heap.Remove(&d.queue, s.index)
		}
		delete(d.keys, s.key)
		return
	}
	s.wake = time.Now().Add(d.pause(s))
	if s.index >= 0 {
		heap.Fix(&d.queue, s.index)
	} else {
		heap.Push(&d.queue, s)
	}
	if s.index == 0 {
		select {
		case d.kick <- struct{}{}:
		default: // the loop is about to look anyway
		}
	}
}
