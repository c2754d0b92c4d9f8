package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

const (
	// wordMost is how many bytes of a word the index takes; of a longer one it has
	// these and a hash. PostgreSQL takes words of 2 kB.
	wordMost = 500
	// wordsMost is how many bytes PostgreSQL takes of all words of one message:
	// one less than rules.SearchBytes.
	wordsMost = rules.SearchBytes - 1
)

// lexeme is how a word stands in the index.
func lexeme(w string) string {
	if len(w) <= wordMost {
		return w
	}
	return strings.ToValidUTF8(w[:wordMost], "") + rules.Hash(w)
}

// searchable are the words of m in the index; nil if no search finds m.
func searchable(m sessions.Message) []string {
	if !rules.Searched(m) {
		return nil
	}
	words, size := []string{}, 0
	for w := range rules.Searchable(m.Content) {
		w = lexeme(w)
		if size += len(w); size > wordsMost {
			break
		}
		words = append(words, w)
	}
	return words
}

// queries are the words of a search, each as a query of the index. A word holds
// no quotes: it is letters, digits and marks.
func queries(words []string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = "'" + lexeme(w) + "'"
		if rules.Begins(w) {
			list[i] += ":*"
		}
	}
	return list
}

// searchQuery finds messages, and counts the queries of an array that find each.
const searchQuery = `SELECT k.key, m.seq, m.at, (SELECT count(*) FROM unnest($2::text[]) q WHERE m.words @@ q::tsquery)
	FROM messages m JOIN keys k ON k.id = m.key_id
	WHERE m.words @@ $1::text::tsquery AND ($3 = '' OR k.key = $3) AND m.seq BETWEEN $4 AND $5 ORDER BY m.seq`

// Search: see rows.Reader. Of each message the time is read, and not what it
// says.
func (r reader) Search(ctx context.Context, w rows.Words) iter.Seq2[sessions.Found, error] {
	words, s, query, how := queries(w.Query), said(w.Said), searchQuery, " | "
	if w.Newest {
		query += ` DESC`
	}
	if w.All {
		how = " & "
	}
	return func(yield func(sessions.Found, error) bool) {
		list, err := r.q.Query(ctx, query, strings.Join(words, how), words, w.Key.String(), s.from, s.to)
		if err == nil {
			var name string
			var f sessions.Found
			var at int64
			_, err = pgx.ForEachRow(list, []any{&name, &f.Message.Seq, &at, &f.Words}, func() (err error) {
				if f.Key, err = channels.ParseKey(name); err != nil {
					return fmt.Errorf("a conversation has no valid name: %w", err)
				}
				f.Message.At = timeOf(at)
				if !yield(f, nil) {
					return errEnough
				}
				return nil
			})
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(sessions.Found{}, err)
		}
	}
}

// errEnough ends a loop over rows early.
var errEnough = errors.New("enough")
