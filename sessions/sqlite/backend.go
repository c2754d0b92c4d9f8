// Package sqlite keeps everything in one SQLite file. It is the default
// backend.
//
// Its promise is that of package sessions: a method that returned nil has
// changed the file, and the change survives kill -9 and a power cut (WAL,
// synchronous=FULL); a method that returned an error has changed nothing. One
// goroutine owns the only connection that writes. It takes what is queued, up
// to 256 operations, into one transaction, so that many callers share one
// fsync. If that fails, each operation gets a transaction for itself, so that
// one that fails does not sink the others.
// Reads use a few connections of their own and see every change that a method
// has returned from.
//
// What can fail, and how:
//
//   - The disk is full or an fsync fails: the methods of that batch return the
//     error, nothing of them is stored, and the store works again when there
//     is room. If the process dies right after a failed fsync, the next start
//     may find that the batch had reached the disk after all; repeats of its
//     messages are duplicates then.
//   - The file is damaged, belongs to another program or to a newer version:
//     Open, or the method that meets the damage, says so in a sentence. The
//     file is never recreated.
//   - Another process has it open: Open says so. What is due is kept in memory
//     while the store is open, so two processes must not share a file.
//
// The goroutines are the writer and, for a moment, the one that forgets
// messages which nobody read for a while, both of which Close ends, and those of
// the dispatcher in Run.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // registers the driver

	"dragoman/channels"
	"dragoman/internal/durable"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
)

var (
	_ sessions.Store = (*Store)(nil)
	_ rows.Backend   = (*backend)(nil)
	_ rows.Scrubber  = (*backend)(nil)
)

// Options adjust a [Store]. The zero value works.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger is told about failing handlers. Nil discards.
	Logger *slog.Logger
	// BusyTimeout is how long to wait for a program that looks into the file
	// with the sqlite3 shell, say. 0 is five seconds.
	BusyTimeout time.Duration
	// Idle is how long messages that were read stay in memory after their last
	// use. 0 is 30 minutes.
	Idle time.Duration
}

// readers is how many reads can run at once.
const readers = 4

// Store is the engine over rows in one file. Make it with [Open].
type Store struct {
	*engine.Store
	b *backend
}

// backend keeps rows in one file.
type backend struct {
	reader
	now    func() time.Time
	path   string
	prefix string // random, part of delivery ids
	work   *dispatch.Dispatcher
	leases dispatch.Leases
	files  []io.Closer // in the order in which they were opened

	writer  *writer
	ops     *durable.Queue[op] // of the writer
	closed  sync.Once
	fenced  []channels.Key // by steps of the batch that is on its way; the writer's
	largest atomic.Int64   // batch so far; tests look whether commits are shared
	// documented says that commits mark the documents that do not show them.
	documented bool

	readers *sql.DB
	reads   statements
	recent  recent
}

// Open opens the store in the file at path, making it if there is none. The
// directory is made too, for this user alone.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	b, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, explain(err))
	}
	return &Store{engine.New(b, "sqlite", b.now), b}, nil
}

func open(ctx context.Context, path string, o Options) (_ *backend, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Idle <= 0 {
		o.Idle = 30 * time.Minute
	}
	// Before the lock, which would be left beside a file that is not ours.
	if _, err := Look(path); err != nil {
		return nil, err
	}
	s := &backend{
		now: o.Now, path: path, ops: durable.NewQueue[op](batchMost), recent: recent{idle: o.Idle},
	}
	s.reader = reader{&s.reads, s, nil}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeFiles())
		}
	}()
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock, err := durable.Lock(path + ".lock") // it ends with the process, however that ends
	if err != nil {
		return nil, err
	}
	s.files = append(s.files, lock)
	if err = prepareFile(ctx, path, o); err != nil {
		return nil, err
	}
	db, err := connect(path, o.BusyTimeout)
	if err != nil {
		return nil, err
	}
	s.files = append(s.files, db)
	if s.writer, err = newWriter(ctx, db); err != nil {
		return nil, err
	}
	s.files = append(s.files, s.writer)
	if err = s.begin(o); err != nil {
		return nil, err
	}
	if s.readers, err = sql.Open("sqlite", dsn(path, o.BusyTimeout)+readerPragmas); err != nil {
		return nil, err
	}
	s.files = append(s.files, s.readers)
	s.readers.SetMaxOpenConns(readers)
	s.readers.SetMaxIdleConns(readers)
	s.reads.prepare, s.reads.ready = s.readers.PrepareContext, s.readable
	go s.ops.Run(s.commit)
	return s, nil
}

// begin proves that the file can be written, brings it up to date, starts a new
// range of epochs, so that no claim of a former process is ever live again, and
// puts on the agenda what is not done. Its cost is that of the open items, whatever
// else is stored.
func (s *backend) begin(o Options) error {
	var epoch int64
	var items []dispatch.Item
	err := s.commit([]op{{run: func(t *tx) (err error) {
		t.addColumn("conversations", "erasures", "INTEGER NOT NULL DEFAULT 0")
		t.endSweeps()
		t.scan([]any{&s.prefix, &epoch}, `UPDATE meta SET incarnation = incarnation + 1 RETURNING prefix, incarnation`)
		t.scan([]any{&t.hashes}, `SELECT EXISTS (SELECT 1 FROM erased)`)
		items, err = t.reader().open(channels.Key{})
		return err
	}}})[0]
	s.work = dispatch.New(dispatch.Options{Now: o.Now, Logger: o.Logger, Epoch: epoch << 32})
	s.work.Apply(items, nil)
	return err
}

// Run is sessions.Work's.
func (s *backend) Run(ctx context.Context, h sessions.Handler) error { return s.work.Run(ctx, h) }

// Hold is sessions.Leases's. This process owns the file, so a lease
// is only ever held against others of the same process.
func (s *backend) Hold(ctx context.Context, name string, run func(context.Context) error) error {
	return s.leases.Hold(ctx, name, run)
}

// Stats is sessions.Store's.
func (s *backend) Stats(ctx context.Context) (sessions.Stats, error) {
	st := s.work.Stats()
	err := s.reads.row(ctx, `SELECT
		(SELECT count(*) FROM outbox WHERE state <> 'sent' AND state = 'dead'),
		(SELECT count(*) FROM aside WHERE dropped = 0)`).Scan(&st.Dead, &st.Quarantined)
	if err != nil {
		return sessions.Stats{}, explain(err)
	}
	return st, nil
}

// Check proves that the file can be written: it commits a change.
func (s *backend) Check(ctx context.Context) error {
	return s.do(ctx, op{run: func(t *tx) error { return t.exec(`UPDATE meta SET checked = ?`, nanos(s.now())) }})
}

// Live checks a claim: see rows.Backend.
func (s *backend) Live(c sessions.Claim) error { return s.work.Check(c) }

// claim is that of k as a step sees it. A fence of the batch that is on its way
// has not reached the dispatcher yet.
func (s *backend) claim(k channels.Key) int64 {
	if slices.Contains(s.fenced, k) {
		return 0
	}
	return s.work.Claim(k)
}

// Update runs a step on the writer's goroutine: see rows.Backend.
func (s *backend) Update(ctx context.Context, _ []channels.Key, f func(rows.Reader) (rows.Changes, error)) error {
	return s.do(ctx, op{run: func(t *tx) error {
		changes, err := f(&t.rows)
		if err == nil {
			err = t.apply(changes)
		}
		return err
	}})
}

// Snapshot runs f in one transaction that reads: see rows.Backend.
func (s *backend) Snapshot(ctx context.Context, f func(rows.Reader) error) error {
	if err := s.readable(ctx); err != nil {
		return err
	}
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return explain(err)
	}
	one := &statements{prepare: tx.PrepareContext, ready: s.readable}
	err = f(reader{one, s, nil})
	return explain(errors.Join(err, tx.Rollback()))
}

func (s *backend) readable(ctx context.Context) error {
	if s.ops.Closed() {
		return durable.ErrClosed
	}
	return ctx.Err()
}

// Scratch is where there is room for what may not fit into memory.
func (s *backend) Scratch() string { return filepath.Dir(s.path) }

// Scrub leaves no byte of what was deleted: see rows.Scrubber. The search index
// is written anew, then the file, and the log is emptied. That takes the time
// and, for a moment, the room of a copy of the file, and nothing else is written
// meanwhile.
func (s *backend) Scrub(ctx context.Context, _ []channels.Key) error {
	return s.do(ctx, op{run: func(*tx) error { return nil }, after: s.wipe})
}

// wipe leaves nothing in the files but what the tables hold. It runs on the
// writer's goroutine.
func (s *backend) wipe() error {
	for _, query := range []string{
		`INSERT INTO words (words) VALUES ('optimize')`,
		`VACUUM`,
	} {
		if err := s.writer.exec(query); err != nil {
			return err
		}
	}
	var busy, frames, moved int
	if err := s.writer.row(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("another program is reading the file, so its log cannot be emptied")
	}
	return nil
}

// Close is sessions.Store's. Operations that are queued are done
// first; later ones fail.
func (s *backend) Close() error {
	var err error
	s.closed.Do(func() {
		s.ops.Close()
		s.recent.close()
		err = s.closeFiles()
	})
	if err != nil {
		return fmt.Errorf("sqlite: close: %w", explain(err))
	}
	return nil
}

func (s *backend) closeFiles() (err error) {
	for _, f := range slices.Backward(s.files) {
		err = errors.Join(err, f.Close())
	}
	return err
}
