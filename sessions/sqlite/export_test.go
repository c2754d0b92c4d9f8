package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
	"dragoman/sessions/rows"

	driver "modernc.org/sqlite"
)

var errTest = errors.New("made to fail")

// update has the writer of s do f.
func update(s *Store, f func(*tx) error) error {
	return s.b.do(context.Background(), op{run: f})
}

// FailHalfDone has an operation fail after it has changed what the writer
// remembers of k.
func FailHalfDone(s *Store, k channels.Key) error {
	return update(s, func(t *tx) error {
		r := t.key(k)
		r.seq += 100
		return errTest
	})
}

// FailAfterWriting has an operation fail after it has stored a message in k.
func FailAfterWriting(s *Store, k channels.Key) error {
	return update(s, func(t *tx) error {
		r := t.key(k)
		if err := t.exec(`INSERT INTO steps (key_id, turn, data) VALUES (?, 'left behind', '{}')`, r.id); err != nil {
			return err
		}
		return errTest
	})
}

// FailWithin has a statement of an operation fail between others, to which the
// operation itself pays no heed.
func FailWithin(s *Store, k channels.Key) error {
	return update(s, func(t *tx) error {
		r := t.key(k)
		for _, table := range []string{"steps", "nothing", "steps"} {
			t.run(`INSERT INTO `+table+` (key_id, turn, data) VALUES (?, 'left behind', '{}')`, r.id)
		}
		return nil
	})
}

// StepsLeft counts what FailAfterWriting has left.
func StepsLeft(s *Store) (n int, err error) {
	err = update(s, func(t *tx) error {
		return t.row(context.Background(), `SELECT count(*) FROM steps WHERE turn = 'left behind'`).Scan(&n)
	})
	return n, err
}

// LoseTransaction has an operation end the transaction under the whole batch,
// as SQLite does when the disk is full, and notice it or not.
func LoseTransaction(s *Store, notice bool) error {
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

// LimitPages bounds the size of the file, as a full disk would.
func LimitPages(s *Store, pages int) error {
	return update(s, func(t *tx) error {
		var got int
		return t.row(context.Background(), fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)).Scan(&got)
	})
}

// LargestBatch is the most operations that shared a commit so far.
func LargestBatch(s *Store) int { return int(s.b.largest.Load()) }

// PlantStep puts a step into the journals of k, without a turn at work.
func PlantStep(t *testing.T, s *Store, k channels.Key, step sessions.Step) {
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
func Statements(s *Store) []string {
	var all []string
	for _, st := range []*statements{&s.b.reads, &s.b.writer.statements} {
		st.mu.RLock()
		for query := range st.byText {
			all = append(all, query)
		}
		st.mu.RUnlock()
	}
	return all
}

// HoldWriter keeps the writer busy until release, so that what is asked for
// meanwhile shares a batch. It returns when the writer is held.
func HoldWriter(s *Store) (release func() error) {
	held, let, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
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

// Queued is how many operations wait for the writer.
func Queued(s *Store) int { return s.b.ops.Len() }

// PragmasOf are the named settings of the connection that writes, or of one
// that reads.
func PragmasOf(ctx context.Context, s *Store, writer bool, names []string) (map[string]string, error) {
	got := map[string]string{}
	if !writer {
		for _, name := range names {
			var v string
			if err := s.b.readers.QueryRowContext(ctx, "PRAGMA "+name).Scan(&v); err != nil {
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

// OnSync has f told about each file and folder that is durable now because
// this package, and not SQLite, said so, until the test ends.
func OnSync(t *testing.T, f func(path string) error) {
	old := fsync
	fsync = func(file *os.File) error { return errors.Join(old(file), f(file.Name())) }
	t.Cleanup(func() { fsync = old })
}

// Sync is what makes a file or the names in a directory durable.
func Sync(f *os.File) error { return fsync(f) }

// FromFile is the history of k as the file has it, whatever s remembers.
func FromFile(ctx context.Context, s *Store, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error) {
	other := &backend{now: s.b.now, ops: s.b.ops, readers: s.b.readers, reads: statements{prepare: s.b.readers.PrepareContext}}
	other.reader = reader{&other.reads, other, nil}
	other.recent.close()
	return engine.New(other, "sqlite", nil).History(ctx, k, limit)
}

// ReadLate reads the history of k, does f, and has s remember only then what
// was read.
func ReadLate(ctx context.Context, s *Store, k channels.Key, f func()) error {
	changes := s.b.recent.now()
	id, err := s.b.keyID(ctx, k)
	if err != nil {
		return err
	}
	from, to := span(id)
	rows, err := collect(s.b.said(ctx, from, to, rows.Said{}))
	f()
	s.b.recent.put(id, rows, changes)
	return err
}

// Changing does f as if rows were changed, committed and not yet told of.
func Changing(s *Store, f func()) {
	s.b.recent.begin()
	defer s.b.recent.forget()
	f()
}

// AtCommit has f called by the writer within each commit from now on: behind
// the last statement, before anybody can read what was changed.
func AtCommit(s *Store, f func()) error {
	return update(s, func(t *tx) error {
		return t.conn.Raw(func(conn any) error {
			conn.(driver.HookRegisterer).RegisterCommitHook(func() int32 { f(); return 0 })
			return nil
		})
	})
}

// Remembered is of how many conversations s knows the newest messages, of how
// many messages in all, and what it says they take; and what they may take.
func Remembered(s *Store) (conversations, messages, size, most int) {
	s.b.recent.mu.Lock()
	defer s.b.recent.mu.Unlock()
	for _, held := range []stretches{s.b.recent.young, s.b.recent.old} {
		conversations += len(held.byKey)
		size += held.size
		for _, one := range held.byKey {
			messages += len(one.rows)
		}
	}
	return conversations, messages, size, recentMost
}

// Aging says that a timer runs that makes s forget.
func Aging(s *Store) bool {
	s.b.recent.mu.Lock()
	defer s.b.recent.mu.Unlock()
	return s.b.recent.timer != nil
}

// Rewrites says of a statement that s forgets what it remembers of messages.
func Rewrites(query string) bool { return rewrites(query) }

// Caches are the sizes of the page caches of the connection that writes and of
// one that reads, as SQLite tells them: in KiB, below zero.
func Caches(s *Store) (writer, reader int, err error) {
	const query = `PRAGMA cache_size`
	err = update(s, func(t *tx) error { return t.row(context.Background(), query).Scan(&writer) })
	return writer, reader, errors.Join(err, s.b.reads.row(context.Background(), query).Scan(&reader))
}
