package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// messageRest is what of a message is not a column of its own.
type messageRest struct {
	Name        string                     `json:"name,omitempty"`
	Sender      string                     `json:"sender,omitempty"`
	ToolCalls   []sessions.ToolCall        `json:"tool_calls,omitempty"`
	ToolCallID  string                     `json:"tool_call_id,omitempty"`
	At          time.Time                  `json:"at,omitzero"`
	Turn        string                     `json:"turn,omitempty"`
	Model       string                     `json:"model,omitempty"`
	Usage       *sessions.Usage            `json:"usage,omitempty"`
	Synthetic   bool                       `json:"synthetic,omitempty"`
	Summary     bool                       `json:"summary,omitempty"`
	Failed      bool                       `json:"failed,omitempty"`
	Attachments []channels.Attachment      `json:"attachments,omitempty"`
	Attached    *sessions.Attached         `json:"attached,omitempty"`
	Extra       map[string]json.RawMessage `json:"extra,omitempty"`
}

// inboundRest is what of an inbound message is not a column of its own.
type inboundRest struct {
	Sender      channels.Person       `json:"sender"`
	Prefix      string                `json:"prefix,omitempty"`
	Private     bool                  `json:"private,omitempty"`
	Addressed   bool                  `json:"addressed,omitempty"`
	Edits       string                `json:"edits,omitempty"`
	Deletes     channels.Deletion     `json:"deletes,omitempty"`
	Quote       *channels.Quote       `json:"quote,omitempty"`
	Forwarded   *channels.Forward     `json:"forwarded,omitempty"`
	Attachments []channels.Attachment `json:"attachments,omitempty"`
	At          time.Time             `json:"at,omitzero"`
	Album       string                `json:"album,omitempty"`
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

func restOf(m channels.Inbound) []byte {
	return encode(inboundRest{m.Sender, m.Prefix, m.Private, m.Addressed, m.Edits, m.Deletes, m.Quote, m.Forwarded, m.Attachments, m.At, m.Album})
}

// messageRow is a message made ready for its table.
type messageRow struct {
	role    sessions.Role
	content string
	words   string // for search
	bytes   int
	rest    []byte
}

func rowOf(m sessions.Message) messageRow {
	return messageRow{
		role: m.Role, content: m.Content, bytes: rules.Bytes(m), words: searchable(m),
		rest: encode(messageRest{
			m.Name, m.Sender, m.ToolCalls, m.ToolCallID, m.At, m.Turn, m.Model, m.Usage, m.Synthetic,
			m.Summary, m.Failed, m.Attachments, m.Attached, m.Extra,
		}),
	}
}

// rowScan reads id, role, rest and content of rows, and what comes after them.
// What it needs for that serves all rows: histories are read in every turn, and
// with variables of its own for each row they were a sixth of all that the
// daemon allocated.
type rowScan struct {
	from scanner
	dest []any
	id   int64
	role sql.RawBytes
	rest sql.RawBytes
	said string
}

func newRowScan(from scanner, more ...any) *rowScan {
	s := &rowScan{from: from}
	s.dest = append([]any{&s.id, &s.role, &s.rest, &s.said}, more...)
	return s
}

// message is the next row's.
func (s *rowScan) message() (sessions.Message, error) {
	if err := s.from.Scan(s.dest...); err != nil {
		return sessions.Message{}, err
	}
	return messageOf(seqOf(s.id), roleOf(s.role), s.rest, s.said)
}

// messageOf is the message that a row holds.
func messageOf(seq int64, role sessions.Role, rest []byte, content string) (sessions.Message, error) {
	var m sessions.Message
	if err := decode(rest, &m); err != nil {
		return m, err
	}
	m.Seq, m.Role, m.Content = seq, role, content
	return m, nil
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
