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

// reader reads rows with statements. t is the transaction within an update, else nil.
type reader struct {
	src       *statements
	b         *backend
	t         *tx
	unsettled error // of a snapshot: why its search index is not whole
}

var _ rows.Reader = reader{}

// committed reports whether each read sees what is durable at its time, unlike those of
// an update or a snapshot.
func (r reader) committed() bool { return r.src == &r.b.reads }

// keyRow returns the row of k. Errors: sql.ErrNoRows.
func (r reader) keyRow(ctx context.Context, k channels.Key) (*keyRow, error) {
	if r.t != nil {
		return r.t.find(k)
	}
	if cached, ok := r.b.cache.head(k); ok && r.committed() {
		return &cached, r.b.readable(ctx)
	}
	return scanKey(r.src.row(ctx, allHeads+` WHERE k.key = ?`, k.String()))
}

// keyID returns the id of k. Errors: sql.ErrNoRows.
func (r reader) keyID(ctx context.Context, k channels.Key) (int64, error) {
	row, err := r.keyRow(ctx, k)
	if err != nil {
		return 0, err
	}
	return row.id, nil
}

func (r reader) Head(ctx context.Context, k channels.Key) (h rows.Head, ok bool, err error) {
	row, err := r.keyRow(ctx, k)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return h, false, nil
	case err != nil:
		return h, false, explain(err)
	}
	h = row.Head
	h.Claim = 0
	if r.t != nil {
		h.Claim = r.t.claim(k)
	}
	return h, true, nil
}

// The orders of heads. Conversations updated in the same nanosecond are sorted by key.
var (
	byKeyQuery  = allHeads + ` WHERE k.key > ? ORDER BY k.key`
	newestQuery = talkHeads + ` WHERE c.updated <= ? AND (c.updated < ? OR k.key > ?) ORDER BY c.updated DESC, k.key`
	oldestQuery = talkHeads + ` ORDER BY c.updated, k.key DESC`
	// Only a conversation whose owners nobody knows has no text there.
	unownedQuery = talkHeads + ` WHERE c.owners = '' ORDER BY c.updated DESC, k.key`
)

func (r reader) Heads(ctx context.Context, o rows.Order, after *sessions.Cursor) iter.Seq2[rows.Head, error] {
	scan := func(row scanner) (rows.Head, error) {
		k, err := scanKey(row)
		return k.Head, err
	}
	from, key := nanos(rules.LastMoment)+1, ""
	if after != nil {
		from, key = nanos(after.Updated), after.Key.String()
	}
	switch o {
	case rows.ByKey:
		return stream(ctx, r.src, scan, byKeyQuery, key)
	case rows.Oldest:
		return stream(ctx, r.src, scan, oldestQuery)
	case rows.Unowned:
		return stream(ctx, r.src, scan, unownedQuery)
	}
	return stream(ctx, r.src, scan, newestQuery, from, from, key)
}

func (r reader) Journal(ctx context.Context, k channels.Key, turn string) ([]sessions.Step, error) {
	key, err := r.keyID(ctx, k)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	return collect(stream(ctx, r.src, func(row scanner) (step sessions.Step, err error) {
		var data []byte
		if err = row.Scan(&data); err == nil {
			err = decode(data, &step)
		}
		return step, err
	}, `SELECT data FROM steps WHERE key_id = ? AND turn = ? ORDER BY id`, key, turn))
}

func (r reader) Accepted(ctx context.Context, m channels.Inbound) (seq int64, ok bool, err error) {
	var id int64
	err = r.src.row(ctx, `SELECT id FROM inbox WHERE dedupe = ?`, rules.Dedupe(m)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return seqOf(id), err == nil, explain(err)
}
