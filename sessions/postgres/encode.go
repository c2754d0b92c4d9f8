package postgres

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// never is how the zero time stands in columns.
const never = math.MinInt64

// nanos is how times stand in columns.
func nanos(t time.Time) int64 {
	if t = rules.Time(t); t.IsZero() {
		return never
	}
	return t.UnixNano()
}

func timeOf(n int64) time.Time {
	if n == never {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// encode writes v for a column. Our own types do not fail to encode.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("postgres: encode %T: %v", v, err))
	}
	return string(b)
}

func decode(text string, v any) error {
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("a row cannot be read: %w", err)
	}
	return nil
}

// conversation is rows.Conversation in a column. Its key knows when it was
// updated.
type conversation struct {
	Generation string            `json:"generation,omitempty"`
	From       int64             `json:"from,omitempty"`
	Covers     int64             `json:"covers,omitempty"`
	Title      string            `json:"title,omitempty"`
	Created    time.Time         `json:"created,omitzero"`
	Updated    time.Time         `json:"updated,omitzero"`
	Messages   int               `json:"messages,omitempty"`
	Usage      sessions.Usage    `json:"usage,omitzero"`
	Settings   sessions.Settings `json:"settings,omitzero"`
	Erasures   int               `json:"erasures,omitempty"`
}

// outData is an outbox row.
type outData struct {
	sessions.OutboxRecord
	Node string `json:"node,omitempty"` // that sends it
}

// without hides a field of an embedded struct that has the same name in JSON.
type without struct{}

// inData is what changes of an inbox row and is not a column of its own.
type inData struct {
	*rows.In
	Seq     without `json:"seq,omitzero"`
	Inbound without `json:"inbound,omitzero"`
	State   without `json:"state,omitzero"`
}

// aboutOf is the id by which an erased m stays known: see rules.ErasedMark.
func aboutOf(m channels.Inbound) []byte { return []byte(cmp.Or(m.Edits, m.MessageID)) }

// messageOf is the message of a row.
func messageOf(seq int64, data, content string) (m sessions.Message, err error) {
	if err = decode(data, &m); err == nil && content != "" {
		err = decode(content, &m.Content)
	}
	m.Seq = seq
	return m, err
}
