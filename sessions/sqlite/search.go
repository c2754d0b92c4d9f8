package sqlite

import (
	"cmp"
	"context"
	"iter"
	"math"
	"strings"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// searchable is the text of m for the search index.
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

// quoted writes the words of a query for the index.
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

// The ids of messages that match an expression, or one or more of a JSON list of
// expressions, and how many of the list they match.
const (
	allWords  = `(SELECT rowid AS id, 0 AS n FROM words WHERE said MATCH ? AND rowid BETWEEN ? AND ?)`
	someWords = `(SELECT w.rowid AS id, count(*) AS n FROM json_each(?) q CROSS JOIN words w
		WHERE w.said MATCH q.value AND w.rowid BETWEEN ? AND ? GROUP BY w.rowid)`
)

// Search is of rows.Reader. It reads the time of each message, and not its text.
func (r reader) Search(ctx context.Context, w rows.WordSearch) iter.Seq2[sessions.Found, error] {
	if err := r.settleIndex(ctx); err != nil {
		return given[sessions.Found](nil, err)
	}
	from := int64(math.MinInt64)
	to := int64(math.MaxInt64)
	order := ``
	if !w.Key.IsZero() {
		id, err := r.keyID(ctx, w.Key)
		if err != nil {
			return given[sessions.Found](nil, err)
		}
		from, to = between(id, w.MessageFilter)
		order = orderBy(`h.id`, w.Newest)
	}
	ids, words := someWords, string(encode(quoted(w.Query)))
	if w.All {
		ids, words = allWords, strings.Join(quoted(w.Query), " AND ")
	}
	query := `SELECT h.id, h.n, k.key, m.rest FROM ` + ids + ` h CROSS JOIN messages m ON m.id = h.id
		JOIN conversations c ON c.key_id = h.id >> 32 JOIN keys k ON k.id = h.id >> 32` + order
	return stream(ctx, r.src, func(row scanner) (f sessions.Found, err error) {
		var rest []byte
		err = row.Scan(asRowID{new(int64), &f.Message.Seq}, &f.Words, asKey(&f.Key), &rest)
		if w.All {
			f.Words = len(w.Query)
		}
		if err == nil {
			var m struct{ At time.Time }
			err = cmp.Or(decode(rest, &m), ctx.Err())
			f.Message.At = m.At
		}
		return f, err
	}, query, words, from, to)
}
