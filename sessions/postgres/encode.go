package postgres

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// noTime is the zero time in a column.
const noTime = math.MinInt64

// nanos is t as a column has it.
func nanos(t time.Time) int64 {
	t = rules.Time(t)
	if t.IsZero() {
		return noTime
	}
	return t.UnixNano()
}

func timeOf(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// encode returns v as JSON for a column. Encoding our own types cannot fail.
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

// conversation is the JSON form of a rows.Conversation in a column.
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
	Owners     []sessions.Owner  `json:"owners,omitzero"` // the last: see reader.Heads
}

// outData is an outbox row.
type outData struct {
	sessions.OutboxRecord
	Node string `json:"node,omitempty"` // that sends it
}

// hidden leaves the field of that JSON name out of an embedded struct.
type hidden struct{}

// inData has the fields of an inbox row that may change and have no column.
type inData struct {
	*rows.In
	Seq     hidden `json:"seq,omitzero"`
	Inbound hidden `json:"inbound,omitzero"`
	State   hidden `json:"state,omitzero"`
}
