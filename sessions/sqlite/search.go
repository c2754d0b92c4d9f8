package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
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

// Match: see rows.Reader.
func (r reader) Match(ctx context.Context, w rows.Words) (all, some []sessions.Message, err error) {
	key, err := r.keyID(ctx, w.Key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, explain(err)
	}
	where := part{rowID(key, max(w.After, 0)+1), rowID(key, maxSeq), !w.Newest}
	if w.Before > 0 {
		where.to = rowID(key, min(w.Before-1, maxSeq))
	}
	whole, rest, err := r.match(ctx, w.Query, where, w.Most, w.Enough)
	if err == nil {
		err = r.rank(ctx, w.Query, rest)
	}
	if err == nil {
		all, err = r.found(ctx, whole, w.Enough)
	}
	if err == nil {
		some, err = r.found(ctx, rest, w.Enough)
	}
	return all, some, explain(err)
}

// found reads the messages of ids, of which those beyond enough are only
// counted: they are without what they say.
func (r reader) found(ctx context.Context, ids []int64, enough int) (list []sessions.Message, err error) {
	for i, id := range ids {
		if i >= enough {
			list = append(list, sessions.Message{Seq: seqOf(id)})
			continue
		}
		m, err := r.message(ctx, id)
		if errors.Is(err, sql.ErrNoRows) {
			continue // deleted since it was found
		}
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// part is a range of message ids, and at which end a search of it begins.
type part struct {
	from, to int64
	oldest   bool
}

// match finds the messages of a part that hold all of the words, at most so
// many, and if those are fewer than limit, those with only some of them.
func (r reader) match(ctx context.Context, words []string, where part, most, limit int) (all, some []int64, err error) {
	phrases := make([]string, len(words))
	for i, w := range words {
		phrases[i] = quoted(w)
	}
	all, err = r.matching(ctx, strings.Join(phrases, " AND "), where, most)
	if err != nil || len(all) >= limit || len(words) == 1 {
		return all, nil, err
	}
	some, err = r.matching(ctx, strings.Join(phrases, " OR "), where, most)
	return all, slices.DeleteFunc(some, func(id int64) bool { return slices.Contains(all, id) }), err
}

// matching lists the ids that an expression of the index finds.
func (r reader) matching(ctx context.Context, expression string, where part, most int) (ids []int64, err error) {
	order := "DESC"
	if where.oldest {
		order = "ASC"
	}
	return ints(ctx, r.src, `SELECT w.rowid FROM words w JOIN conversations c ON c.key_id = w.rowid >> 32
		WHERE w.said MATCH ? AND w.rowid BETWEEN ? AND ? ORDER BY w.rowid `+order+` LIMIT +?`,
		expression, where.from, where.to, most)
}

// rank sorts ids by how many of the words their messages hold, and otherwise
// leaves them in order. The index knows; the messages may be long.
func (r reader) rank(ctx context.Context, words []string, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	score := make(map[int64]int, len(ids))
	for _, w := range words {
		list, err := ints(ctx, r.src, `SELECT rowid FROM words WHERE said MATCH ? AND rowid BETWEEN ? AND ?`, quoted(w), slices.Min(ids), slices.Max(ids))
		if err != nil {
			return err
		}
		for _, id := range list {
			score[id]++
		}
	}
	slices.SortStableFunc(ids, func(a, b int64) int { return cmp.Compare(score[b], score[a]) })
	return nil
}

// message reads one. Errors: sql.ErrNoRows.
func (r reader) message(ctx context.Context, id int64) (sessions.Message, error) {
	var role sessions.Role
	var rest []byte
	var content string
	err := r.src.row(ctx, `SELECT m.role, m.rest, m.content FROM messages m
		JOIN conversations c ON c.key_id = m.id >> 32 WHERE m.id = ?`, id).Scan((*string)(&role), &rest, &content)
	if err != nil {
		return sessions.Message{}, err
	}
	return messageOf(seqOf(id), role, rest, content)
}

// foundQuery lists the messages that expressions of the index find, a JSON list,
// and how many of the expressions do.
const foundQuery = `SELECT h.id, h.n, k.key, m.rest FROM (
		SELECT w.rowid AS id, count(*) AS n FROM json_each(?) q CROSS JOIN words w
		WHERE w.said MATCH q.value AND w.rowid BETWEEN ? AND ? GROUP BY w.rowid
	) h CROSS JOIN messages m ON m.id = h.id
	JOIN conversations c ON c.key_id = h.id >> 32 JOIN keys k ON k.id = h.id >> 32`

// Scored: see rows.Reader. Of each message the time is read, and not what it
// says.
func (r reader) Scored(ctx context.Context, query []string, key channels.Key) iter.Seq2[sessions.Found, error] {
	where := part{from: math.MinInt64, to: math.MaxInt64}
	if !key.IsZero() {
		id, err := r.keyID(ctx, key)
		if err != nil {
			return none[sessions.Found](err)
		}
		where.from, where.to = span(id)
	}
	single := make([]string, len(query))
	for i, w := range query {
		single[i] = quoted(w)
	}
	return stream(ctx, r.src, func(row scanner) (f sessions.Found, err error) {
		var id int64
		var name, raw string
		var rest messageRest
		if err = row.Scan(&id, &f.Words, &name, &raw); err == nil {
			err = errors.Join(parseKey(&f.Key, name), decode([]byte(raw), &rest), ctx.Err())
		}
		f.Message.Seq, f.Message.At = seqOf(id), rest.At
		return f, err
	}, foundQuery, string(encode(single)), where.from, where.to)
}
