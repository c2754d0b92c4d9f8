package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"dragoman/channels"
	"dragoman/sessions"
)

// without hides the field of an embedded struct with the same name in JSON.
type without struct{}

// messageRest is a message without the fields that have their own columns.
type messageRest struct {
	*sessions.Message
	Seq     without `json:"seq,omitzero"`
	Role    without `json:"role,omitzero"`
	Content without `json:"content,omitzero"`
}

// inboundRest is an inbound message without the fields that have their own columns, and
// without its reaction, which stores need not keep.
type inboundRest struct {
	*channels.Inbound
	Key       without `json:"key,omitzero"`
	ID        without `json:"id,omitzero"`
	Text      without `json:"text,omitzero"`
	MessageID without `json:"message_id,omitzero"`
	Reaction  without `json:"reaction,omitzero"`
}

// encode writes v as JSON. It panics if that fails, which cleaned values of our types
// never do.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqlite: encode %T: %v", v, err))
	}
	return b
}

func decode(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return damaged("a row cannot be read (%v)", err)
	}
	return nil
}

// restWith is the rest column with only some of its fields. JSON that SQLite cannot parse,
// because it is nested too deep, stays whole.
func restWith(names ...string) string {
	fields := ``
	for _, name := range names {
		fields += `, '` + name + `', CAST(rest AS TEXT) -> '$.` + name + `'`
	}
	return `CASE WHEN json_valid(CAST(rest AS TEXT)) THEN json_object(` + fields[2:] + `) ELSE rest END`
}

// scanMessages scans the id, role, rest and content of message rows. All rows of a read
// share the variables, because each turn reads a history.
func scanMessages() func(scanner) (sessions.Message, error) {
	var id int64
	var role, content string
	var rest sql.RawBytes
	dest := []any{&id, &role, &rest, &content}
	return func(row scanner) (m sessions.Message, err error) {
		if err = row.Scan(dest...); err == nil {
			err = decode(rest, &m)
		}
		m.Seq = seqOf(id)
		m.Role = sessions.Role(role)
		m.Content = content
		return m, err
	}
}
