package sqlite

import (
	"context"
	"encoding/json"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// writersQuery reads the rows of each key of a channel once: who wrote stands
// in the rest of a row, and an index over it would cost every message more than
// the few who ask for this would gain. A row that is damaged has no writer; it
// must not keep the others from being found.
func writersQuery(table, name, where string) string {
	return `SELECT DISTINCT k.key, json_extract(CAST(r.rest AS TEXT), '$.sender', '$.` + name + `') FROM keys k
		CROSS JOIN ` + table + ` r ON r.id >= k.id << 32 AND r.id < k.id + 1 << 32
		WHERE k.key >= ? AND k.key < ? AND ` + where + `json_valid(CAST(r.rest AS TEXT))`
}

var (
	inboxWriters = writersQuery("inbox", "private", "")
	// Without the plus SQLite would make an index over the roles for each key.
	messageWriters = writersQuery("messages", "name", "+r.role = 'user' AND ")
)

// noWriterIndexes takes out what a program before this one made.
var noWriterIndexes = []string{`DROP INDEX IF EXISTS inbox_writer`, `DROP INDEX IF EXISTS messages_writer`}

// Writers see rows.Reader.
func (r reader) Writers(ctx context.Context, channel string) ([]sessions.Writer, error) {
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
		rows, err := r.src.rows(ctx, query, channel+":", channel+";") // ";" is the next after ":"
		if err != nil {
			return nil, explain(err)
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
			return nil, explain(err)
		}
	}
	return rules.SortWriters(all.List()), nil
}
