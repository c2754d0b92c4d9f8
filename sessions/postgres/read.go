package postgres

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// reader reads rows. t is set inside of an update: then each key that it is asked
// for is locked first, so that what it reads stays so.
type reader struct {
	q querier
	t *tx
}

var _ rows.Reader = reader{}

// key finds the row of a key; nil if nothing is stored of it.
func (r reader) key(ctx context.Context, k channels.Key) (row *keyRow, err error) {
	if r.t != nil {
		row, err = r.t.key(ctx, k)
	} else {
		row, err = one(ctx, r.q, scanKey, `SELECT `+keyColumns+` FROM keys WHERE key = $1`, k.String())
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil || !row.known:
		return nil, err
	}
	return row, nil
}

// pageFirst and pageMost are how many rows are read at once: few at first, since
// most callers stop soon. No row is open while the caller looks at one.
const (
	pageFirst = 64
	pageMost  = 1024
)

// pages yields what read finds, page after page; next is where the one after v
// goes on.
func pages[T, C any](at C, read func(at C, most int) ([]T, error), next func(v T) C) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for most := pageFirst; ; most = min(4*most, pageMost) {
			list, err := read(at, most)
			for v, err := range given(list, err) {
				if !yield(v, err) {
					return
				}
			}
			if len(list) < most {
				return
			}
			at = next(list[len(list)-1])
		}
	}
}

// Head: see rows.Reader.
func (r reader) Head(ctx context.Context, k channels.Key) (rows.Head, bool, error) {
	row, err := r.key(ctx, k)
	if row == nil {
		return rows.Head{}, false, err
	}
	return row.head, true, nil
}

// Heads: see rows.Reader.
func (r reader) Heads(ctx context.Context, o rows.Order, after *sessions.Cursor) iter.Seq2[rows.Head, error] {
	query := `known AND key > $1 AND $2::bigint IS NOT NULL ORDER BY key`
	switch o {
	case rows.Newest:
		query = `(updated, $1) <= ($2, $1) AND (updated < $2 OR key > $1) ORDER BY updated DESC, key`
	case rows.Oldest:
		query = `updated >= $2 AND (updated > $2 OR key < $1) ORDER BY updated, key DESC`
	}
	at := sessions.Cursor{}
	if o == rows.Newest {
		at.Updated = rules.LastMoment.Add(1)
	}
	if after != nil {
		at = *after
	}
	return pages(at, func(at sessions.Cursor, most int) ([]rows.Head, error) {
		updated := nanos(at.Updated)
		if o == rows.Newest && at.Updated.After(rules.LastMoment) {
			updated = at.Updated.UnixNano()
		}
		return all(ctx, r.q, func(row pgx.CollectableRow) (h rows.Head, err error) {
			k, err := scanKey(row)
			if err == nil {
				h = k.head
			}
			return h, err
		}, `SELECT `+keyColumns+` FROM keys WHERE `+query+` LIMIT $3`, at.Key.String(), updated, most)
	}, func(h rows.Head) sessions.Cursor {
		p := sessions.Cursor{Key: h.Key}
		if h.Conversation != nil {
			p.Updated = h.Conversation.Updated
		}
		return p
	})
}

// span are the seqs that a read is about.
type span struct {
	from, to int64 // both inclusive
	newest   bool
}

const maxSeq = 1<<63 - 1

func (s span) order() string {
	if s.newest {
		return ` ORDER BY seq DESC LIMIT $4`
	}
	return ` ORDER BY seq LIMIT $4`
}

// after is what is left of s behind seq.
func (s span) after(seq int64) span {
	if s.newest {
		s.to = seq - 1
	} else {
		s.from = seq + 1
	}
	return s
}

// theKey is a key's id in queries: the row is locked, and its id known, in updates
// only.
const theKey = `(SELECT id FROM keys WHERE key = $1 AND known)`

// bySeq yields rows of k in pages, by a query for those of theKey. scan reads a
// row of the key that it is told.
func bySeq[T any](ctx context.Context, r reader, k channels.Key, s span, query string, args []any, scan func(channels.Key, pgx.CollectableRow) (T, error), seq func(T) int64) iter.Seq2[T, error] {
	return pages(s, func(at span, most int) ([]T, error) {
		if at.from > at.to {
			return nil, nil
		}
		query, id := query, any(k.String())
		if r.t != nil {
			key, err := r.key(ctx, k)
			if key == nil {
				return nil, err
			}
			query, id = strings.Replace(query, theKey, `$1`, 1), key.id
		}
		return all(ctx, r.q, func(row pgx.CollectableRow) (T, error) { return scan(k, row) },
			query+at.order(), append([]any{id, at.from, at.to, most}, args...)...)
	}, func(v T) span { return s.after(seq(v)) })
}

// Messages: see rows.Reader.
func (r reader) Messages(ctx context.Context, k channels.Key, q rows.Said) iter.Seq2[sessions.Message, error] {
	content := `content`
	if q.Light {
		content = `''`
	}
	return bySeq(ctx, r, k, said(q), `SELECT seq, data, `+content+` FROM messages WHERE key_id = `+theKey+` AND seq BETWEEN $2 AND $3`, nil,
		func(_ channels.Key, row pgx.CollectableRow) (sessions.Message, error) { return scanMessage(row) },
		func(m sessions.Message) int64 { return m.Seq })
}

func said(q rows.Said) span {
	s := span{q.After + 1, maxSeq, q.Newest}
	if q.Before > 0 {
		s.to = q.Before - 1
	}
	return s
}

func scanMessage(row pgx.CollectableRow) (m sessions.Message, err error) {
	var seq int64
	var data, content string
	if err = row.Scan(&seq, &data, &content); err != nil {
		return m, err
	}
	return messageOf(seq, data, content)
}

// scanJSON reads a column that is JSON.
func scanJSON[T any](row pgx.CollectableRow) (v T, err error) {
	var text string
	if err = row.Scan(&text); err == nil {
		err = decode(text, &v)
	}
	return v, err
}

// Journal: see rows.Reader.
func (r reader) Journal(ctx context.Context, k channels.Key, turn string) ([]sessions.Step, error) {
	key, err := r.key(ctx, k)
	if key == nil {
		return nil, err
	}
	return all(ctx, r.q, scanJSON[sessions.Step], `SELECT data FROM steps WHERE key_id = $1 AND turn = $2 ORDER BY id`, key.id, rules.Hash(turn))
}

// Accepted: see rows.Reader.
func (r reader) Accepted(ctx context.Context, m channels.Inbound) (seq int64, ok bool, err error) {
	hash := rules.Hash(rules.Dedupe(m))
	var found *int64
	var marked bool
	_, err = one(ctx, r.q, func(row pgx.CollectableRow) (bool, error) { return true, row.Scan(&found, &marked) },
		`SELECT (SELECT seq FROM inbox WHERE dedupe = $1), EXISTS (SELECT 1 FROM marks WHERE hash = $1)`, hash)
	if err != nil || found == nil {
		if r.t != nil && err == nil && !marked {
			r.t.unmarked = hash
		}
		return 0, false, err
	}
	return *found, true, nil
}
