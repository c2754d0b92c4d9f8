package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// reader reads rows with statements. t is set inside of an update.
type reader struct {
	src *statements
	b   *backend
	t   *tx
}

var _ rows.Reader = reader{}

// stream yields what scan makes of each row of a query.
func stream[T any](ctx context.Context, src *statements, scan func(scanner) (T, error), query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := src.each(ctx, func(row scanner) (more bool, err error) {
			v, err := scan(row)
			return err == nil && yield(v, nil), err
		}, query, args...)
		if err != nil {
			var v T
			yield(v, explain(err))
		}
	}
}

// all collects what scan makes of each row of a query.
func all[T any](ctx context.Context, src *statements, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	return collect(stream(ctx, src, scan, query, args...))
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

// none is a stream of nothing, or of an error.
func none[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			var v T
			yield(v, explain(err))
		}
	}
}

// keyRow finds the row of k. Errors: sql.ErrNoRows.
func (r reader) keyRow(ctx context.Context, k channels.Key) (*keyRow, error) {
	if r.t != nil {
		return r.t.find(k)
	}
	if known, ok := r.b.recent.head(k); ok && r.pooled() {
		return &known, r.b.readable(ctx)
	}
	return scanKey(r.src.row(ctx, headQuery+` WHERE k.key = ?`, k.String()))
}

// keyID finds the id of k. Errors: sql.ErrNoRows.
func (r reader) keyID(ctx context.Context, k channels.Key) (id int64, err error) {
	row, err := r.keyRow(ctx, k)
	if err == nil {
		id = row.id
	}
	return id, err
}

// Head: see rows.Reader.
func (r reader) Head(ctx context.Context, k channels.Key) (h rows.Head, ok bool, err error) {
	row, err := r.keyRow(ctx, k)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return h, false, nil
	case err != nil:
		return h, false, explain(err)
	}
	h = row.head()
	if r.t != nil {
		h.Claim = r.b.claim(k)
	}
	return h, true, nil
}

// The orders of heads. Those of one nanosecond, hardly ever more than one, are
// sorted by their keys.
var (
	byKeyQuery  = headQuery + ` ORDER BY k.key`
	newestQuery = talkQuery + ` WHERE c.updated <= ? AND (c.updated < ? OR k.key > ?) ORDER BY c.updated DESC, k.key`
	oldestQuery = talkQuery + ` ORDER BY c.updated, k.key DESC`
)

// Heads: see rows.Reader.
func (r reader) Heads(ctx context.Context, o rows.Order, after *sessions.Cursor) iter.Seq2[rows.Head, error] {
	scan := func(row scanner) (rows.Head, error) {
		k, err := scanKey(row)
		return k.head(), err
	}
	switch o {
	case rows.ByKey:
		return stream(ctx, r.src, scan, byKeyQuery)
	case rows.Oldest:
		return stream(ctx, r.src, scan, oldestQuery)
	}
	from, key := nanos(rules.LastMoment)+1, ""
	if after != nil {
		from, key = nanos(after.Updated), after.Key.String()
	}
	return stream(ctx, r.src, scan, newestQuery, from, from, key)
}

// Journal: see rows.Reader.
func (r reader) Journal(ctx context.Context, k channels.Key, turn string) ([]sessions.Step, error) {
	key, err := r.keyID(ctx, k)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	return all(ctx, r.src, func(row scanner) (step sessions.Step, err error) {
		var data []byte
		if err := row.Scan(&data); err != nil {
			return step, err
		}
		return step, decode(data, &step)
	}, `SELECT data FROM steps WHERE key_id = ? AND turn = ? ORDER BY id`, key, turn)
}

// Accepted: see rows.Reader.
func (r reader) Accepted(ctx context.Context, m channels.Inbound) (seq int64, ok bool, err error) {
	err = r.src.row(ctx, `SELECT id FROM inbox WHERE dedupe = ?`, rules.Dedupe(m)).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return seqOf(seq), err == nil, explain(err)
}
