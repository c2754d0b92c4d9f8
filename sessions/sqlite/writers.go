package sqlite

import (
	"context"
	"encoding/json"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Who wrote stands in the rest of a row. An index over it is all that the list
// of writers needs: it changes with the rows, whatever changes them, so nothing
// is in it that is in no row. The first column is the id of a key. A row that
// is damaged stands under NULL, so that it does not keep the others from being
// found, or a message from being stored.
//
// The queries have to say these to the letter, or SQLite does not take the index.
const (
	inboxWriter   = `CASE WHEN json_valid(CAST(rest AS TEXT)) THEN json_extract(CAST(rest AS TEXT), '$.sender', '$.private') END`
	messageWriter = `CASE WHEN json_valid(CAST(rest AS TEXT)) THEN json_extract(CAST(rest AS TEXT), '$.sender', '$.name') END`
)

// writerIndexes are made in older files as well: a program that does not know
// them keeps them up to date and does not look at them. To make them reads
// every message once, in one transaction.
var writerIndexes = []string{
	`CREATE INDEX IF NOT EXISTS inbox_writer ON inbox (id >> 32, ` + inboxWriter + `)`,
	`CREATE INDEX IF NOT EXISTS messages_writer ON messages (id >> 32, ` + messageWriter + `) WHERE role = 'user'`,
}

// writersQuery goes from each writer of each key to the next by a step down the
// index, past all the rows that have the same. A plus hides from SQLite that an
// id is a number, which the first column of the index is not known to be.
func writersQuery(table, expression, more string) string {
	next := `(SELECT ` + expression + ` FROM ` + table + ` WHERE id >> 32 = `
	order := more + ` ORDER BY ` + expression + ` LIMIT +1)`
	return `WITH RECURSIVE w (k, said) AS (
		SELECT id, ` + next + `+k.id AND ` + expression + ` > ''` + order + ` FROM keys k WHERE key >= ? AND key < ?
		UNION ALL SELECT k, ` + next + `+w.k AND ` + expression + ` > said` + order + ` FROM w WHERE said IS NOT NULL)
		SELECT key, said FROM w JOIN keys ON keys.id = w.k WHERE said IS NOT NULL`
}

var (
	inboxWriters   = writersQuery("inbox", inboxWriter, "")
	messageWriters = writersQuery("messages", messageWriter, " AND role = 'user'")
)

// Writers is part of [sessions.Directory].
func (s *Store) Writers(ctx context.Context, channel string) ([]sessions.Writer, error) {
	var all rules.Writers
	for query, parse := range map[string]func(channels.Key, []byte) error{
		inboxWriters: func(k channels.Key, said []byte) error {
			m := channels.Inbound{Key: k}
			err := json.Unmarshal(said, &[]any{&m.Sender, &m.Private})
			all.Inbound(m)
			return err
		},
		messageWriters: func(k channels.Key, said []byte) error {
			m := sessions.Message{Role: sessions.RoleUser}
			err := json.Unmarshal(said, &[]any{&m.Sender, &m.Name})
			all.Message(k, m)
			return err
		},
	} {
		rows, err := s.rows(ctx, query, channel+":", channel+";") // ";" is the next after ":"
		if err != nil {
			return nil, wrap("writers", err)
		}
		err = each(rows, func() error {
			var name string
			var said []byte
			var k channels.Key
			if err := rows.Scan(&name, &said); err != nil {
				return err
			}
			if err := parseKey(&k, name); err != nil {
				return err
			}
			if err := parse(k, said); err != nil {
				return damaged("a row cannot be read (%v)", err)
			}
			return ctx.Err()
		})
		if err != nil {
			return nil, wrap("writers", err)
		}
	}
	return rules.SortWriters(all.List()), nil
}

// scopesQuery goes from each scope to the next, past the facts of one, until
// they begin with something else.
const scopesQuery = `WITH RECURSIVE s (scope) AS (
	SELECT (SELECT scope FROM facts WHERE scope >= ?1 ORDER BY scope LIMIT +1)
	UNION ALL SELECT (SELECT f.scope FROM facts f WHERE f.scope > s.scope ORDER BY f.scope LIMIT +1) FROM s WHERE substr(s.scope, 1, length(?1)) = ?1)
	SELECT scope FROM s WHERE substr(scope, 1, length(?1)) = ?1`

// Scopes is part of [sessions.Directory].
func (s *Store) Scopes(ctx context.Context, prefix string) (scopes []string, err error) {
	rows, err := s.rows(ctx, scopesQuery, prefix)
	if err != nil {
		return nil, wrap("scopes", err)
	}
	err = each(rows, func() error {
		var scope string
		err := rows.Scan(&scope)
		scopes = append(scopes, scope)
		return err
	})
	if err != nil {
		return nil, wrap("scopes", err)
	}
	return scopes, nil
}
