package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"sync"
)

// scanner is a row, or the error that a scan returns instead.
type scanner interface{ Scan(dest ...any) error }

// failed is the row of a query that could not be run. Its error comes out of Scan,
// where callers look for one anyway.
type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

// statements prepares each statement once: on the writing connection, on the reading
// ones, or in a snapshot.
type statements struct {
	prepare func(context.Context, string) (*sql.Stmt, error)
	// ready returns the reason not to run a statement. The writer has none: it finishes
	// a change that it began.
	ready  func(context.Context) error
	mu     sync.Mutex
	byText map[string]*sql.Stmt
}

func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	if s.ready != nil {
		if err := s.ready(ctx); err != nil {
			return nil, err
		}
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

// row reads one row. Reads run to their end whatever becomes of ctx: for a context that
// can end, the driver starts a goroutine.
func (s *statements) row(ctx context.Context, query string, args ...any) scanner {
	stmt, err := s.get(ctx, query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(context.Background(), args...)
}

// stream yields each row of a query as scan returns it.
func stream[T any](ctx context.Context, s *statements, scan func(scanner) (T, error), query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var v T
		var list *sql.Rows
		stmt, err := s.get(ctx, query)
		if err == nil {
			list, err = stmt.QueryContext(context.Background(), args...)
		}
		if err != nil {
			yield(v, explain(err))
			return
		}
		more := true
		for more && err == nil && list.Next() {
			if v, err = scan(list); err == nil {
				more = yield(v, nil)
			}
		}
		if err = errors.Join(err, list.Err(), list.Close()); err != nil && more {
			yield(v, explain(err))
		}
	}
}

func collect[T any](seq iter.Seq2[T, error]) (list []T, err error) {
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// given yields a list, or the error of reading it. An unknown key (sql.ErrNoRows) has
// no rows.
func given[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			var zero T
			yield(zero, explain(err))
			return
		}
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}
