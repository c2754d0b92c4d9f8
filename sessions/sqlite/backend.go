// Package sqlite keeps everything in one SQLite file. It is the default
// backend.
//
// The promise is that of package sessions: when a method returns nil, its change is
// durable and survives kill -9 and a power cut (WAL, synchronous=FULL); when it returns
// an error, nothing has changed. One goroutine owns the only connection that writes. It
// runs up to 256 queued operations in one transaction, so that many callers share one
// fsync. If that transaction fails, each operation is repeated in its own, so that one
// cannot fail the others. Reads use other connections and see every change of a method
// that has returned.
//
// Failures:
//
//   - The disk is full or an fsync fails: all methods of that batch return the error,
//     nothing of them is stored, and the store works again when there is room. If the
//     process dies right after a failed fsync, the next start may find that the batch
//     did reach the disk; then its messages, sent again, are duplicates.
//   - The file is damaged, or of another program or a newer version: Open, or the method
//     that meets the damage, returns an error that says so. The file is never recreated.
//   - Another process has it open: Open says so. Open work is kept in memory, so two
//     processes must not share a file.
//
// The goroutines are the writer and two timers, one that drops idle messages from the cache
// and one that lets reads run at once, all ended by Close, and those of the dispatcher in Run.
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

	"dragoman/channels"
	"dragoman/internal/durable"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"
)

var (
	_ rows.Backend  = (*backend)(nil)
	_ rows.Scrubber = (*backend)(nil)
)

// Options adjust a store. The zero value works.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger logs handlers that failed, and copies. Nil discards.
	Logger *slog.Logger
	// Converting, if not nil, is called before a file of a former version is changed,
	// which takes seconds if it is large. A copy of it stays in kept.
	Converting func(kept string)
	// CopyTo is where that copy goes; "": beside the file.
	CopyTo string
}

// readers is how many reads can run at once, when the store has been open for a while.
const readers = 4

// turns is for how long the reads of a new store share one connection. What a start reads
// is little, and each connection that was ever opened keeps 0.15 MB for good.
const turns = 500 * time.Millisecond

// backend keeps rows in one file.
type backend struct {
	reader
	dispatch.Leases // this process owns the file, so it competes only with itself

	now    func() time.Time
	path   string
	prefix string // of delivery ids; random
	work   *dispatch.Dispatcher
	files  []io.Closer // in the order in which they were opened

	writer  *writer
	ops     *durable.Queue[op] // of the writer
	closed  sync.Once
	largest atomic.Int64 // batch so far, for tests
	// unindexed is how many messages wait for the search index.
	unindexed atomic.Int64
	// documented makes commits mark outdated documents: see Backend.
	documented bool

	readers *sql.DB
	turns   *time.Timer // calls readAtOnce
	reads   statements
	cache   cache
}

// Open opens the store in the file at path. It creates the file if there is none, and
// its folder, for this user alone.
func Open(ctx context.Context, path string, o Options) (*engine.Store, error) {
	b, err := open(ctx, path, o, false)
	if err != nil {
		return nil, err
	}
	return engine.New(b, "sqlite", b.now), nil
}

// open makes the backend of Open, or of OpenBackend with documented.
func open(ctx context.Context, path string, o Options, documented bool) (_ *backend, err error) {
	b := &backend{now: o.Now, path: path, ops: durable.NewQueue[op](batchMost), documented: documented}
	b.reader = reader{src: &b.reads, b: b}
	defer func() {
		if err != nil {
			err = fmt.Errorf("sqlite: open %s: %w", path, explain(errors.Join(err, b.closeFiles())))
		}
	}()
	if b.now == nil {
		b.now = time.Now
	}
	// Before the lock, which would be left beside a file that is not ours.
	if _, err := Look(path); err != nil {
		return nil, err
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock, err := durable.Lock(path + ".lock") // ends with the process
	if err != nil {
		return nil, err
	}
	b.files = append(b.files, lock)
	if err = prepareFile(ctx, path); err != nil {
		return nil, err
	}
	db, err := connect(path, "rwc", 1, pragmas...)
	if err != nil {
		return nil, err
	}
	b.files = append(b.files, db)
	if b.writer, err = newWriter(ctx, db); err != nil {
		return nil, err
	}
	b.files = append(b.files, b.writer)
	if err = b.start(o); err != nil {
		return nil, err
	}
	err = b.writer.release(ctx)
	if err != nil {
		return nil, err
	}
	b.readers, err = connect(path, "rwc", 1, readerPragmas...)
	if err != nil {
		return nil, err
	}
	b.files = append(b.files, b.readers)
	b.turns = time.AfterFunc(turns, b.readAtOnce)
	b.reads.prepare, b.reads.ready = b.readers.PrepareContext, b.readable
	go b.ops.Run(b.commit)
	return b, nil
}

// start proves that the file can be written, updates its schema, begins a new range of
// epochs, so that no claim of a former process is live again, and loads the open rows.
// Its time depends on how many rows are open, not on how many are stored.
func (b *backend) start(o Options) error {
	var epoch int64
	var items []dispatch.Item
	former, kept, err := b.keepFormer(o)
	if err != nil {
		return err
	}
	err = b.commit([]op{{run: func(t *tx) (err error) {
		t.addColumn("conversations", "erasures", "INTEGER NOT NULL DEFAULT 0")
		t.addColumn("conversations", "owners", "TEXT NOT NULL DEFAULT ''")
		t.addColumn("summaries", "origins", "TEXT NOT NULL DEFAULT ''")
		t.addColumn("facts", "origins", "TEXT NOT NULL DEFAULT ''")
		t.addColumn("facts", "marks", "TEXT NOT NULL DEFAULT ''")
		t.addColumn("occurrences", "changed", "INTEGER NOT NULL DEFAULT 0")
		if former {
			t.toLabels()
		}
		t.runAll(nil, `CREATE INDEX IF NOT EXISTS inbox_accepted ON inbox (accepted)`, `CREATE INDEX IF NOT EXISTS outbox_created ON outbox (created)`)
		t.runAll(nil, noteTables...)
		t.runAll(nil, additionsTable, unindexedTable)
		t.settleIndex() // what a killed process has left
		t.endSweeps()
		if b.documented {
			t.runAll(nil, documentsTable, documentsStale)
		}
		t.scan([]any{&b.prefix, &epoch}, `UPDATE meta SET incarnation = incarnation + 1 RETURNING prefix, incarnation`)
		t.scan([]any{&t.pending.n}, `SELECT count(*) FROM additions, json_each(additions.list)`)
		t.scan([]any{&t.marks}, `SELECT EXISTS (SELECT 1 FROM erased)`)
		items, err = t.reads.open(channels.Key{})
		return err
	}}})[0]
	if err != nil && kept != "" { // nothing has changed, and the next start makes another copy
		err = errors.Join(err, os.Remove(kept))
	}
	b.work = dispatch.New(dispatch.Options{Now: b.now, Logger: o.Logger, Epoch: epoch << 32})
	b.work.Apply(items, nil)
	return err
}

func (b *backend) Run(ctx context.Context, h sessions.Handler) error { return b.work.Run(ctx, h) }

func (b *backend) Stats(ctx context.Context) (sessions.Stats, error) {
	st := b.work.Stats()
	err := b.reads.row(ctx, `SELECT
		(SELECT count(*) FROM outbox WHERE state <> 'sent' AND state = 'dead'),
		(SELECT count(*) FROM aside WHERE dropped = 0)`).Scan(&st.Dead, &st.Quarantined)
	if err != nil {
		return sessions.Stats{}, explain(err)
	}
	return st, nil
}

func (b *backend) Check(ctx context.Context) error {
	return b.do(ctx, op{run: func(t *tx) error { return t.exec(`UPDATE meta SET checked = ?`, nanos(b.now())) }})
}

func (b *backend) Live(c sessions.Claim) error { return b.work.Check(c) }

// claim is the live claim of k within an update. The dispatcher does not yet know the
// fences of this batch.
func (t *tx) claim(k channels.Key) int64 {
	if slices.Contains(t.fenced, k) {
		return 0
	}
	return t.b.work.Claim(k)
}

// Update is of rows.Backend. Steps run on the writer's goroutine.
func (b *backend) Update(ctx context.Context, _ []channels.Key, f func(rows.Reader) (rows.Changes, error)) error {
	return b.do(ctx, op{run: func(t *tx) error {
		changes, err := f(&t.reads)
		if err == nil {
			err = t.apply(changes)
		}
		return err
	}})
}

func (b *backend) Snapshot(ctx context.Context, f func(rows.Reader) error) error {
	if err := b.readable(ctx); err != nil {
		return err
	}
	unsettled := b.settleIndex(ctx) // a full disk must not hinder who only wants to read the rest
	tx, err := b.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return explain(err)
	}
	one := &statements{prepare: tx.PrepareContext, ready: b.readable}
	err = f(reader{src: one, b: b, unsettled: unsettled})
	return explain(errors.Join(err, tx.Rollback()))
}

// readAtOnce ends the turns. If one read still has the connection, the others go on with a
// second one.
func (b *backend) readAtOnce() {
	b.readers.SetMaxOpenConns(readers)
	b.readers.SetMaxIdleConns(readers)
	_ = b.readers.Ping() // opens that one, and wakes who waits; a read will tell of its errors
}

func (b *backend) readable(ctx context.Context) error {
	if b.ops.Closed() {
		return durable.ErrClosed
	}
	return ctx.Err()
}

// Scratch is a folder with room for what may not fit into memory.
func (b *backend) Scratch() string { return filepath.Dir(b.path) }

// Scrub is of rows.Scrubber. It rewrites the search index and then the file, and empties
// the log. That takes the time and, for a moment, the room of a copy of the file;
// meanwhile all other changes wait.
func (b *backend) Scrub(ctx context.Context, _ []channels.Key) error {
	return b.do(ctx, op{run: func(*tx) error { return nil }, after: b.vacuum})
}

// vacuum runs on the writer's goroutine, outside a transaction.
func (b *backend) vacuum() error {
	for _, query := range []string{
		`DELETE FROM words WHERE rowid NOT IN (SELECT id FROM messages)`, // earlier versions could leave some
		`INSERT INTO words (words) VALUES ('optimize')`, `VACUUM`,
	} {
		if err := b.writer.exec(query); err != nil {
			return err
		}
	}
	var busy, frames, moved int
	if err := b.writer.row(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("another program is reading the file, so its log cannot be emptied")
	}
	return nil
}

// Close runs the queued operations first; later ones fail.
func (b *backend) Close() error {
	var err error
	b.closed.Do(func() {
		_ = b.settleIndex(context.Background()) // if it fails, the next start does it
		b.ops.Close()
		b.cache.close()
		err = b.closeFiles()
	})
	if err != nil {
		return fmt.Errorf("sqlite: close: %w", explain(err))
	}
	return nil
}

func (b *backend) closeFiles() (err error) {
	if b.turns != nil {
		b.turns.Stop()
	}
	for _, f := range slices.Backward(b.files) {
		err = errors.Join(err, f.Close())
	}
	return err
}
