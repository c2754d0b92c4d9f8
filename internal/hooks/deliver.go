package hooks

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// deliver sends the letters of s until ctx ends, then those that were not tried yet, as long
// as life lasts. Only one process does so for each hook.
func (h *Hooks) deliver(ctx, life context.Context, s *sender, written <-chan struct{}) {
	defer s.http.CloseIdleConnections()
	if h.opts.Store == nil {
		return
	}
	trying, stop := context.WithCancel(life)
	defer stop()
	var held atomic.Bool
	giveUp := context.AfterFunc(ctx, func() {
		if !held.Load() {
			stop()
		}
	})
	defer giveUp()
	_ = h.opts.Hold(trying, "webhook:"+s.Name, func(ctx2 context.Context) error {
		held.Store(true)
		h.deliverHeld(ctx, ctx2, s, written)
		return nil
	}) // it only ends with its context
}

func (h *Hooks) deliverHeld(ctx, life context.Context, s *sender, written <-chan struct{}) {
	for {
		wait := h.pass(life, s, false)
		timer := time.NewTimer(wait)
		select {
		case <-s.wake:
		case <-timer.C:
		case <-s.retired:
			timer.Stop()
			return
		case <-life.Done():
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			select {
			case <-written:
			case <-life.Done():
			}
			h.pass(life, s, true)
			return
		}
		timer.Stop()
	}
}

// forever is longer than anybody waits for a letter.
const forever = 24 * time.Hour

// pass sends what is due, and returns when to look again. last: only what was not tried yet.
func (h *Hooks) pass(life context.Context, s *sender, last bool) time.Duration {
	off, err := h.isOff(life, s)
	var all []envelope
	if err == nil {
		all, err = h.letters(life, s.Name, "")
	}
	if err != nil {
		if life.Err() == nil {
			h.opts.Logger.Warn("the events for a hook cannot be read; trying again", "hook", s.label(), "err", err)
		}
		return storeAgain
	}
	s.off.Store(off)
	all = slices.DeleteFunc(all, func(e envelope) bool { return e.Dead })
	s.waiting.Store(int64(len(all)))
	wait := forever
	if h.opts.Look > 0 {
		wait = h.opts.Look
	}
	for i := range all {
		if life.Err() != nil {
			return 0
		}
		select {
		case <-s.retired:
			return wait
		default:
		}
		next := h.handle(life, s, &all[i], last)
		wait = min(wait, next)
	}
	return wait
}

// handle sends a letter if it is due, and returns when it is due next.
func (h *Hooks) handle(life context.Context, s *sender, e *envelope, last bool) time.Duration {
	now := h.opts.Now()
	body, confirmed := s.body(e)
	early := e.due
	if confirmed {
		early = now
	}
	if s.paused.After(early) {
		early = s.paused
	}
	switch {
	case s.off.Load():
		e.Error = "the server answered 410 (gone), so the hook is off"
		return h.bury(life, s, e)
	case last && e.Attempts > 0:
		return forever
	case early.After(now):
		return early.Sub(now)
	}
	got := s.post(life, e.id, body, now)
	if life.Err() != nil && got.err != nil {
		return 0 // the end cut it off: it is no failure of the server
	}
	h.opts.Count(string(e.Event), outcomeOf(got.err))
	h.tell(&s.failing, s.label(), e.Event, e.Key, got.err)
	if got.err == nil {
		s.forget(e.id)
		s.waiting.Add(-1)
		return h.record(life, s, h.remove(life, e))
	}
	e.Body = body
	e.Attempts++
	e.Error = got.err.Error()
	if got.status == http.StatusGone {
		s.off.Store(true)
		h.opts.Logger.Warn("the server of a hook answered 410 (gone), so the hook is off until a retry with dragoman queue", "hook", s.label())
		if wait := h.record(life, s, h.setOff(life, s.Name, s.URL)); wait < forever {
			return wait
		}
		return h.bury(life, s, e)
	}
	if e.Attempts > len(h.opts.Pauses) {
		return h.bury(life, s, e)
	}
	pause := time.Duration(float64(h.opts.Pauses[e.Attempts-1]) * (0.8 + 0.4*rand.Float64()))
	if got.after > 0 {
		s.paused = now.Add(got.after)
		pause = max(pause, got.after)
	}
	e.due = now.Add(pause)
	s.forget(e.id)
	if wait := h.record(life, s, h.change(life, e)); wait < forever {
		return wait
	}
	return pause
}

// bury makes e a dead letter.
func (h *Hooks) bury(life context.Context, s *sender, e *envelope) time.Duration {
	e.Dead = true
	e.due = time.Time{}
	s.forget(e.id)
	s.waiting.Add(-1)
	h.opts.Count(string(e.Event), "dead")
	h.opts.Logger.Warn("an event for a hook was given up; dragoman queue shows it", "hook", s.label(), "event", string(e.Event), "msg_id", e.id, "attempt", e.Attempts)
	return h.record(life, s, h.change(life, e))
}

// record returns when to look again after the store was told what became of a letter.
func (h *Hooks) record(life context.Context, s *sender, err error) time.Duration {
	if err == nil {
		return forever
	}
	if life.Err() == nil {
		h.opts.Logger.Warn("what became of an event for a hook could not be stored; it may be sent again", "hook", s.label(), "err", err)
	}
	return storeAgain
}
