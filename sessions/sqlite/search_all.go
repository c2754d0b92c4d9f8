package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// SearchAll is part of [sessions.Catalog]. It reads the time of every message
// that has the words, and the text of those on the page alone.
func (s *Store) SearchAll(ctx context.Context, search sessions.Search) ([]sessions.Found, error) {
	words := rules.Query(search.Query)
	if len(words) == 0 || search.Limit <= 0 {
		return nil, nil
	}
	found, err := s.searchAll(ctx, words, search)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, wrap("search all", err)
	}
	return found, nil
}

func (s *Store) searchAll(ctx context.Context, words []string, search sessions.Search) (found []sessions.Found, err error) {
	where := part{from: math.MinInt64, to: math.MaxInt64}
	if !search.Key.IsZero() {
		key, err := s.keyID(ctx, search.Key)
		if err != nil {
			return nil, err
		}
		where.from, where.to = rowID(key, 0), rowID(key, maxSeq)
	}
	single := make([]string, len(words))
	for i, w := range words {
		single[i] = quoted(w)
	}
	ranking := rules.NewRanking(search)
	if err := s.place(ctx, ranking, where, len(words), strings.Join(single, " AND ")); err != nil {
		return nil, err
	}
	if len(words) > 1 && len(ranking.Page()) < search.Limit {
		if err := s.place(ctx, ranking, where, len(words), single...); err != nil {
			return nil, err
		}
	}
	for _, f := range ranking.Page() {
		key, err := s.keyID(ctx, f.Key)
		if err == nil {
			f.Message, err = s.message(ctx, rowID(key, f.Message.Seq))
		}
		if errors.Is(err, sql.ErrNoRows) {
			continue // deleted since it was found
		}
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}

// foundQuery lists the messages that expressions of the index find, a JSON list,
// and how many of the expressions do.
const foundQuery = `SELECT h.id, h.n, k.key, m.rest FROM (
		SELECT w.rowid AS id, count(*) AS n FROM json_each(?) q CROSS JOIN words w
		WHERE w.said MATCH q.value AND w.rowid BETWEEN ? AND ? GROUP BY w.rowid
	) h CROSS JOIN messages m ON m.id = h.id
	JOIN conversations c ON c.key_id = h.id >> 32 JOIN keys k ON k.id = h.id >> 32 WHERE ` + searched

// place shows ranking where the messages stand that expressions find: either one
// for all words of the query, or one for each, which leaves out those with all.
func (s *Store) place(ctx context.Context, ranking *rules.Ranking, where part, words int, expressions ...string) error {
	rows, err := s.rows(ctx, foundQuery, string(encode(expressions)), where.from, where.to)
	if err != nil {
		return err
	}
	var id int64
	var n int
	var name, raw string
	return each(rows, func() error {
		if err := rows.Scan(&id, &n, &name, &raw); err != nil {
			return err
		}
		if len(expressions) == 1 {
			n = words
		} else if n == words {
			return nil
		}
		var k channels.Key
		var rest messageRest
		if err := errors.Join(parseKey(&k, name), decodeRest(raw, &rest), ctx.Err()); err != nil {
			return err
		}
		ranking.Add(sessions.Found{Key: k, Words: n, Message: sessions.Message{Seq: seqOf(id), At: rest.At}})
		return nil
	})
}
