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

// searchable is m as the search index takes it.
func searchable(m sessions.Message) string {
	if !rules.Searched(m) {
		return ""
	}
	var b strings.Builder
	for w := range rules.Searchable(m.Content) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

// quoted is a word of a query in the language of the index.
func quoted(w string) string {
	if rules.Begins(w) {
		return `"` + w + `"*`
	}
	return `"` + w + `"` // a word holds no quotes: it is letters, digits and marks
}

// searched is what of messages m is found: files from before have the others
// in their index.
const searched = `CASE WHEN m.role = 'tool' AND json_valid(CAST(m.rest AS TEXT)) THEN coalesce(CAST(m.rest AS TEXT) ->> '$.name', '') <> '` + sessions.HistoryTool + `' ELSE 1 END`

// Lookup is part of [sessions.Archive].
func (s *Store) Lookup(ctx context.Context, k channels.Key, l sessions.Lookup) (sessions.Hits, error) {
	hits, err := s.lookup(ctx, k, rules.Query(l.Query), l)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return sessions.Hits{}, wrap("search", err)
	}
	return hits, nil
}

func (s *Store) lookup(ctx context.Context, k channels.Key, words []string, l sessions.Lookup) (hits sessions.Hits, err error) {
	if len(words) == 0 || l.Limit <= 0 {
		return hits, nil
	}
	key, err := s.keyID(ctx, k)
	if err != nil {
		return hits, err
	}
	where := part{rowID(key, max(l.After, 0)+1), rowID(key, maxSeq), l.Oldest}
	if l.Before > 0 {
		where.to = rowID(key, min(l.Before-1, maxSeq))
	}
	all, some, err := s.match(ctx, words, where, max(sessions.MostCounted, l.Limit), l.Limit)
	if err != nil {
		return hits, err
	}
	hits.All, hits.Some = min(len(all), sessions.MostCounted), len(some)
	best := all[:min(l.Limit, len(all))]
	if len(best) < l.Limit {
		if err := s.rank(ctx, words, some); err != nil {
			return hits, err
		}
		best = append(best, some[:min(l.Limit-len(best), len(some))]...)
	}
	var said []sessions.Message // oldest first
	for _, id := range slices.Sorted(slices.Values(best)) {
		m, err := s.message(ctx, id)
		if errors.Is(err, sql.ErrNoRows) {
			continue // deleted since it was found
		}
		if err != nil {
			return hits, err
		}
		said = append(said, m)
	}
	hits.Messages = rules.Lookup(said, l).Messages
	return hits, nil
}

// part is a range of message ids, and at which end a search of it begins.
type part struct {
	from, to int64
	oldest   bool
}

// match finds the messages of a part that hold all of the words, at most so
// many, and if those are fewer than limit, those with only some of them.
func (s *Store) match(ctx context.Context, words []string, where part, most, limit int) (all, some []int64, err error) {
	phrases := make([]string, len(words))
	for i, w := range words {
		phrases[i] = quoted(w)
	}
	all, err = s.matching(ctx, strings.Join(phrases, " AND "), where, most)
	if err != nil || len(all) >= limit || len(words) == 1 {
		return all, nil, err
	}
	some, err = s.matching(ctx, strings.Join(phrases, " OR "), where, most)
	return all, slices.DeleteFunc(some, func(id int64) bool { return slices.Contains(all, id) }), err
}

// matching lists the ids that an expression of the index finds.
func (s *Store) matching(ctx context.Context, expression string, where part, most int) (ids []int64, err error) {
	order := "DESC"
	if where.oldest {
		order = "ASC"
	}
	rows, err := s.rows(ctx, `SELECT w.rowid FROM words w JOIN messages m ON m.id = w.rowid
		JOIN conversations c ON c.key_id = w.rowid >> 32
		WHERE w.said MATCH ? AND w.rowid BETWEEN ? AND ? AND `+searched+` ORDER BY w.rowid `+order+` LIMIT +?`,
		expression, where.from, where.to, most)
	if err != nil {
		return nil, err
	}
	var id int64
	err = each(rows, func() error {
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// rank sorts ids by how many of the words their messages hold, and otherwise
// leaves them in order. The index knows; the messages may be long.
func (s *Store) rank(ctx context.Context, words []string, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	score := make(map[int64]int, len(ids))
	for _, w := range words {
		rows, err := s.rows(ctx, `SELECT rowid FROM words WHERE said MATCH ? AND rowid BETWEEN ? AND ?`, quoted(w), slices.Min(ids), slices.Max(ids))
		if err != nil {
			return err
		}
		var id int64
		err = each(rows, func() error {
			err := rows.Scan(&id)
			score[id]++
			return err
		})
		if err != nil {
			return err
		}
	}
	slices.SortStableFunc(ids, func(a, b int64) int { return cmp.Compare(score[b], score[a]) })
	return nil
}

// message reads one. Errors: sql.ErrNoRows.
func (s *Store) message(ctx context.Context, id int64) (sessions.Message, error) {
	row := recentRow{seq: seqOf(id)}
	err := s.row(ctx, `SELECT m.role, m.rest, m.content FROM messages m
		JOIN conversations c ON c.key_id = m.id >> 32 WHERE m.id = ?`, id).Scan((*string)(&row.role), &row.rest, &row.content)
	if err != nil {
		return sessions.Message{}, err
	}
	return row.message()
}
