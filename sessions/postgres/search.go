package postgres

import (
	"context"
	"iter"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

const (
	// maxWord is how many bytes of a word are indexed; a longer word is cut and gets
	// a hash. PostgreSQL allows 2 kB.
	maxWord = 500
	// maxWords is how many bytes PostgreSQL allows for all words of a message: one
	// less than rules.SearchBytes.
	maxWords = rules.SearchBytes - 1
)

// lexeme returns a word as the index has it.
func lexeme(w string) string {
	if len(w) <= maxWord {
		return w
	}
	return strings.ToValidUTF8(w[:maxWord], "") + rules.Hash(w)
}

// searchable returns the words of m for the index; nil if no search finds m.
func searchable(m sessions.Message) []string {
	if !rules.Searched(m) {
		return nil
	}
	words, size := []string{}, 0
	for w := range rules.Searchable(m.Content) {
		w = lexeme(w)
		size += len(w)
		if size > maxWords {
			break
		}
		words = append(words, w)
	}
	return words
}

// queries returns the words of a search, each as a tsquery. A word has no quotes, only
// letters, digits and marks.
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

// searchQuery finds messages, and counts how many queries of $2 match each.
const searchQuery = `SELECT k.key, m.seq, m.at, (SELECT count(*) FROM unnest($2::text[]) q WHERE m.words @@ q::tsquery)
	FROM messages m JOIN keys k ON k.id = m.key_id
	WHERE m.words @@ $1::text::tsquery AND ($3 = '' OR k.key = $3) AND m.seq BETWEEN $4 AND $5 ORDER BY m.seq`

// Search: see rows.Reader. It does not read what the messages say.
func (r reader) Search(ctx context.Context, w rows.WordSearch) iter.Seq2[sessions.Found, error] {
	words := queries(w.Query)
	s := spanOf(w.After, w.Before, w.Newest)
	query := searchQuery
	how := " | "
	if w.Newest {
		query += ` DESC`
	}
	if w.All {
		how = " & "
	}
	return func(yield func(sessions.Found, error) bool) {
		list, err := r.q.Query(ctx, query, strings.Join(words, how), words, w.Key.String(), s.from, s.to)
		if err != nil {
			yield(sessions.Found{}, err)
			return
		}
		defer list.Close()
		for list.Next() {
			var name string
			var f sessions.Found
			var at int64
			if err = list.Scan(&name, &f.Message.Seq, &at, &f.Words); err == nil {
				f.Key, err = channels.ParseKey(name)
			}
			f.Message.At = timeOf(at)
			if !yield(f, err) || err != nil {
				return
			}
		}
		if err := list.Err(); err != nil {
			yield(sessions.Found{}, err)
		}
	}
}
