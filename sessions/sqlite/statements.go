package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"dragoman/channels"
	"dragoman/internal/durable"
)

// writer is the connection that writes, and what its goroutine remembers.
type writer struct {
	conn  *sql.Conn
	stmts statements
	keys  map[channels.Key]*keyRow
	// hashes says that the ids of erased messages have to be looked at.
	hashes bool
	// rewrote says that a statement of this transaction has changed messages
	// that are there.
	rewrote bool
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &writer{conn: conn, stmts: statements{prepare: conn.PrepareContext}, keys: map[channels.Key]*keyRow{}}, nil
}

func (w *writer) close() error {
	w.stmts.close()
	return w.conn.Close()
}

// forget drops what is remembered of keys after a change that was not made.
func (w *writer) forget() { clear(w.keys) }

// stmt finds a prepared statement, to be run.
func (w *writer) stmt(query string) (*sql.Stmt, error) {
	w.rewrote = w.rewrote || rewrites(query)
	return w.stmts.get(query)
}

// exec runs one prepared statement. The context is not the caller's: a change
// that was begun is finished.
func (w *writer) exec(query string, args ...any) error {
	_, err := w.changed(query, args...)
	return err
}

// changed is exec, and how many rows it changed.
func (w *writer) changed(query string, args ...any) (int64, error) {
	stmt, err := w.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// row reads at most one row.
func (w *writer) row(_ context.Context, query string, args ...any) scanner {
	stmt, err := w.stmt(query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(context.Background(), args...)
}

// rows reads many.
func (w *writer) rows(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := w.stmt(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(context.Background(), args...)
}

// scanner is a row to come.
type scanner interface{ Scan(dest ...any) error }

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

// statements prepares each statement once. SQLite prepares one again whenever a
// number is bound that it looked at to plan it, as it does behind LIMIT; so that
// is written LIMIT +?, which hides the number.
type statements struct {
	prepare func(context.Context, string) (*sql.Stmt, error)
	mu      sync.RWMutex
	byText  map[string]*sql.Stmt
}

func (s *statements) get(query string) (*sql.Stmt, error) {
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

// close closes the statements. What goes wrong here goes wrong again when the
// connection closes, and is reported then.
func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stmt := range s.byText {
		_ = stmt.Close()
	}
	s.byText = nil
}

// each calls f for each of rows and closes them.
func each(rows *sql.Rows, f func() error) error {
	for rows.Next() {
		if err := f(); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// source is where rows are read from: the connection that writes, one of those
// that read, or a snapshot.
type source interface {
	row(ctx context.Context, query string, args ...any) scanner
	rows(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// pool reads with one of the reading connections. Reads are short and bounded;
// ctx is looked at before, not during one.
type pool struct{ s *backend }

func (p pool) row(ctx context.Context, query string, args ...any) scanner {
	if err := p.s.readable(ctx); err != nil {
		return failed{err}
	}
	stmt, err := p.s.reads.get(query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(context.WithoutCancel(ctx), args...)
}

func (p pool) rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := p.s.readable(ctx); err != nil {
		return nil, err
	}
	stmt, err := p.s.reads.get(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(context.WithoutCancel(ctx), args...)
}

func (s *backend) readable(ctx context.Context) error {
	if s.ops.Closed() {
		return durable.ErrClosed
	}
	return ctx.Err()
}

// snapshot reads in one transaction.
type snapshot struct{ stmts statements }

func (s *snapshot) row(ctx context.Context, query string, args ...any) scanner {
	stmt, err := s.stmts.get(query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(ctx, args...)
}

func (s *snapshot) rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.stmts.get(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}
