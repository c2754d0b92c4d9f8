// Package memory is the reference backend: the contract of package sessions
// in plain maps and slices under one mutex. It keeps nothing on disk, so its
// promises end with the process; within the process it keeps all of them, and
// it never fails for a reason of its own. Tests use it, and a reader who wants
// to know what a method of the contract really does finds it here in the
// fewest lines.
//
// Each changing method checks everything first and changes state only when
// nothing can fail any more, which is what makes it atomic. The goroutines are
// those of the dispatcher in Run.
package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
)

var _ sessions.Store = (*Store)(nil)

var errClosed = errors.New("the store is closed")

// Options adjust a [Store]. The zero value works.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger is told about failing handlers. Nil discards.
	Logger *slog.Logger
}

// Store keeps everything in memory. Make it with [New].
type Store struct {
	now    func() time.Time
	work   *dispatch.Dispatcher
	leases dispatch.Leases

	mu      sync.Mutex
	closed  bool
	chats   map[channels.Key]*chat
	seen    map[string]*inRow // by rules.Dedupe
	erased  map[string]bool   // by rules.Hash of that
	name    string            // of the store that this one was restored from
	lastIn  int               // number of the last inbox row
	lastOut int
	in      []*inRow
	out     []*outRow
	asides  []*asideRow
	days    map[string]int64 // generations begun, by day
	updates int64            // orders conversations that were changed at one time

	due         map[string]time.Time // jobs
	occurrences []*occurrence
	pairings    []*sessions.Pairing
	facts       map[string][]sessions.Fact
	lastFact    int64
}

// chat is all that is known of one key.
type chat struct {
	key    channels.Key
	seq    int64 // last of inbox and outbox
	msgSeq int64 // last of the transcript; it survives Delete
	in     []*inRow
	out    []*outRow
	steps  map[string][]sessions.Step
	conv   *conversation // nil without a transcript
}

// New makes an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{
		now:    o.Now,
		work:   dispatch.New(dispatch.Options{Now: o.Now, Logger: o.Logger}),
		chats:  map[channels.Key]*chat{},
		seen:   map[string]*inRow{},
		erased: map[string]bool{},
		days:   map[string]int64{},
		due:    map[string]time.Time{},
		facts:  map[string][]sessions.Fact{},
	}
}

// change is one atomic step: f checks, then changes, then notes here what it
// means for the dispatcher.
type change struct {
	now    time.Time
	items  []dispatch.Item
	fenced []channels.Key
}

// update runs f under the lock. If f returns an error it has changed nothing.
func (s *Store) update(ctx context.Context, what string, f func(*change) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: %s: %w", what, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &change{now: s.now()}
	err := errClosed
	if !s.closed {
		err = f(c)
	}
	if err != nil {
		return fmt.Errorf("memory: %s: %w", what, err)
	}
	s.work.Apply(c.items, c.fenced)
	return nil
}

// read runs f under the lock.
func (s *Store) read(ctx context.Context, what string, f func() error) error {
	return s.update(ctx, what, func(*change) error { return f() })
}

// claimed runs f under the lock if c is the live claim of its key.
func (s *Store) claimed(ctx context.Context, what string, c sessions.Claim, f func(*change, *chat) error) error {
	return s.update(ctx, what, func(ch *change) error {
		if err := s.work.Check(c); err != nil {
			return err
		}
		return f(ch, s.chat(c.Key))
	})
}

// chat returns what is known of k, making it if nothing is.
func (s *Store) chat(k channels.Key) *chat {
	c := s.chats[k]
	if c == nil {
		c = &chat{key: k, steps: map[string][]sessions.Step{}}
		s.chats[k] = c
	}
	return c
}

// Run is part of [sessions.Work].
func (s *Store) Run(ctx context.Context, h sessions.Handler) error { return s.work.Run(ctx, h) }

// Hold is part of [sessions.Leases].
func (s *Store) Hold(ctx context.Context, name string, run func(context.Context) error) error {
	return s.leases.Hold(ctx, name, run)
}

// Stats is part of [sessions.Store].
func (s *Store) Stats(ctx context.Context) (st sessions.Stats, err error) {
	err = s.read(ctx, "stats", func() error {
		st = s.work.Stats()
		for _, o := range s.out {
			if o.State == sessions.DeliveryDead {
				st.Dead++
			}
		}
		for _, a := range s.asides {
			if !a.dropped {
				st.Aside++
			}
		}
		return nil
	})
	return st, err
}

// Check is part of [sessions.Store].
func (s *Store) Check(ctx context.Context) error {
	return s.read(ctx, "check", func() error { return nil })
}

// Close is part of [sessions.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
