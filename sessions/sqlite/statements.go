package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	driver "modernc.org/sqlite"

	"dragoman/channels"
)

// writer is the connection that writes, and what its goroutine remembers.
type writer struct {
	statements
	conn *sql.Conn
	// keys are those that the batch looked at, and touched those that it changed.
	keys    map[channels.Key]*keyRow
	touched map[channels.Key]bool
	// hashes says that the ids of erased messages have to be looked at.
	hashes bool
	// wrote says that the operation at work has begun to write.
	wrote bool
	// ended says that the transaction was rolled back. SQLite does that on its
	// own when the disk is full.
	ended bool
	// rewrote says that a statement of this transaction has changed messages
	// that are there.
	rewrote bool
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{statements: statements{prepare: conn.PrepareContext}, conn: conn, keys: map[channels.Key]*keyRow{}, touched: map[channels.Key]bool{}}
	return w, conn.Raw(func(c any) error {
		c.(driver.HookRegisterer).RegisterRollbackHook(func() { w.ended = true })
		return nil
	})
}

// Close closes the statements too: until then the file stays open. What goes
// wrong there goes wrong again when the connection closes.
func (w *writer) Close() error {
	for _, stmt := range w.byText {
		_ = stmt.Close()
	}
	return w.conn.Close()
}

// exec runs one prepared statement.
func (w *writer) exec(query string, args ...any) error {
	_, err := w.changed(query, args...)
	return err
}

// changed is exec, and how many rows it changed.
func (w *writer) changed(query string, args ...any) (int64, error) {
	w.wrote, w.rewrote = true, w.rewrote || rewrites(query)
	stmt, err := w.get(context.Background(), query)
	if err != nil {
		return 0, err
	}
	plain(args)
	res, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// scanner is a row to come.
type scanner interface{ Scan(dest ...any) error }

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

// statements prepares each statement once, where it is run: on the connection
// that writes, on those that read, or in a snapshot. SQLite prepares one again
// whenever a number is bound that it looked at to plan it, as it does behind
// LIMIT; so that is written LIMIT +?, which hides the number.
type statements struct {
	prepare func(context.Context, string) (*sql.Stmt, error)
	// ready says, before a statement, why it is not to be run. It is nil for the
	// writer: a change that was begun is finished.
	ready  func(context.Context) error
	mu     sync.RWMutex
	byText map[string]*sql.Stmt
}

func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	if s.ready != nil {
		if err := s.ready(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.RLock()
	stmt := s.byText[query]
	s.mu.RUnlock()
	if stmt != nil {
		return stmt, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.byText[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.prepare(context.Background(), query)
	if err != nil {
		return nil, err
	}
	if s.byText == nil {
		s.byText = map[string]*sql.Stmt{}
	}
	s.byText[query] = stmt
	return stmt, nil
}

// row reads at most one row. A read that was begun is finished: with a context
// that may end, the driver has a goroutine watch it.
func (s *statements) row(ctx context.Context, query string, args ...any) scanner {
	stmt, err := s.get(ctx, query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(context.Background(), args...)
}

// each reads many rows and has f scan each of them, as long as it wants more.
func (s *statements) each(ctx context.Context, f func(scanner) (more bool, err error), query string, args ...any) error {
	stmt, err := s.get(ctx, query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	for more := true; more && err == nil && rows.Next(); {
		more, err = f(rows)
	}
	return errors.Join(err, rows.Err(), rows.Close())
}
