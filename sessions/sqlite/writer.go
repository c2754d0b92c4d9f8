package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"

	modernc "modernc.org/sqlite"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// batchMost is how many operations can share a commit.
const batchMost = 256

// op is one atomic change.
type op struct {
	run   func(*tx) error
	after func() error // runs after the commit, before the caller gets its answer; may be nil
}

// writer is the connection that writes.
type writer struct {
	statements
	changes executor
	conn    *sql.Conn
	marks   bool // messages may be marked as erased
	wrote   bool // the running operation has begun to write
	rewrote bool // the transaction changed, moved or removed messages
	ended   bool // SQLite rolled the transaction back by itself: the disk is full

	keys    map[channels.Key]*keyRow // that the transaction looked at
	touched map[channels.Key]bool    // those that it changed

	pending   pending
	unindexed unindexed
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{statements: statements{prepare: conn.PrepareContext}, changes: executor{conn: conn}, conn: conn, keys: map[channels.Key]*keyRow{}, touched: map[channels.Key]bool{}}
	return w, conn.Raw(func(c any) error {
		c.(modernc.HookRegisterer).RegisterRollbackHook(func() { w.ended = true })
		return nil
	})
}

// release gives back what the start has read and prepared, which no other change needs. The
// readers take that memory.
func (w *writer) release(ctx context.Context) error {
	for _, stmt := range w.byText {
		_ = stmt.Close() // it has run
	}
	w.byText = nil
	if err := w.changes.close(); err != nil {
		return err
	}
	w.changes.byText = nil
	_, err := w.conn.ExecContext(ctx, `PRAGMA shrink_memory`)
	return err
}

// Close closes the statements too, because they keep the file open. An error of theirs
// comes again from the connection.
func (w *writer) Close() error {
	for _, stmt := range w.byText {
		_ = stmt.Close()
	}
	_ = w.changes.close()
	return w.conn.Close()
}

// exec runs a statement.
func (w *writer) exec(query string, args ...any) error {
	w.wrote = true
	w.rewrote = w.rewrote || rewrites(query)
	return w.changes.exec(query, args)
}

// rewrites reports whether a statement changes, moves or removes stored messages.
func rewrites(query string) bool {
	return strings.HasPrefix(query, `UPDATE messages`) || strings.HasPrefix(query, `DELETE FROM messages`)
}

// do has the writer run o, and returns when o is durable or has failed. A caller whose
// ctx ends gets that error only if o will never run.
func (b *backend) do(ctx context.Context, o op) error { return explain(b.ops.Do(ctx, o)) }

// commit runs a batch in one transaction and returns the result of each operation. If the
// transaction fails, each operation gets its own, so that a bad one does not fail the others.
func (b *backend) commit(batch []op) []error {
	b.largest.Store(max(b.largest.Load(), int64(len(batch))))
	t := &tx{writer: b.writer, b: b}
	t.reads = reader{src: &t.statements, b: b, t: t}
	clear(t.keys)
	clear(t.touched)
	errs, err := t.commit(batch)
	if t.rewrote { // clear the cache before any caller learns of the commit
		t.rewrote = false
		b.cache.rewrite(false)
	}
	if err != nil {
		if len(batch) == 1 {
			return []error{err}
		}
		for i := range batch {
			errs[i] = b.commit(batch[i : i+1])[0]
		}
		return errs
	}
	b.unindexed.Store(int64(t.unindexed.n))
	b.cache.putHeads(t.touched, t.keys)
	b.cache.extend(t.added)
	b.work.Apply(t.items, t.fenced)
	for i, o := range batch {
		if o.after != nil && errs[i] == nil {
			errs[i] = o.after()
		}
	}
	return errs
}

// tx is the transaction of a batch.
type tx struct {
	*writer
	b     *backend
	reads reader // reads what the transaction has changed so far
	err   error  // the first one of the running operation

	// For the dispatcher and the cache, after the commit.
	items  []dispatch.Item
	fenced []channels.Key
	added  []addedMessage

	// For the end of the transaction.
	indexed  []indexEntry              // to add to the search index
	counted  map[sessions.Count]int64  // to add to sums
	summed   bool                      // pending has changed
	outdated map[channels.Key]outdated // documents to mark
}

// addedMessage is a new message of the key with an id.
type addedMessage struct {
	key int64
	m   sessions.Message
}

// run runs a statement of an operation, unless an earlier one failed. So the code that
// writes rows needs no error checks: runOne looks at t.err at the end.
func (t *tx) run(query string, args ...any) {
	if t.err == nil {
		t.err = t.exec(query, args...)
	}
}

// runAll runs statements with the same arguments.
func (t *tx) runAll(args []any, queries ...string) {
	for _, query := range queries {
		t.run(query, args...)
	}
}

// scan is run for a query that returns one row.
func (t *tx) scan(dest []any, query string, args ...any) {
	if t.err == nil {
		t.err = t.row(context.Background(), query, args...).Scan(dest...)
	}
}

// fail keeps the first error of an operation.
func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// commit runs operations and commits those that succeed. err is set if the whole
// transaction failed and nothing is stored.
func (t *tx) commit(ops []op) (errs []error, err error) {
	errs = make([]error, len(ops))
	if err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return errs, err
	}
	t.ended = false
	before := t.unindexed
	some := false
	for i, o := range ops {
		if err == nil {
			errs[i], err = t.runOne(o)
			some = some || errs[i] == nil
		}
	}
	if err == nil && some {
		if t.rewrote {
			t.b.cache.rewrite(true)
		}
		err = cmp.Or(t.index(), t.writeCounts(), t.markOutdated())
		if err == nil {
			err = t.exec(`COMMIT`)
		}
	}
	if err != nil || !some {
		if t.summed {
			t.pending.forget()
		}
		t.unindexed = before
		_ = t.exec(`ROLLBACK`) // fails if SQLite has rolled back already
	}
	return errs, err
}

// runOne runs an operation. It first reads and then writes: an error while it reads is
// its own, a later one fails the whole transaction.
func (t *tx) runOne(o op) (own, whole error) {
	t.wrote = false
	err := func() (err error) {
		defer rules.Recover(&err) // the writer must live on
		return cmp.Or(o.run(t), t.err)
	}()
	t.err = nil
	if err == nil && t.ended {
		err = errors.New("the database took back what was written")
	}
	if err == nil {
		return nil, nil
	}
	if t.wrote {
		return nil, err
	}
	clear(t.keys) // o may have changed them
	return err, nil
}
