package sqlite

import (
	"cmp"
	"context"
	"slices"

	"dragoman/sessions"
)

// FTS5 keeps its index in segments: each transaction that adds words writes a new one, and
// they are merged later. For the two messages of a turn that was a tenth of what the store
// costs. So the words of new messages first go to the table unindexed. Once there are many,
// or before a search, one transaction moves all of them to the index.

// unindexedTable is like [noteTables]: an older program ignores it. Close empties it, so a
// search by an older program misses words only if the process before it was killed.
const unindexedTable = `CREATE TABLE IF NOT EXISTS unindexed (
	n    INTEGER PRIMARY KEY,
	id   INTEGER NOT NULL,
	said TEXT    NOT NULL
)`

// unindexedMost and unindexedBytes bound what waits. To move that much takes some 5 ms, and
// for long messages 50.
const (
	unindexedMost  = 256
	unindexedBytes = 1 << 20
)

// unindexed is how much waits: messages, and bytes of their words.
type unindexed struct{ n, bytes int }

// indexEntry is a message for the search index.
type indexEntry struct {
	id    int64
	words string
}

// indexLater adds a message to what index writes.
func (t *tx) indexLater(id int64, m sessions.Message) {
	if words := searchable(m); words != "" {
		t.indexed = append(t.indexed, indexEntry{id, words})
	}
}

// index lets the messages of the batch so far wait for the search index. Where they are
// many it writes them at once.
func (t *tx) index() error {
	list := t.indexed
	t.indexed = nil
	if len(list) >= unindexedMost {
		t.writeIndex(list)
		return t.err
	}
	for _, e := range list {
		t.run(`INSERT INTO unindexed (id, said) VALUES (?, ?)`, e.id, e.words)
		t.unindexed.n++
		t.unindexed.bytes += len(e.words)
	}
	if t.unindexed.n >= unindexedMost || t.unindexed.bytes >= unindexedBytes {
		t.settleIndex()
	}
	return t.err
}

// writeIndex adds messages to the index in the order of their ids: whenever one is smaller
// than the one before, FTS5 writes a segment (fts5IndexBeginWrite).
func (t *tx) writeIndex(list []indexEntry) {
	slices.SortFunc(list, func(a, b indexEntry) int { return cmp.Compare(a.id, b.id) })
	for _, e := range list {
		t.run(`INSERT INTO words (rowid, said) VALUES (?, ?)`, e.id, e.words)
	}
}

// settleIndex moves to the index what waits for it.
func (t *tx) settleIndex() {
	t.runAll(nil, `INSERT INTO words (rowid, said) SELECT id, said FROM unindexed ORDER BY id`, `DELETE FROM unindexed`)
	t.unindexed = unindexed{}
}

// settleIndex moves to the index what waits for it, before r searches.
func (r reader) settleIndex(ctx context.Context) error {
	if t := r.t; t != nil {
		wrote := t.wrote
		t.fail(t.index())
		if t.unindexed.n > 0 {
			t.settleIndex()
		}
		t.wrote = wrote
		return t.err
	}
	if !r.committed() {
		return r.unsettled
	}
	return r.b.settleIndex(ctx)
}

// settleIndex has the writer move to the index what waits for it, if anything does.
func (b *backend) settleIndex(ctx context.Context) error {
	if b.unindexed.Load() == 0 {
		return nil
	}
	return b.do(ctx, op{run: func(t *tx) error {
		t.settleIndex()
		return t.err
	}})
}

// unindex removes a range of ids from the search index, and from what waits for it.
func (t *tx) unindex(from, to int64) {
	t.fail(t.index()) // first what the batch has added
	t.runAll([]any{from, to}, `DELETE FROM words WHERE rowid BETWEEN ? AND ?`, `DELETE FROM unindexed WHERE id BETWEEN ? AND ?`)
}
