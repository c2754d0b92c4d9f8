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
//
// The same state machine is the engine of the file store: made by [Open] over
// a [Disk], it tells the disk what every step changed before anybody sees that
// it did, and keeps in memory only the conversations that are in use. Then it
// has one goroutine more, the one that reads the disk and then commits, which
// Close ends. Every method but Hold waits until the disk has been read; if it
// cannot be, all of them say so, Run among them.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	// Name is the package that errors are said to come from; "memory" if "".
	Name string
}

// Store keeps everything in memory. Make it with [New] or [Open].
type Store struct {
	name   string // of the package in errors
	now    func() time.Time
	log    *slog.Logger
	work   *dispatch.Dispatcher
	leases dispatch.Leases
	disk   Disk // nil: memory alone
	batch  *batcher
	// begun is closed when the disk has been read, or could not be for the
	// reason beginErr. It is nil without a disk.
	begun    chan struct{}
	beginErr error
	// outside counts what goes on at the disk without the lock. Only what
	// finds the store open under the lock, or the batcher, adds to it.
	outside sync.WaitGroup

	// rewritten is when messages of conversations that go on were erased: a
	// summary that was begun before may have their words. mu is held.
	rewritten map[channels.Key]time.Time

	mu     sync.Mutex
	closed bool
	broken bool // the disk failed: the state is to be read anew
	state
}

// state is everything that is stored.
type state struct {
	chats    map[channels.Key]*chat
	ranked   ranking         // those of them with a conversation
	seen     *SeenIDs        // the seq of what was accepted
	erased   map[string]bool // by rules.Hash of rules.Dedupe
	restored string          // the name of the store that this one was restored from
	prefix   string          // of delivery ids
	lastIn   int64           // number of the last inbox row
	lastOut  int64
	sent     idFilter // ids of deliveries; nil until a restore asks for them
	asides   []*asideRow
	days     map[string]int64 // generations begun, by day
	updates  int64            // orders conversations that were changed at one time

	due         map[string]time.Time // jobs
	occurrences []*occurrence
	outcomes    map[dueTime]*occurrence // the same, by what they are of
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

	// What is here of it. Over a disk, one that was not used for a while has
	// neither rows nor messages, and of one in use those that are done and on
	// disk may be missing.
	loaded, whole bool
	read          bool // somebody asked for all of it
	used          time.Time
	touched       int64 // how often it changed
	note          *note // of the step that changes it now
	place         int   // in the ranking, from 1; 0 is none
}

func newState() state {
	return state{
		chats:    map[channels.Key]*chat{},
		seen:     &SeenIDs{},
		erased:   map[string]bool{},
		days:     map[string]int64{},
		due:      map[string]time.Time{},
		outcomes: map[dueTime]*occurrence{},
		facts:    map[string][]sessions.Fact{},
	}
}

// New makes an empty store without a disk.
func New(o Options) *Store {
	s := newStore(o)
	s.work = s.dispatcher(0)
	return s
}

func newStore(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{name: cmp.Or(o.Name, "memory"), now: o.Now, log: o.Logger, state: newState(), rewritten: map[channels.Key]time.Time{}}
}

func (s *Store) dispatcher(epoch int64) *dispatch.Dispatcher {
	return dispatch.New(dispatch.Options{Now: s.now, Logger: s.log, Epoch: epoch})
}

// Wait returns when the disk has been read, with the reason if it could not
// be.
func (s *Store) Wait(ctx context.Context) error {
	if s.begun == nil {
		return nil
	}
	select {
	case <-s.begun:
		return s.beginErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// update runs f under the lock. If f returns an error it has changed nothing.
func (s *Store) update(ctx context.Context, what string, f func(*change) error) error {
	return s.updateAnd(ctx, what, f, nil)
}

// updateAnd is update, and what the disk has to do before the caller is told:
// it goes on without the lock, and others do not wait for it.
func (s *Store) updateAnd(ctx context.Context, what string, f func(*change) error, after func(Disk) error) error {
	err := ctx.Err()
	if err == nil {
		err = s.Wait(ctx)
	}
	switch {
	case err != nil:
	case s.batch != nil:
		err = s.batch.do(ctx, &op{run: f, after: after != nil})
		if err == nil && after != nil {
			err = after(s.disk)
			s.outside.Done()
		}
	default:
		err = s.updateNow(f)
	}
	return s.wrap(what, err)
}

// updateNow is update without a disk.
func (s *Store) updateNow(f func(*change) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	c := &change{now: s.now()}
	if err := f(c); err != nil {
		return err
	}
	s.rank(c)
	s.work.Apply(c.items, c.fenced)
	return nil
}

// read runs f under the lock.
func (s *Store) read(ctx context.Context, what string, f func() error) error {
	err := ctx.Err()
	if err == nil {
		err = s.Wait(ctx)
	}
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.closed:
			err = errClosed
		case s.broken:
			err = s.mend()
		}
	}
	if err == nil {
		err = f()
	}
	return s.wrap(what, err)
}

func (s *Store) wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.name, what, err)
	}
	return nil
}

// claimed runs f under the lock if c is the live claim of its key.
func (s *Store) claimed(ctx context.Context, what string, c sessions.Claim, f func(*change, *chat) error) error {
	return s.update(ctx, what, func(ch *change) error {
		// A fence of the same batch has not reached the dispatcher yet.
		if err := s.work.Check(c); err != nil || slices.Contains(ch.fencedBefore, c.Key) {
			return sessions.ErrFenced
		}
		chat, err := s.chat(c.Key)
		if err != nil {
			return err
		}
		return f(ch, chat)
	})
}

// claimedRead is claimed for what changes nothing.
func (s *Store) claimedRead(ctx context.Context, what string, c sessions.Claim, f func(*chat) error) error {
	return s.read(ctx, what, func() error {
		if err := s.work.Check(c); err != nil {
			return err
		}
		chat, err := s.chat(c.Key)
		if err != nil {
			return err
		}
		return f(chat)
	})
}

// Run is part of [sessions.Work].
func (s *Store) Run(ctx context.Context, h sessions.Handler) error {
	// Without ctx: a second Run is refused also if the first came to nothing.
	if err := s.Wait(context.WithoutCancel(ctx)); err != nil {
		return s.wrap("run", err)
	}
	return s.work.Run(ctx, h)
}

// Hold is part of [sessions.Leases].
func (s *Store) Hold(ctx context.Context, name string, run func(context.Context) error) error {
	return s.leases.Hold(ctx, name, run)
}

// Stats is part of [sessions.Store].
func (s *Store) Stats(ctx context.Context) (st sessions.Stats, err error) {
	err = s.read(ctx, "stats", func() error {
		st = s.work.Stats()
		for _, c := range s.chats {
			for _, o := range c.out {
				if o.State == sessions.DeliveryDead {
					st.Dead++
				}
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

// Check is part of [sessions.Store]. Over a disk it writes something.
func (s *Store) Check(ctx context.Context) error {
	return s.update(ctx, "check", func(ch *change) error {
		ch.write = true
		return nil
	})
}

// Close is part of [sessions.Store]. What is queued for the disk is done
// first, and what reads it comes to its end; the disk itself stays open, it is
// the caller's.
func (s *Store) Close() error {
	if s.batch != nil {
		s.batch.close()
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.outside.Wait()
	return nil
}
