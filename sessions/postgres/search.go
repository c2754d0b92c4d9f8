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

// score counts the queries of an array that find a message.
const score = `(SELECT count(*) FROM unnest($2::text[]) q WHERE m.words @@ q::tsquery)`

// Match: see rows.Reader.
func (r reader) Match(ctx context.Context, w rows.Words) (whole, some []sessions.Message, err error) {
	key, err := r.key(ctx, w.Key)
	if key == nil {
		return nil, nil, err
	}
	words := queries(w.Query)
	if whole, err = r.match(ctx, key, w, strings.Join(words, " & "), "", words); err != nil || len(whole) >= w.Enough || len(words) == 1 {
		return whole, nil, err
	}
	some, err = r.match(ctx, key, w, strings.Join(words, " | "), ` AND NOT m.words @@ (array_to_string($2::text[], ' & '))::tsquery`, words)
	return whole, some, err
}

// match finds messages of a key. Those after the first w.Enough are only
// counted: they have a seq and nothing more.
func (r reader) match(ctx context.Context, key *keyRow, w rows.Words, query, but string, words []string) ([]sessions.Message, error) {
	order, s := ` ASC`, said(w.Said)
	if w.Newest {
		order = ` DESC`
	}
	return all(ctx, r.q, scanMessage, `SELECT seq, CASE WHEN n <= $7 THEN data ELSE '{}' END, CASE WHEN n <= $7 THEN content ELSE '' END FROM (
		SELECT m.seq, m.data, m.content, row_number() OVER (ORDER BY `+score+` DESC, m.seq`+order+`) AS n
		FROM messages m WHERE m.key_id = $1 AND m.words @@ $3::text::tsquery`+but+` AND m.seq BETWEEN $4 AND $5
		ORDER BY m.seq`+order+` LIMIT $6) f ORDER BY n`, key.id, words, query, s.from, s.to, w.Most, w.Enough)
}

// Scored: see rows.Reader. Of each message the time is read, and not what it
// says.
func (r reader) Scored(ctx context.Context, query []string, key channels.Key) iter.Seq2[sessions.Found, error] {
	words := queries(query)
	return func(yield func(sessions.Found, error) bool) {
		list, err := r.q.Query(ctx, `SELECT k.key, m.seq, m.at, `+score+` FROM messages m JOIN keys k ON k.id = m.key_id
			WHERE m.words @@ $1::text::tsquery AND ($3 = '' OR k.key = $3)`, strings.Join(words, " | "), words, key.String())
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
