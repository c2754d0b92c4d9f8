package postgres

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// reader reads rows. t is set within an update. Then it locks each key before it reads
// it, so that the rows cannot change before the commit.
type reader struct {
	q querier
	t *tx
}

var _ rows.Reader = reader{}

// key returns the row of k, or nil if k was never stored.
func (r reader) key(ctx context.Context, k channels.Key) (row *keyRow, err error) {
	if r.t != nil {
		row, err = r.t.lockKey(ctx, k)
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

// Rows are read in pages: small ones at first, since most callers stop soon. No query
// is open while the caller looks at a row.
const (
	firstPage = 64
	maxPage   = 1024
)

// pages yields the rows of read, page after page, from the position at on. next returns
// the position after v.
func pages[T, C any](at C, read func(at C, most int) ([]T, error), next func(v T) C) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for most := firstPage; ; most = min(4*most, maxPage) {
			list, err := read(at, most)
			for v, err := range yieldAll(list, err) {
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

// yieldAll yields a list, or the error with which reading it failed.
func yieldAll[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func (r reader) Head(ctx context.Context, k channels.Key) (rows.Head, bool, error) {
	row, err := r.key(ctx, k)
	if row == nil {
		return rows.Head{}, false, err
	}
	return row.head, true, nil
}

// newestHeads are the heads of conversations after a place in the order of rows.Newest.
const newestHeads = `(updated, $1) <= ($2, $1) AND (updated < $2 OR key > $1)`

func (r reader) Heads(ctx context.Context, o rows.Order, after *sessions.Cursor) iter.Seq2[rows.Head, error] {
	query := `known AND key > $1 AND $2::bigint IS NOT NULL ORDER BY key`
	switch o {
	case rows.Newest:
		query = newestHeads + ` ORDER BY updated DESC, key`
	case rows.Unowned: // owners are the last field, and the only list in that place
		query = newestHeads + ` AND NOT (conversation LIKE '%"owners":[%' AND conversation LIKE '%]}') ORDER BY updated DESC, key`
	case rows.Oldest:
		query = `updated >= $2 AND (updated > $2 OR key < $1) ORDER BY updated, key DESC`
	}
	type place struct {
		key     string
		updated int64
	}
	at := place{updated: noTime}
	if o == rows.Newest || o == rows.Unowned {
		at.updated = math.MaxInt64
	}
	if after != nil {
		at = place{after.Key.String(), nanos(after.Updated)}
	}
	return pages(at, func(at place, most int) ([]rows.Head, error) {
		return all(ctx, r.q, func(row pgx.CollectableRow) (h rows.Head, err error) {
			k, err := scanKey(row)
			if err == nil {
				h = k.head
			}
			return h, err
		}, `SELECT `+keyColumns+` FROM keys WHERE `+query+` LIMIT $3`, at.key, at.updated, most)
	}, func(h rows.Head) place {
		if h.Conversation == nil {
			return place{key: h.Key.String()}
		}
		return place{h.Key.String(), nanos(h.Conversation.Updated)}
	})
}

// span is a range of seqs, both ends inclusive.
type span struct {
	from, to int64
	newest   bool
}

// spanOf returns the seqs between after and before, both exclusive. A before of 0 does
// not bound them.
func spanOf(after, before int64, newest bool) span {
	if before <= 0 {
		return span{after + 1, math.MaxInt64, newest}
	}
	return span{after + 1, before - 1, newest}
}

func (s span) order() string {
	if s.newest {
		return ` ORDER BY seq DESC LIMIT $4`
	}
	return ` ORDER BY seq LIMIT $4`
}

// rest returns the part of s that follows seq.
func (s span) rest(seq int64) span {
	if s.newest {
		s.to = seq - 1
	} else {
		s.from = seq + 1
	}
	return s
}

// idOfKey is the id of the key $1 in a query outside an update. Within one the row is
// locked and its id known.
const idOfKey = `(SELECT id FROM keys WHERE key = $1 AND known)`

// bySeq yields rows of k in pages. query has idOfKey, and scan gets k.
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
			query, id = strings.Replace(query, idOfKey, `$1`, 1), key.id
		}
		return all(ctx, r.q, func(row pgx.CollectableRow) (T, error) { return scan(k, row) },
			query+at.order(), append([]any{id, at.from, at.to, most}, args...)...)
	}, func(v T) span { return s.rest(seq(v)) })
}

func (r reader) Messages(ctx context.Context, k channels.Key, q rows.MessageFilter) iter.Seq2[sessions.Message, error] {
	content := `content`
	if q.Light {
		content = `''`
	}
	return bySeq(ctx, r, k, spanOf(q.After, q.Before, q.Newest), `SELECT seq, data, `+content+` FROM messages WHERE key_id = `+idOfKey+` AND seq BETWEEN $2 AND $3`, nil,
		scanMessage, func(m sessions.Message) int64 { return m.Seq })
}

func scanMessage(_ channels.Key, row pgx.CollectableRow) (m sessions.Message, err error) {
	var seq int64
	var data, content string
	if err = row.Scan(&seq, &data, &content); err == nil {
		err = decode(data, &m)
	}
	if err == nil && content != "" {
		err = decode(content, &m.Content)
	}
	m.Seq = seq
	return m, err
}

// scanJSON scans a row of one column that has JSON.
func scanJSON[T any](row pgx.CollectableRow) (v T, err error) {
	var text string
	if err = row.Scan(&text); err == nil {
		err = decode(text, &v)
	}
	return v, err
}

func (r reader) Journal(ctx context.Context, k channels.Key, turn string) ([]sessions.Step, error) {
	key, err := r.key(ctx, k)
	if key == nil {
		return nil, err
	}
	return all(ctx, r.q, scanJSON[sessions.Step], `SELECT data FROM steps WHERE key_id = $1 AND turn = $2 ORDER BY id`, key.id, rules.Hash(turn))
}

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
