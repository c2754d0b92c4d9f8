package sqlite

import (
	"cmp"
	"context"
	"errors"

	"dragoman/channels"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// batchMost is how many operations share a commit at most.
const batchMost = 256

// op is one atomic change on its way through the writer.
type op struct {
	run   func(*tx) error
	after func() error // what to do once it is durable, before the caller is told
}

// do has the writer do o, atomically, and returns when that is durable or has
// failed. A caller whose ctx ends gets its error only if o will never be run.
func (s *backend) do(ctx context.Context, o op) error { return explain(s.ops.Do(ctx, o)) }

// commit does a batch in one transaction and says how each operation ended. If
// that fails, each gets a transaction for itself: it may be one of them that
// the file does not take.
func (s *backend) commit(batch []op) []error {
	s.largest.Store(max(s.largest.Load(), int64(len(batch))))
	t := &tx{writer: s.writer, store: s}
	clear(t.keys)
	clear(t.touched)
	t.rows = t.reader()
	errs, err := t.all(batch)
	if s.writer.rewrote { // nobody is told before what is known of it is gone
		s.writer.rewrote = false
		s.recent.forget()
	}
	s.fenced = nil
	if err != nil {
		if len(batch) == 1 {
			return []error{err}
		}
		for i := range batch {
			errs[i] = s.commit(batch[i : i+1])[0]
		}
		return errs
	}
	s.recent.putHeads(t.touched, t.keys)
	s.recent.extend(t.said)
	s.work.Apply(t.items, t.fenced)
	for i, o := range batch {
		if o.after != nil && errs[i] == nil {
			errs[i] = o.after()
		}
	}
	return errs
}

// tx is the transaction of a batch, and what it means for the dispatcher once
// it is durable.
type tx struct {
	*writer
	store     *backend
	rows      reader // for steps
	err       error  // the first of the operation at work, which ends its changes
	items     []dispatch.Item
	fenced    []channels.Key
	words     []wordsRow                // to add to the search index
	said      []saidRow                 // to add to what is held in memory
	unindexed [][2]int64                // ranges of message ids to take out of it, after that
	outdated  map[channels.Key]outdated // whose documents do not show this commit
}

// reader reads what the transaction has changed so far.
func (t *tx) reader() reader { return reader{&t.statements, t.store, t} }

// run runs a statement of a change, and says how many rows it changed. After an
// error nothing more is run: code that changes rows does not look at each error,
// because t.one looks at the first.
func (t *tx) run(query string, args ...any) (n int64) {
	if t.err == nil {
		n, t.err = t.changed(query, args...)
	}
	return n
}

// scan reads the one row that a query of a change finds.
func (t *tx) scan(dest []any, query string, args ...any) {
	if t.err == nil {
		t.err = t.row(context.Background(), query, args...).Scan(dest...)
	}
}

// on runs statements with the same arguments.
func (t *tx) on(args []any, queries ...string) {
	for _, query := range queries {
		t.run(query, args...)
	}
}

// fail keeps an error of a change, if it is the first.
func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// wordsRow is a message for the search index.
type wordsRow struct {
	id    int64
	words string
}

// index writes the search index, once for each batch: FTS5 flushes at each
// savepoint.
func (t *tx) index() error {
	for _, w := range t.words {
		t.run(`INSERT INTO words (rowid, said) VALUES (?, ?)`, w.id, w.words)
	}
	for _, r := range t.unindexed {
		t.run(`DELETE FROM words WHERE rowid BETWEEN ? AND ?`, r[0], r[1])
	}
	t.words, t.unindexed = nil, nil
	return t.err
}

// all runs the operations and commits those that succeed. Its error is one of
// the whole transaction: nothing of it is stored.
func (t *tx) all(ops []op) (errs []error, err error) {
	errs = make([]error, len(ops))
	if err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return errs, err
	}
	t.ended = false
	some := false
	for i, o := range ops {
		if err == nil {
			errs[i], err = t.one(o)
			some = some || errs[i] == nil
		}
	}
	if err == nil && some {
		if t.rewrote {
			t.store.recent.begin()
		}
		if err = cmp.Or(t.index(), t.markOutdated()); err == nil {
			err = t.exec(`COMMIT`)
		}
	}
	if err != nil || !some {
		// It fails if SQLite has rolled back on its own, which is as good.
		_ = t.exec(`ROLLBACK`)
	}
	return errs, err
}

// one runs o. An operation reads first and then writes: what fails while it
// reads is its own error, and what fails later is one of the transaction.
func (t *tx) one(o op) (own, whole error) {
	t.wrote = false
	err := guard(func() error { return cmp.Or(o.run(t), t.err) })
	t.err = nil
	if err == nil && t.ended {
		err = errors.New("the database took back what was written")
	}
	if err == nil {
		t.store.fenced = t.fenced // for what comes later in the batch
		return nil, nil
	}
	clear(t.keys) // it may have changed them
	if t.wrote {
		return nil, err
	}
	return err, nil
}

// guard turns a panic of f's into its error: the writer must live on.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = rules.Panic(p)
		}
	}()
	return f()
}
