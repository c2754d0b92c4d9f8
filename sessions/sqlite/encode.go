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

// rowScan reads id, role, rest and content of rows.
// What it needs for that serves all rows: histories are read in every turn, and
// with variables of its own for each row they were a sixth of all that the
// daemon allocated.
type rowScan struct {
	dest []any
	id   int64
	role sql.RawBytes
	rest sql.RawBytes
	said string
}

func newRowScan() *rowScan {
	s := &rowScan{}
	s.dest = []any{&s.id, &s.role, &s.rest, &s.said}
	return s
}

// message is that of row.
func (s *rowScan) message(row scanner) (sessions.Message, error) {
	if err := row.Scan(s.dest...); err != nil {
		return sessions.Message{}, err
	}
	var m sessions.Message
	err := decode(s.rest, &m)
	m.Seq, m.Role, m.Content = seqOf(s.id), roleOf(s.role), s.said
	return m, err
}

// roleOf takes no memory for the roles there are.
func roleOf(b []byte) sessions.Role {
	for _, role := range [...]sessions.Role{sessions.RoleUser, sessions.RoleAssistant, sessions.RoleTool} {
		if string(b) == string(role) {
			return role
		}
	}
	return sessions.Role(b)
}
