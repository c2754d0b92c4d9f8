// Package file keeps each conversation in a file, as JSON that a person can read.
//
// Its promise is that of package sessions: a method that returned nil has
// changed the disk, and the change survives kill -9 and a power cut; a method
// that returned an error has changed nothing. The one commit point is a database of
// rows, the one of package sqlite. Each commit marks the keys that it changed. Their
// documents follow within seconds, each replaced in one piece (draft, fsync, rename,
// fsync of the folder).
//
//	rows.db                              everything
//	conversations/telegram_123456.json   the newest messages, open queue rows, settings
//	archive/telegram_123456.jsonl        every message, one per line
//	jobs/                                queues of scheduled jobs, which have no conversation
//	store.json                           people, facts, jobs, quarantined messages, notes, counts
//
// Open reads the documents that changed since they were written and applies what
// a person edited in them. If rows.db is lost, Open rebuilds it from the other files.
//
// Failures:
//
//   - The disk is full, or an fsync of the rows fails: as in package sqlite.
//     Documents that cannot be written stay marked.
//   - A document cannot be read: Open renames it to NAME.corrupt-TIME, never
//     touches it again, and writes a new one. A missing document or archive is
//     written anew, too.
//   - rows.db is damaged: Open refuses and changes nothing. If the operator moves it
//     away, the next start reads the documents and archives.
//   - Another process has the store open, a newer version wrote some of it, or the
//     folder holds something else: Open refuses and changes nothing.
//
// Goroutines: one writes documents, with up to four short-lived helpers. Close ends
// it and those of the rows. Run owns the dispatcher's.
package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
	"dragoman/sessions/sqlite"
)

var _ rows.Scrubber = (*backend)(nil)

// Options adjust a store. The zero value works.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger receives reports of damage and of failing handlers. Nil discards them.
	Logger *slog.Logger
	// FlushInterval is the time between two writes of changed documents. 0 is four
	// seconds.
	FlushInterval time.Duration
	// Converting, if not nil, is called before the files of a store of format 2, or the
	// rows of a former version, are converted, which takes seconds in a large store. A
	// copy of them stays in backup.
	Converting func(backup string)
}

// store is the engine over rows that have documents, while they are reconciled.
type store struct {
	*engine.Store
	b *backend
}

// backend is the rows and their documents.
type backend struct {
	*sqlite.Backend
	dir   string
	now   func() time.Time
	log   *slog.Logger
	flock *os.File

	flushing sync.Mutex // held while documents are written
	stop     context.CancelFunc
	stopped  chan struct{} // closed when flushLoop has returned
	closed   sync.Once
}

// The names in the folder of a store.
const (
	rowsName    = "rows.db"
	documentDir = "conversations"
	archiveDir  = "archive"
	jobDir      = "jobs"
)

// Open opens the store in the directory dir and creates it if it is missing,
// readable by this user alone. Edits in documents become rows. Errors:
// ErrForeign, sessions.NewerError.
func Open(ctx context.Context, dir string, o Options) (*engine.Store, error) {
	s, err := open(ctx, dir, o)
	if err != nil {
		return nil, fmt.Errorf("file: open %s: %w", dir, err)
	}
	return s, nil
}

func open(ctx context.Context, dir string, o Options) (_ *engine.Store, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.FlushInterval = cmp.Or(o.FlushInterval, 4*time.Second)
	if o.Converting == nil {
		o.Converting = func(string) {}
	}
	if _, err := Look(dir); err != nil {
		return nil, err
	}
	b := &backend{dir: filepath.Clean(dir), now: o.Now, log: o.Logger, stopped: make(chan struct{})}
	if b.flock, err = lockDir(dir); err != nil {
		return nil, err
	}
	s, err := b.begin(ctx, o)
	if err != nil {
		if b.Backend != nil {
			err = errors.Join(err, b.Backend.Close())
		}
		return nil, errors.Join(err, b.flock.Close())
	}
	ctx, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	go b.flushLoop(ctx, o.FlushInterval)
	return s, nil
}

// begin opens the rows and reconciles them with the documents.
func (b *backend) begin(ctx context.Context, o Options) (_ *engine.Store, err error) {
	// Without rows, the documents tell whether the store is too new. Check before
	// rows.db is created.
	if found, err := sqlite.Look(b.rowsPath()); err != nil || !found {
		if err := errors.Join(err, Newer(b.dir)); err != nil {
			return nil, err
		}
	}
	drafts, err := listFiles(b.dir, draftSuffix, storeDirs...)
	for _, path := range drafts {
		err = errors.Join(err, ignoreMissing(os.Remove(path)))
	}
	if err != nil {
		return nil, err
	}
	if b.Backend, err = sqlite.OpenBackend(ctx, b.rowsPath(), sqlite.Options{
		Now: o.Now, Logger: o.Logger, Converting: o.Converting, CopyTo: b.dir + "." + rowsName + sqlite.CopySuffix,
	}); err != nil {
		return nil, err
	}
	s := store{engine.New(b, "file", b.now), b}
	return s.Store, s.reconcile(ctx, o.Converting)
}

func (b *backend) rowsPath() string { return filepath.Join(b.dir, rowsName) }

// documentName is the path of k's document within the store. The zero key has store.json.
func documentName(k channels.Key) string {
	if k.IsZero() {
		return commonName
	}
	return filepath.Join(folder(k, documentDir), fileName(k)+".json")
}

func archiveName(k channels.Key) string {
	return filepath.Join(folder(k, archiveDir), fileName(k)+".jsonl")
}

func (b *backend) documentPath(k channels.Key) string { return filepath.Join(b.dir, documentName(k)) }

func (b *backend) archivePath(k channels.Key) string { return filepath.Join(b.dir, archiveName(k)) }

// folder is usual, or for a scheduled job, which has a queue and no conversation,
// jobDir.
func folder(k channels.Key, usual string) string {
	if k.Channel() == string(sessions.SourceHeartbeat) {
		return jobDir
	}
	return usual
}

// flushLoop writes changed documents until ctx ends. It logs the first failure
// and the recovery, not each failure between.
func (b *backend) flushLoop(ctx context.Context, every time.Duration) {
	defer close(b.stopped)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		stale, err := b.flush(ctx)
		failed := err != nil && ctx.Err() == nil
		switch {
		case failed && !failing:
			b.log.Error("documents cannot be written; new messages are in "+rowsName+" alone", "err", err)
		case failing && stale == 0: // nothing to write proves nothing
			failed = true
		case failing && !failed:
			b.log.Info("documents are written again")
		}
		failing = failed
	}
}

// Scrub leaves no byte of deleted rows: see rows.Scrubber. It removes the damaged
// files of keys. Any other damaged file may hold erased text as well, so Scrub logs
// its name.
func (b *backend) Scrub(ctx context.Context, keys []channels.Key) error {
	b.flushing.Lock() // no reader while the rows are rewritten
	defer b.flushing.Unlock()
	if _, err := b.flushLocked(ctx); err != nil {
		return err
	}
	if err := b.Backend.Scrub(ctx, keys); err != nil { // the marks named the keys
		return err
	}
	damaged, err := Damaged(b.dir)
	for _, name := range damaged {
		if slices.ContainsFunc(keys, func(k channels.Key) bool { return isDamagedFileOf(name, k) }) {
			err = errors.Join(err, ignoreMissing(os.Remove(filepath.Join(b.dir, name))), syncDir(filepath.Join(b.dir, filepath.Dir(name))))
		} else {
			b.log.Warn("a damaged file was set aside and may hold erased text; look at it and remove it", "file", name)
		}
	}
	return err
}

// removeDamaged removes those of the damaged files that are k's. The flush syncs the
// folders.
func (b *backend) removeDamaged(k channels.Key, damaged func() ([]string, error)) error {
	all, err := damaged()
	for _, name := range all {
		if isDamagedFileOf(name, k) {
			err = errors.Join(err, ignoreMissing(os.Remove(filepath.Join(b.dir, name))))
		}
	}
	return err
}

// isDamagedFileOf reports whether name, one of [Damaged], was a document or archive
// of k.
func isDamagedFileOf(name string, k channels.Key) bool {
	base, _, _ := strings.Cut(filepath.Base(name), corruptMark)
	return base == fileName(k)+".json" || base == fileName(k)+".jsonl"
}

// closeTimeout bounds the last flush in Close. The next start writes the rest. Tests, which
// look at the documents then, give it more.
var closeTimeout = 3 * time.Second

// Close ends the store: see rows.Backend.
func (b *backend) Close() error {
	var err error
	b.closed.Do(func() {
		b.stop()
		<-b.stopped
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if _, err := b.flush(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("not all documents could be written; "+rowsName+" has the rest", "err", err)
		}
		err = errors.Join(b.Backend.Close(), b.flock.Close())
	})
	if err != nil {
		return fmt.Errorf("file: close: %w", err)
	}
	return nil
}
