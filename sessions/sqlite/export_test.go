package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"

	driver "modernc.org/sqlite"
)

var errTest = errors.New("made to fail")

// backendOf is the backend of s.
func backendOf(s *engine.Store) *backend { return s.Backend().(*backend) }

// update has the writer of s run f.
func update(s *engine.Store, f func(*tx) error) error {
	return backendOf(s).do(context.Background(), op{run: f})
}

// FailHalfDone has an operation fail after it changed the writer's row of k.
func FailHalfDone(s *engine.Store, k channels.Key) error {
	return update(s, func(t *tx) error {
		r := t.key(k)
		r.Seq += 100
		return errTest
	})
}

// FailAfterWriting has an operation fail after it has stored a message in k.
func FailAfterWriting(s *engine.Store, k channels.Key) error {
	return update(s, func(t *tx) error {
		r := t.key(k)
		if err := t.exec(`INSERT INTO steps (key_id, turn, data) VALUES (?, 'left behind', '{}')`, r.id); err != nil {
			return err
		}
		return errTest
	})
}

// FailWithin has a statement of an operation fail between others. The operation itself
// ignores that.
func FailWithin(s *engine.Store, k channels.Key) error {
	return update(s, func(t *tx) error {
		r := t.key(k)
		for _, table := range []string{"steps", "nothing", "steps"} {
			t.run(`INSERT INTO `+table+` (key_id, turn, data) VALUES (?, 'left behind', '{}')`, r.id)
		}
		return nil
	})
}

// StepsLeft counts what FailAfterWriting has left.
func StepsLeft(s *engine.Store) (n int, err error) {
	err = update(s, func(t *tx) error {
		return t.row(context.Background(), `SELECT count(*) FROM steps WHERE turn = 'left behind'`).Scan(&n)
	})
	return n, err
}

// LoseTransaction has an operation end the transaction under the whole batch,
// as SQLite does when the disk is full, and notice it or not.
func LoseTransaction(s *engine.Store, notice bool) error {
	return update(s, func(t *tx) error {
		if err := t.exec(`ROLLBACK`); err != nil {
			return err
		}
		if notice {
			return errTest
		}
		return nil
	})
}

// BeImpatient has the writer wait for no other program.
func BeImpatient(s *engine.Store) error {
	return update(s, func(t *tx) error {
		var got int
		return t.row(context.Background(), `PRAGMA busy_timeout = 1`).Scan(&got)
	})
}

// LimitPages bounds the size of the file of a backend, as a full disk would.
func LimitPages(of rows.Backend, pages int) error {
	b, ok := of.(*backend)
	if !ok {
		b = of.(*Backend).backend
	}
	return b.do(context.Background(), op{run: func(t *tx) error {
		var got int
		return t.row(context.Background(), fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)).Scan(&got)
	}})
}

// FailFolded has a transaction fail after it moved all additions to their sums.
func FailFolded(s *engine.Store) error {
	return update(s, func(t *tx) error {
		t.settleCounts()
		t.wrote = true
		return errTest
	})
}

// FailSettled has a transaction fail after it moved to the search index what waited for it.
func FailSettled(s *engine.Store) error {
	return update(s, func(t *tx) error {
		t.settleIndex()
		return errTest
	})
}

// UnindexedMost is that of the package.
const UnindexedMost = unindexedMost

// LargestBatch is the most operations that shared a commit so far.
func LargestBatch(s *engine.Store) int { return int(backendOf(s).largest.Load()) }

// PlantStep adds a step to the journal of k without a running turn.
func PlantStep(t *testing.T, s *engine.Store, k channels.Key, step sessions.Step) {
	t.Helper()
	err := update(s, func(tx *tx) error {
		r := tx.key(k)
		return tx.exec(`INSERT INTO steps (key_id, turn, data) VALUES (?, 't', ?)`, r.id, encode(step))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Statements are the queries that s has prepared so far.
func Statements(s *engine.Store) []string {
	var all []string
	for _, st := range []*statements{&backendOf(s).reads, &backendOf(s).writer.statements} {
		st.mu.Lock()
		for query := range st.byText {
			all = append(all, query)
		}
		st.mu.Unlock()
	}
	return slices.AppendSeq(all, maps.Keys(backendOf(s).writer.changes.byText))
}

// HoldWriter keeps the writer busy until release, so that operations share a batch. It
// returns when the writer is busy.
func HoldWriter(s *engine.Store) (release func() error) {
	held := make(chan struct{})
	let := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- update(s, func(*tx) error {
			close(held)
			<-let
			return nil
		})
	}()
	<-held
	return func() error {
		close(let)
		return <-done
	}
}

// Queued counts the operations that wait for the writer.
func Queued(s *engine.Store) int { return backendOf(s).ops.Len() }

// PragmasOf returns settings of the writing connection, or of a reading one.
func PragmasOf(ctx context.Context, s *engine.Store, writer bool, names []string) (map[string]string, error) {
	got := map[string]string{}
	if !writer {
		for _, name := range names {
			var v string
			if err := backendOf(s).readers.QueryRowContext(ctx, "PRAGMA "+name).Scan(&v); err != nil {
				return nil, err
			}
			got[name] = v
		}
		return got, nil
	}
	err := update(s, func(t *tx) error {
		for _, name := range names {
			var v string
			if err := t.row(context.Background(), "PRAGMA "+name).Scan(&v); err != nil {
				return err
			}
			got[name] = v
		}
		return nil
	})
	return got, err
}

// OnSync calls f with each file and folder that this package, and not SQLite, has made
// durable, until the test ends.
func OnSync(t *testing.T, f func(path string) error) {
	old := syncPath
	syncPath = func(path string) error { return errors.Join(old(path), f(path)) }
	t.Cleanup(func() { syncPath = old })
}

// Sync makes a file, or the names in a folder, durable.
func Sync(path string) error { return syncPath(path) }

// FromFile is the history of k in the file, without the cache of s.
func FromFile(ctx context.Context, s *engine.Store, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error) {
	other := &backend{now: backendOf(s).now, ops: backendOf(s).ops, readers: backendOf(s).readers, reads: statements{prepare: backendOf(s).readers.PrepareContext}}
	other.reader = reader{src: &other.reads, b: other}
	other.cache.close()
	return engine.New(other, "sqlite", nil).History(ctx, k, limit)
}

// ReadLate reads the history of k, calls f, and caches only then what was read.
func ReadLate(ctx context.Context, s *engine.Store, k channels.Key, f func()) error {
	id, err := backendOf(s).keyID(ctx, k)
	if err != nil {
		return err
	}
	_, version := backendOf(s).cache.messages(id)
	from, to := span(id)
	rows, err := collect(backendOf(s).transcript(ctx, from, to, rows.MessageFilter{}))
	f()
	backendOf(s).cache.put(id, rows, version)
	return err
}

// Changing calls f as between a commit that changes messages and its end.
func Changing(s *engine.Store, f func()) {
	backendOf(s).cache.rewrite(true)
	defer backendOf(s).cache.rewrite(false)
	f()
}

// AtCommit has the writer call f within each commit from now on: after the last
// statement, before any reader can see the change.
func AtCommit(s *engine.Store, f func()) error {
	return update(s, func(t *tx) error {
		return t.conn.Raw(func(conn any) error {
			conn.(driver.HookRegisterer).RegisterCommitHook(func() int32 { f(); return 0 })
			return nil
		})
	})
}

// Remembered counts the conversations, the messages and the bytes in the cache, and says
// how many bytes it may have.
func Remembered(s *engine.Store) (conversations, messages, size, most int) {
	backendOf(s).cache.mu.Lock()
	defer backendOf(s).cache.mu.Unlock()
	for _, one := range backendOf(s).cache.tails {
		messages += len(one.messages)
	}
	return len(backendOf(s).cache.tails), messages, backendOf(s).cache.size, cacheMost
}

// Aging reports whether a timer runs for the cache.
func Aging(s *engine.Store) bool {
	backendOf(s).cache.mu.Lock()
	defer backendOf(s).cache.mu.Unlock()
	return backendOf(s).cache.timer != nil
}

// Rewrites reports whether a statement clears the cache.
func Rewrites(query string) bool { return rewrites(query) }

// Caches returns the page cache sizes of the writing connection and of a reading one in
// SQLite's form: negative KiB.
func Caches(s *engine.Store) (writer, reader int, err error) {
	const query = `PRAGMA cache_size`
	err = update(s, func(t *tx) error { return t.row(context.Background(), query).Scan(&writer) })
	return writer, reader, errors.Join(err, backendOf(s).reads.row(context.Background(), query).Scan(&reader))
}

// Readers counts the connections that read.
func Readers(s *engine.Store) int { return backendOf(s).readers.Stats().OpenConnections }

// HoldTurns keeps the reads of a new store on one connection until EndTurns. It reports
// whether they were on one so far.
func HoldTurns(s *engine.Store) bool { return backendOf(s).turns.Stop() }

// EndTurns is what happens a while after the start.
func EndTurns(s *engine.Store) { backendOf(s).readAtOnce() }
