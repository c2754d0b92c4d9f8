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
	b.Grow(min(len(m.Content), rules.SearchBytes))
	for w := range rules.Searchable(m.Content) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

// quoted are the words of a query in the language of the index.
func quoted(query []string) []string {
	list := make([]string, len(query))
	for i, w := range query {
		list[i] = `"` + w + `"` // a word holds no quotes: it is letters, digits and marks
		if rules.Begins(w) {
			list[i] += `*`
		}
	}
	return list
}

// Match: see rows.Reader.
func (r reader) Match(ctx context.Context, w rows.Words) (all, some []sessions.Message, err error) {
	key, err := r.keyID(ctx, w.Key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, nil
	}
	words := quoted(w.Query)
	var whole, rest []int64
	if err == nil {
		whole, err = r.matching(ctx, key, strings.Join(words, " AND "), w)
	}
	if err == nil && len(whole) < w.Enough && len(words) > 1 {
		rest, err = r.matching(ctx, key, strings.Join(words, " OR "), w)
		rest = slices.DeleteFunc(rest, func(id int64) bool { return slices.Contains(whole, id) })
	}
	if err == nil {
		err = r.rank(ctx, words, rest)
	}
	if err == nil {
		all, err = r.found(ctx, key, whole, w.Enough)
	}
	if err == nil {
		some, err = r.found(ctx, key, rest, w.Enough)
	}
	return all, some, explain(err)
}

// found reads the messages of ids, of which those beyond enough are only
// counted: they are without what they say.
func (r reader) found(ctx context.Context, key int64, ids []int64, enough int) (list []sessions.Message, err error) {
	for i, id := range ids {
		seq := seqOf(id)
		if i >= enough {
			list = append(list, sessions.Message{Seq: seq})
			continue
		}
		err := r.readMessages(ctx, false, key, seq, seq, false, func(m sessions.Message) error {
			list = append(list, m)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// matching lists the ids that an expression of the index finds in a key.
func (r reader) matching(ctx context.Context, key int64, expression string, w rows.Words) ([]int64, error) {
	from, to := rowID(key, max(w.After, 0)+1), rowID(key, maxSeq)
	if w.Before > 0 {
		to = rowID(key, min(w.Before-1, maxSeq))
	}
	order := "ASC"
	if w.Newest {
		order = "DESC"
	}
	return ints(ctx, r.src, `SELECT w.rowid FROM words w JOIN conversations c ON c.key_id = w.rowid >> 32
		WHERE w.said MATCH ? AND w.rowid BETWEEN ? AND ? ORDER BY w.rowid `+order+` LIMIT +?`, expression, from, to, w.Most)
}

// rank sorts ids by how many of the words their messages hold, and otherwise
// leaves them in order. The index knows; the messages may be long.
func (r reader) rank(ctx context.Context, words []string, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	score := make(map[int64]int, len(ids))
	for _, w := range words {
		list, err := ints(ctx, r.src, `SELECT rowid FROM words WHERE said MATCH ? AND rowid BETWEEN ? AND ?`, w, slices.Min(ids), slices.Max(ids))
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
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if !key.IsZero() {
		id, err := r.keyID(ctx, key)
		if err != nil {
			return none[sessions.Found](err)
		}
		from, to = span(id)
	}
	return stream(ctx, r.src, func(row scanner) (f sessions.Found, err error) {
		var rest []byte
		err = row.Scan(place{new(int64), &f.Message.Seq}, &f.Words, named(&f.Key), &rest)
		if err == nil {
			var said sessions.Message
			err = errors.Join(decode(rest, &said), ctx.Err())
			f.Message.At = said.At
		}
		return f, err
	}, foundQuery, string(encode(quoted(query))), from, to)
}
