// Package engine is the store, over any backend of package rows. It holds the whole
// policy of the stores, once: what accepting, editing, answering, delivering,
// listing, erasing and copying mean.
//
// Each method that changes something is a step: it reads rows, decides, and returns
// values that the backend commits. A step may run twice, so it only reads, and
// assigns all its results anew. It remembers nothing between steps, so several
// processes can share the rows.
//
// A [Store] is safe for concurrent use and starts no goroutines; its backend has
// its own.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// Store keeps conversations and the two queues around them in a backend: see package
// sessions. The packages of the backends open it.
type Store struct {
	back    rows.Backend
	name    string
	now     func() time.Time
	watcher *watcher // nil: nobody watches
	// measure hears of each operation: see Measure. Nil: nobody measures.
	measure func(operation string, took time.Duration, err error)
	// refuses, if not nil, is since when and why the store accepts no message.
	refuses atomic.Pointer[refusal]
	// checkFails: the last Check could not write, so the next one can tell when that is over.
	checkFails atomic.Bool
}

// refusal is why a store accepts no message, and when it refused the first and the last.
type refusal struct {
	first, last time.Time
	err         error
}

// refusesFor is how long a store counts as refusing messages after the last one that it
// refused: networks send those again, so somebody asks.
const refusesFor = 2 * time.Minute

// noteAccept notes how Accept ended. Errors that are not the store's do not count, nor do
// those that a check finds as well.
func (s *Store) noteAccept(ctx context.Context, err error) {
	before := s.refuses.Load()
	_, isRefused := errors.AsType[*sessions.ReplaceError](err)
	switch {
	case err == nil:
		if before != nil {
			s.refuses.Store(nil)
		}
	case ctx.Err() != nil || errors.Is(err, sessions.ErrFull) || isRefused || s.checkFails.Load():
	default:
		now := s.now()
		r := &refusal{first: now, last: now, err: err}
		if before != nil && now.Sub(before.last) < refusesFor {
			r.first = before.first
		}
		s.refuses.Store(r)
	}
}

// New returns a store over b. Its errors begin with name, the backend's package. A
// nil now is time.Now.
func New(b rows.Backend, name string, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{back: b, name: name, now: now}
}

func (s *Store) wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.name, what, err)
	}
	return nil
}

// view reads rows outside of a step.
func (s *Store) view(ctx context.Context) *view { return &view{ctx: ctx, r: s.back} }

// viewOf is view for a method that is about one key. It refuses an empty one.
func (s *Store) viewOf(ctx context.Context, k channels.Key) *view {
	v := s.view(ctx)
	v.err = hasKey(k)
	return v
}

// update runs the step f and commits its changes. keys are those that f is about, if
// they are known before; an empty one is refused.
func (s *Store) update(ctx context.Context, what string, f func(*step) error, keys ...channels.Key) error {
	began := time.Now()
	err := s.commit(ctx, f, keys)
	s.timed(what, began, err)
	return s.wrap(what, err)
}

func (s *Store) commit(ctx context.Context, f func(*step) error, keys []channels.Key) error {
	err := cmp.Or(hasKey(keys...), ctx.Err())
	var changes rows.Changes
	var still []*rows.Out
	if err == nil {
		err = s.back.Update(ctx, keys, func(r rows.Reader) (rows.Changes, error) {
			st := &step{
				view: view{ctx: context.WithoutCancel(ctx), r: r}, now: s.now(),
				chats: map[channels.Key]*chat{},
			}
			err := f(st)
			if err = cmp.Or(st.err, err); err != nil {
				return rows.Changes{}, err
			}
			changes, still = st.done(), st.still
			return changes, nil
		})
	}
	if err == nil && s.watcher != nil {
		s.watcher.tell(&changes, still)
	}
	return err
}

// Measure calls f after each step and each of the reads that turns and deliveries begin
// with: how long it took, and its error. operation is one of some thirty constant names. f
// runs in the goroutine of the operation and must not block. Call Measure once, before
// the store is used.
func (s *Store) Measure(f func(operation string, took time.Duration, err error)) { s.measure = f }

func (s *Store) timed(operation string, began time.Time, err error) {
	if s.measure != nil {
		s.measure(operation, time.Since(began), err)
	}
}

// claimed runs a step under a live claim.
func (s *Store) claimed(ctx context.Context, what string, c sessions.Claim, f func(*step, *chat) error) error {
	if c.Key.IsZero() || c.Epoch == 0 {
		return s.wrap(what, sessions.ErrFenced)
	}
	return s.update(ctx, what, func(st *step) error {
		chat := st.chat(c.Key)
		if chat.Claim != c.Epoch {
			return sessions.ErrFenced
		}
		return f(st, chat)
	}, c.Key)
}

// live reads rows under a claim. A fence in between may have closed some of them, so
// it checks the claim before and after.
func (s *Store) live(ctx context.Context, what string, c sessions.Claim, read func(*view)) error {
	began := time.Now()
	v := s.view(ctx)
	v.err = s.back.Live(c)
	read(v)
	if v.err == nil {
		v.err = s.back.Live(c)
	}
	s.timed(what, began, v.err)
	return s.wrap(what, v.err)
}

// Backend returns the backend of s, which may have abilities of its own, such as
// sessions.Peers.
func (s *Store) Backend() rows.Backend { return s.back }

// Run calls h for every key that has a due inbox message or delivery: different keys
// in parallel, one key one call at a time. When ctx ends, it waits for the handlers
// and returns nil. h's context ends with ctx, or with cause ErrFenced when its claim
// is fenced. Postponed messages and deliveries make their key due at their time.
// Claiming raises the key's epoch. Run may be called only once.
func (s *Store) Run(ctx context.Context, h sessions.Handler) error {
	return s.wrap("run", s.back.Run(ctx, h))
}

// Hold waits for the lease called name, calls run while it is held, and returns run's
// error. The context of run ends when the lease is lost.
func (s *Store) Hold(ctx context.Context, name string, run func(context.Context) error) error {
	return s.back.Hold(ctx, name, run)
}

// Stats counts the queues. It is cheap enough to be called every few seconds.
func (s *Store) Stats(ctx context.Context) (sessions.Stats, error) {
	st, err := s.back.Stats(ctx)
	st.Answers = st.Unsent
	if err == nil && st.Unsent > 0 && st.Unsent <= mostCounted {
		st.Answers, err = s.unsentAnswers(ctx)
	}
	return st, s.wrap("stats", err)
}

// mostCounted is the greatest number of deliveries that are read to count their answers.
// Beyond it, each counts as one.
const mostCounted = 2000

// unsentAnswers counts the answers that are not delivered in whole: each by its last part,
// which is sent last.
func (s *Store) unsentAnswers(ctx context.Context) (n int, err error) {
	v := s.view(ctx)
	for o := range v.outbox(channels.Key{}, rows.QueueFilter{Unsent: true}) {
		if o.Part == o.Parts {
			n++
		}
	}
	return n, v.err
}

// Check proves that the store can write now. It also fails, with a
// [sessions.RefusesError], if no message could be stored lately: a full disk may have room
// for the write of a check, and none for a message.
func (s *Store) Check(ctx context.Context) error {
	err := s.back.Check(ctx)
	s.checkFails.Store(err != nil)
	if err != nil {
		s.refuses.Store(nil)
		return s.wrap("check", err)
	}
	if r := s.refuses.Load(); r != nil && s.now().Sub(r.last) < refusesFor {
		return s.wrap("check", &sessions.RefusesError{Since: r.first, Why: r.err.Error()})
	}
	return nil
}

// Close ends the store after Run has returned.
func (s *Store) Close() error { return s.back.Close() }
