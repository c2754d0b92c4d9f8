package sqlite

import (
	"context"

	"dragoman/channels"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// batchMost is how many operations share a commit at most.
const batchMost = 256

// op is one atomic change on its way through the writer.
type op struct {
	run   func(*tx) error
	step  func(*tx) (write func() error, err error) // instead of run
	alone bool                                      // shares no transaction with others
	after func() error                              // what to do once it is durable, before the caller is told
	err   error
}

// do has the writer do o, atomically, and returns when that is durable or has
// failed. A caller whose ctx ends gets its error only if o will never be run.
func (s *backend) do(ctx context.Context, o *op) error { return explain(s.ops.Do(ctx, o)) }

// together is how many of the first operations share a transaction.
func together(ops []*op) int {
	for i, o := range ops {
		if o.alone {
			return max(i, 1)
		}
	}
	return len(ops)
}

// commit does a batch in one transaction and says how each ended.
func (s *backend) commit(batch []*op) (errs []error) {
	s.commitAll(batch)
	for _, o := range batch {
		errs = append(errs, o.err)
	}
	return errs
}

// commitAll does operations in one transaction. If that fails, each gets one of
// its own: it may be one of them that the file does not take.
func (s *backend) commitAll(live []*op) {
	s.largest.Store(max(s.largest.Load(), int64(len(live))))
	t := &tx{store: s, writer: s.writer, touched: map[channels.Key]bool{}}
	err := t.all(live)
	if s.writer.rewrote { // nobody is told before what is known of it is gone
		s.writer.rewrote = false
		s.recent.forget()
	}
	s.fence(nil)
	switch {
	case err == nil:
		s.recent.putHeads(t.touched, t.keys)
		s.recent.extend(t.said)
		s.work.Apply(t.items, t.fenced)
	case len(live) > 1:
		s.writer.forget()
		for _, o := range live {
			s.commitAll([]*op{o})
		}
		return
	default:
		s.writer.forget()
		live[0].err = err
	}
	if o := live[0]; o.after != nil && o.err == nil {
		o.err = o.after()
	}
}

// tx is the transaction of a batch, and what it means for the dispatcher once
// it is durable.
type tx struct {
	*writer
	store     *backend
	items     []dispatch.Item
	fenced    []channels.Key
	words     []wordsRow            // to add to the search index
	said      []saidRow             // to add to what is held in memory
	touched   map[channels.Key]bool // keys that steps of this commit changed
	links     []link                // of inbox rows to occurrences, made at the end of an operation
	unindexed [][2]int64            // ranges of message ids to take out of it, after that
}

// wordsRow is a message for the search index. The index is written once for
// each batch: every savepoint would make it write out what it has gathered.
type wordsRow struct {
	id    int64
	words string
}

func (t *tx) index() error {
	for _, w := range t.words {
		if err := t.exec(`INSERT INTO words (rowid, said) VALUES (?, ?)`, w.id, w.words); err != nil {
			return err
		}
	}
	for _, r := range t.unindexed {
		if err := t.exec(`DELETE FROM words WHERE rowid BETWEEN ? AND ?`, r[0], r[1]); err != nil {
			return err
		}
	}
	return nil
}

// all runs the operations and commits those that succeed. An error is one of
// the whole transaction: nothing of it is stored.
func (t *tx) all(ops []*op) error {
	if err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for _, o := range ops {
		if err := t.one(o, len(ops) > 1); err != nil {
			t.rollback()
			return err
		}
	}
	if len(ops) == 1 && ops[0].err != nil {
		t.rollback()
		return nil
	}
	if t.rewrote {
		t.store.recent.begin()
	}
	err := t.index()
	if err == nil {
		err = t.exec(`COMMIT`)
	}
	if err != nil {
		t.rollback()
	}
	return err
}

// one runs o, behind a savepoint if others share the transaction. The error of
// o itself goes to o; the one returned is of the transaction.
func (t *tx) one(o *op, shared bool) error {
	if len(t.keys) > keysMost {
		t.forget()
	}
	if o.step != nil {
		return t.step(o)
	}
	if shared {
		if err := t.exec(`SAVEPOINT op`); err != nil {
			return err
		}
	}
	items, fenced, words, unindexed, said := len(t.items), len(t.fenced), len(t.words), len(t.unindexed), len(t.said)
	o.err = guard(func() error { return o.run(t) })
	if o.err != nil {
		t.items, t.fenced = t.items[:items], t.fenced[:fenced]
		t.words, t.unindexed, t.said = t.words[:words], t.unindexed[:unindexed], t.said[:said]
		t.forget()
		if !shared {
			return nil
		}
		// When the disk is full SQLite ends the transaction on its own; then
		// there is no savepoint any more, and nothing of the batch is left.
		if err := t.exec(`ROLLBACK TO op`); err != nil {
			return o.err
		}
	}
	t.store.fence(t.fenced)
	if shared {
		return t.exec(`RELEASE op`)
	}
	return nil
}

// step does an operation that reads first and then writes. It needs no savepoint:
// nothing was written if it fails while it reads, and if it fails later, so does
// the transaction.
func (t *tx) step(o *op) error {
	var write func() error
	o.err = guard(func() (err error) {
		write, err = o.step(t)
		return err
	})
	if o.err != nil {
		return nil
	}
	if err := guard(write); err != nil {
		return err
	}
	t.store.fence(t.fenced)
	return nil
}

// fence says which claims are over for what comes later in the batch.
func (s *backend) fence(keys []channels.Key) {
	s.fenced = keys
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

func (t *tx) rollback() {
	// It fails if SQLite has rolled back on its own, which is as good.
	_ = t.exec(`ROLLBACK`)
}
