package stream

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"dragoman/channels"
)

// ErrCursor: a cursor cannot be read. Whoever has it begins without one.
var ErrCursor = errors.New("stream: this is no cursor of this stream")

// Slack is how far back a look into the store goes behind the time of a cursor: clocks of
// nodes differ, and a commit becomes visible a moment after the time in its row.
const Slack = 10 * time.Second

// maxCursor bounds a cursor that somebody sends us, in bytes.
const maxCursor = 8 << 10

// Ref names a delivery.
type Ref struct {
	Key channels.Key `json:"k"`
	Seq int64        `json:"s"`
}

// cursor is where a listener is. It is opaque to listeners: as text it is its JSON in
// base64, so that it fits into a header.
type cursor struct {
	// Process is the Hub that made it, and Number the last event that it had published.
	Process string `json:"p"`
	Number  int64  `json:"n"`
	// At is the time of that event, in Unix milliseconds.
	At int64 `json:"t"`
	// Open are deliveries that had no final state for the listener.
	Open []Ref `json:"o,omitempty"`
	// Lost: there were too many of these to list them.
	Lost bool `json:"l,omitempty"`
}

func (c *cursor) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic("stream: a cursor that is not JSON: " + err.Error()) // our own type
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(s string) (*cursor, error) {
	if len(s) > maxCursor {
		return nil, ErrCursor
	}
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, ErrCursor
	}
	c := &cursor{}
	if err := json.Unmarshal(text, c); err != nil || c.Process == "" || c.Number < 0 || c.At <= 0 {
		return nil, ErrCursor
	}
	return c, nil
}

func (c *cursor) time() time.Time { return time.UnixMilli(c.At) }
