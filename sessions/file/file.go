// Package file keeps each conversation in a file, as JSON that a person can read.
//
// Its promise is that of package sessions: a method that returned nil has
// changed the disk, and the change survives kill -9 and a power cut; a method
// that returned an error has changed nothing. The one commit point is a file of
// rows, as package sqlite has them. Each commit marks there the keys that it
// changed. Documents follow the marks within seconds, each replaced in one piece
// (draft, fsync, rename, fsync of the folder).
//
//	rows.db                              everything
//	conversations/telegram_123456.json   the newest messages, what waits, settings
//	archive/telegram_123456.jsonl        every message, one per line
//	jobs/                                queues of scheduled jobs, which have no conversation
//	store.json                           people, facts, jobs, what was set aside
//
// Open looks at documents that are not as they were written: what a person
// changed there counts. If the rows are lost, they are read from the other files.
//
// What can fail, and how:
//
//   - The disk is full, or an fsync of the rows fails: as in package sqlite.
//     Documents that cannot be written stay marked.
//   - A document cannot be read: it is renamed to NAME.corrupt-TIME and never
//     touched again, and written anew. So is a document or an archive that is gone.
//   - The rows are damaged: Open says so and changes nothing. If they are moved
//     away, the next start reads the documents and archives.
//   - Another process has the store open, a newer version wrote some of it, or the
//     folder holds something else: Open says so and leaves it as it is.
//
// The goroutines are the one that writes documents, up to four that help it for a
// moment, those of the rows, and those of the dispatcher in Run. Close ends all but
// the last.
package file

import (
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

var (
	_ sessions.Store = (*Store)(nil)
	_ rows.Scrubber  = (*backend)(nil)
)

// Options adjust a [Store]. The zero value works.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger is told about damage and about failing handlers. Nil discards.
	Logger *slog.Logger
	// Settle is how often documents are written of what changed. 0 is four
	// seconds.
	Settle time.Duration
}

// Store is the engine over rows that have documents. Make it with [Open].
type Store struct {
	*engine.Store
	b *backend
}

// backend is the rows, and the documents of them.
type backend struct {
	*sqlite.Backend
	dir   string
	now   func() time.Time
	log   *slog.Logger
	flock *os.File

	settling sync.Mutex // held while documents are written
	stop     context.CancelFunc
	ended    chan struct{} // closed when the goroutine that writes documents has ended
	closed   sync.Once
}

// The names in the folder of a store.
const (
	rowsName    = "rows.db"
	documentDir = "conversations"
	archiveDir  = "archive"
	jobDir      = "jobs"
)

// Open opens the store in the directory dir, making it if there is none, for
// this user alone. It takes over what somebody changed in documents. Errors:
// ErrForeign, sessions.NewerError.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	s, err := open(ctx, dir, o)
	if err != nil {
		return nil, fmt.Errorf("file: open %s: %w", dir, err)
	}
	return s, nil
}

func open(ctx context.Context, dir string, o Options) (_ *Store, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Settle <= 0 {
		o.Settle = 4 * time.Second
	}
	if _, err := Look(dir); err != nil {
		return nil, err
	}
	b := &backend{dir: filepath.Clean(dir), now: o.Now, log: o.Logger, ended: make(chan struct{})}
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
	go b.keep(ctx, o.Settle)
	return s, nil
}

// begin opens the rows and makes them and the documents agree.
func (b *backend) begin(ctx context.Context, o Options) (_ *Store, err error) {
	// A store whose rows are still to be made is not touched if it is too new.
	if found, err := sqlite.Look(b.rowsPath()); err != nil || !found {
		if err := errors.Join(err, Newer(b.dir)); err != nil {
			return nil, err
		}
	}
	if err := b.removeDrafts(); err != nil {
		return nil, err
	}
	if b.Backend, err = sqlite.OpenBackend(ctx, b.rowsPath(), sqlite.Options{Now: o.Now, Logger: o.Logger}); err != nil {
		return nil, err
	}
	s := &Store{engine.New(b, "file", b.now), b}
	return s, s.compare(ctx)
}

func (b *backend) removeDrafts() error {
	drafts, err := pathsWith(b.dir, draftEnding, storeDirs...)
	for _, path := range drafts {
		err = errors.Join(err, removed(os.Remove(path)))
	}
	return err
}

func (b *backend) rowsPath() string { return filepath.Join(b.dir, rowsName) }

// documentPath is the document of k, or with no key what belongs to none.
func (b *backend) documentPath(k channels.Key) string {
	if k.IsZero() {
		return filepath.Join(b.dir, commonName)
	}
	return filepath.Join(b.dir, folder(k, documentDir), fileName(k)+".json")
}

func (b *backend) archivePath(k channels.Key) string {
	return filepath.Join(b.dir, folder(k, archiveDir), fileName(k)+".jsonl")
}

// folder is where the files of k are: those of a scheduled job, which has a
// queue and no conversation, are not among the conversations.
func folder(k channels.Key, usual string) string {
	if k.Channel() == string(sessions.OriginHeartbeat) {
		return jobDir
	}
	return usual
}

// keep is the goroutine that writes documents.
func (b *backend) keep(ctx context.Context, every time.Duration) {
	defer close(b.ended)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		stale, err := b.settle(ctx)
		failed := err != nil && ctx.Err() == nil
		switch {
		case failed && !failing: // said once, not each time
			b.log.Error("documents cannot be written; new messages are in "+rowsName+" alone", "err", err)
		case failing && stale == 0: // no news
			failed = true
		case failing && !failed:
			b.log.Info("documents are written again")
		}
		failing = failed
	}
}

// Scrub leaves no byte of what was deleted: see rows.Scrubber. Files that were
// set aside are removed for keys that are gone; nobody can tell what is in the
// others, so they are named.
func (b *backend) Scrub(ctx context.Context, keys []channels.Key) error {
	b.settling.Lock() // nobody reads while the rows are written anew
	defer b.settling.Unlock()
	if _, err := b.settleLocked(ctx); err != nil {
		return err
	}
	if err := b.Backend.Scrub(ctx, keys); err != nil { // the marks named the keys
		return err
	}
	aside, err := Damaged(b.dir)
	for _, name := range aside {
		if slices.ContainsFunc(keys, func(k channels.Key) bool { return asideOf(name, k) }) {
			err = errors.Join(err, removed(os.Remove(filepath.Join(b.dir, name))), syncDir(filepath.Join(b.dir, filepath.Dir(name))))
		} else {
			b.log.Warn("a damaged file was set aside and may hold erased text; look at it and remove it", "file", name)
		}
	}
	return err
}

// removeAside removes what was set aside of k. settle syncs the folders.
func (b *backend) removeAside(k channels.Key, aside func() ([]string, error)) error {
	all, err := aside()
	for _, name := range all {
		if asideOf(name, k) {
			err = errors.Join(err, removed(os.Remove(filepath.Join(b.dir, name))))
		}
	}
	return err
}

// asideOf reports whether name is a document or an archive of k that was set
// aside because it was damaged.
func asideOf(name string, k channels.Key) bool {
	base, _, _ := strings.Cut(filepath.Base(name), corruptEnding)
	return base == fileName(k)+".json" || base == fileName(k)+".jsonl"
}

// closeFor bounds how long Close writes documents. What it does not come to is
// marked, and the next life goes on from there.
const closeFor = 3 * time.Second

// Close ends the store: see rows.Backend.
func (b *backend) Close() error {
	var err error
	b.closed.Do(func() {
		b.stop()
		<-b.ended
		ctx, cancel := context.WithTimeout(context.Background(), closeFor)
		defer cancel()
		if _, err := b.settle(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("not all documents could be written; "+rowsName+" has the rest", "err", err)
		}
		err = errors.Join(b.Backend.Close(), b.flock.Close())
	})
	if err != nil {
		return fmt.Errorf("file: close: %w", err)
	}
	return nil
}
