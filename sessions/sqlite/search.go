package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// searchMost bounds how many of the newest messages with some of the words
// are compared.
const searchMost = 200

// searchable is content as the search index takes it.
func searchable(content string) string {
	return strings.Join(rules.Words(rules.Searchable(content)), " ")
}

// Search is part of [sessions.Archive]. Messages with all words come first,
// then those with most of them, the newer before the older.
func (s *Store) Search(ctx context.Context, k channels.Key, query string, limit int) ([]sessions.Message, error) {
	list, err := s.search(ctx, k, rules.Query(query), limit)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, wrap("search", err)
	}
	return list, nil
}

func (s *Store) search(ctx context.Context, k channels.Key, words []string, limit int) ([]sessions.Message, error) {
	if len(words) == 0 || limit <= 0 {
		return nil, nil
	}
	key, err := s.keyID(ctx, k)
	if err != nil {
		return nil, err
	}
	found, err := s.match(ctx, words, rowID(key, 0), rowID(key, maxSeq), limit, limit)
	if err != nil {
		return nil, err
	}
	inOrder := make([]sessions.Message, 0, len(found))
	for _, m := range found {
		inOrder = append(inOrder, m)
	}
	slices.SortFunc(inOrder, func(a, b sessions.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return rules.Best(words, inOrder, func(m sessions.Message) string { return m.Content }, limit), nil
}

// match finds the newest messages between two ids that hold all of the words,
// at most so many, and if those are fewer than limit, those with some of them.
func (s *Store) match(ctx context.Context, words []string, from, to int64, most, limit int) (map[int64]sessions.Message, error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"` // a word holds no quotes: it is letters, digits and marks
	}
	found := map[int64]sessions.Message{}
	for _, try := range []struct {
		operator string
		most     int
	}{{" AND ", most}, {" OR ", max(limit, searchMost)}} {
		if len(found) >= limit || try.operator == " OR " && len(words) == 1 {
			break
		}
		rows, err := s.rows(ctx, `SELECT m.id, m.role, m.rest, m.content FROM words w JOIN messages m ON m.id = w.rowid
			JOIN conversations c ON c.key_id = w.rowid >> 32
			WHERE w.said MATCH ? AND w.rowid BETWEEN ? AND ? ORDER BY w.rowid DESC LIMIT +?`,
			strings.Join(quoted, try.operator), from, to, try.most)
		if err != nil {
			return nil, err
		}
		scan := newRowScan(rows)
		err = each(rows, func() error {
			m, err := scan.message()
			found[scan.id] = m
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
