// Package file keeps each conversation in a file of its own, as JSON that a
// person can read.
//
// Its promise is that of package sessions: a method that returned nil has
// changed the disk, and the change survives kill -9 and a power cut; a method
// that returned an error has changed nothing. The one commit point is a log:
// up to 256 steps share one line of it and one fsync. Documents follow the log
// within seconds, each replaced in one piece (draft, fsync, rename, fsync of
// the folder), and a start reads what the log has and the documents do not.
//
//	conversations/telegram_123456.json   the newest messages, what waits, settings
//	archive/telegram_123456.jsonl        all of it, only ever added to
//	jobs/                                queues of scheduled jobs, which have no conversation
//	store.json                           people, facts, jobs, what was set aside
//	log/                                 commits that are not in the files yet
//	index.json, seen.ids                 made anew from the others if lost
//
// The rows in memory are those of package memory. In memory are the heads of all
// conversations, some 30 bytes for each message that was ever accepted, up to
// 300 for one whose conversation was deleted, and the newest messages of
// conversations that were used in the last half hour. Beyond some ten thousand
// conversations or a million messages sqlite is the better store.
//
// What can fail, and how:
//
//   - The disk is full or an fsync fails: the methods of that commit return the
//     error, nothing of them is stored, and the store works again when there is
//     room.
//   - The last line of the log is cut: a crash did that, nobody was told that
//     the commit had been made. It is cut off.
//   - A document cannot be read: it is renamed to NAME.corrupt-TIME and never
//     touched again, and the conversation is made anew from the archive and the
//     log. The others go on. So do they after damage to an archive or to the
//     middle of the log, of which everything that can be read is kept.
//   - An archive is gone: the start says how many messages went with it, and
//     begins it anew with those that the document shows.
//   - Another process has the store open: Open says so.
//   - The folder holds something else, and no store: Open says so and leaves it
//     as it is.
//   - Files cannot be read, or a document is of a newer version: Open does not
//     know yet, because it does not wait until they are read. Every method but
//     Hold waits, and says it; so does Run. Nothing is written.
//
// The goroutines are the one that reads the files and then commits, the one
// that writes documents and up to four that help it for a moment, and those of
// the dispatcher in Run. Close ends all but the last.
package file

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/memory"
	"dragoman/sessions/rules"
)

var _ sessions.Store = (*Store)(nil)

// Options adjust a [Store]. The zero value works.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger is told about damage and about failing handlers. Nil discards.
	Logger *slog.Logger
	// Settle is how long a change waits in the log before its document is
	// written, and how often the store looks for such changes: a document is at
	// most twice that behind. 0 is two seconds.
	Settle time.Duration
	// LogBytes is how long the log grows before it is dropped, after all
	// documents were written. 0 is 8 MB.
	LogBytes int64
}

// Store keeps conversations in files. Make it with [Open].
type Store struct {
	*memory.Store
	opts  Options
	disk  *disk
	flock *os.File

	checkpoints sync.Mutex
	stop        context.CancelFunc
	ended       chan struct{} // closed when the goroutine that writes documents has ended
	closed      sync.Once
}

// Open opens the store in the directory dir, making it if there is none, for
// this user alone. Errors: ErrForeign.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	s, err := open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("file: open %s: %w", dir, err)
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	go s.keep(ctx)
	return s, nil
}

func open(dir string, o Options) (_ *Store, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Settle <= 0 {
		o.Settle = 2 * time.Second
	}
	if o.LogBytes <= 0 {
		o.LogBytes = 8 << 20
	}
	if _, err := Look(dir); err != nil {
		return nil, err
	}
	s := &Store{opts: o, ended: make(chan struct{})}
	if s.flock, err = lockDir(dir); err != nil {
		return nil, err
	}
	s.disk = &disk{
		dir: dir, now: o.Now, log: o.Logger, journal: journal{dir: filepath.Join(dir, logDir)},
		states: map[channels.Key]docState{},
	}
	s.disk.checkpoint = func() error { return s.checkpoint(context.Background()) }
	s.Store = memory.Open(memory.Options{Now: o.Now, Logger: o.Logger, Name: "file"}, s.disk)
	return s, nil
}

// keep is the goroutine that writes documents.
func (s *Store) keep(ctx context.Context) {
	defer close(s.ended)
	if s.Wait(ctx) != nil {
		return // whoever uses the store is told why
	}
	ticker := time.NewTicker(s.opts.Settle)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		written, err := s.settle(ctx, s.opts.Now().Add(-s.opts.Settle))
		if err == nil && s.disk.dropLog(s.opts.LogBytes) {
			err = s.checkpoint(ctx)
		}
		failed := err != nil && ctx.Err() == nil
		switch {
		case failed && !failing: // said once, not each time
			s.opts.Logger.Error("documents cannot be written; new messages stay in the log", "err", err)
		case failing && written == 0: // no news
			failed = true
		case failing && !failed:
			s.opts.Logger.Info("documents are written again")
		}
		failing = failed
		s.Store.Release(s.opts.Now().Add(-rules.Idle))
	}
}

// dropLog reports whether the log is longer than most, or holds what was
// deleted since.
func (d *disk) dropLog(most int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stale || d.journal.total > most
}

// closeFor bounds how long Close writes documents. What it does not come to is
// in the log, and the next life goes on from there: documents that were written
// are only looked at. 8,000 of them took four lives that did nothing else.
const closeFor = 3 * time.Second

// Close implements [sessions.Store].
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		s.stop()
		<-s.ended
		err = s.Store.Close()
		ctx, cancel := context.WithTimeout(context.Background(), closeFor)
		defer cancel()
		if s.Wait(ctx) != nil {
			// Nothing was read, so there is nothing to write.
		} else if err := s.checkpoint(ctx); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn("not all documents could be written; the log has the rest", "err", err)
		}
		err = errors.Join(err, s.disk.journal.close(), s.flock.Close())
	})
	if err != nil {
		return fmt.Errorf("file: close: %w", err)
	}
	return nil
}
