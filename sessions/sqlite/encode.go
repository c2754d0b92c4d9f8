package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"dragoman/channels"
	"dragoman/sessions"
)

// without hides a field of an embedded struct that has the same name in JSON.
type without struct{}

// messageRest is what of a message is not a column of its own.
type messageRest struct {
	*sessions.Message
	Seq     without `json:"seq,omitzero"`
	Role    without `json:"role,omitzero"`
	Content without `json:"content,omitzero"`
}

// inboundRest is what of an inbound message is not a column of its own. Stores
// need not keep its reaction.
type inboundRest struct {
	*channels.Inbound
	Key       without `json:"key,omitzero"`
	ID        without `json:"id,omitzero"`
	Text      without `json:"text,omitzero"`
	MessageID without `json:"message_id,omitzero"`
	Reaction  without `json:"reaction,omitzero"`
}

// encode writes v for a rest column. Our own types do not fail to encode;
// cleaning has taken care of the times.
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

// scanMessages reads id, role, rest and content of rows, one after the other.
// What it needs for that serves all of them: histories are read in every turn.
func scanMessages() func(scanner) (sessions.Message, error) {
	var id int64
	var role, content string
	var rest sql.RawBytes
	dest := []any{&id, &role, &rest, &content}
	return func(row scanner) (m sessions.Message, err error) {
		if err = row.Scan(dest...); err == nil {
			err = decode(rest, &m)
		}
		m.Seq, m.Role, m.Content = seqOf(id), sessions.Role(role), content
		return m, err
	}
}
