package sessions

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"dragoman/channels"
)

// Cursor is the position of a conversation in a list; the next page begins after
// it. A conversation that gets a message between two pages moves to the top of the
// list, and no page shows it twice. The cursor stays valid when its conversation is
// deleted.
type Cursor struct {
	Updated time.Time    `json:"updated"`
	Key     channels.Key `json:"key"`
}

// Position returns the cursor of c.
func (c Conversation) Position() Cursor { return Cursor{c.Updated, c.Key} }

// String encodes p as one word that needs no quotes in a shell or a URL.
func (p Cursor) String() string { return encodeCursor(plainCursor(p)) }

// ParseCursor is the inverse of String.
func ParseCursor(s string) (p Cursor, err error) {
	if decodeCursor(s, (*plainCursor)(&p)) != nil || p.Key.IsZero() {
		return Cursor{}, errors.New("sessions: this is not a cursor of a list of conversations")
	}
	return p, nil
}

// MarshalText is String.
func (p Cursor) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParseCursor.
func (p *Cursor) UnmarshalText(text []byte) (err error) {
	*p, err = ParseCursor(string(text))
	return err
}

// FoundCursor is the position of a message in the results of a [Search]. New and
// deleted messages between two pages neither repeat nor skip others. The next page
// needs the same query.
type FoundCursor struct {
	Words int          `json:"words"`
	At    time.Time    `json:"at"`
	Key   channels.Key `json:"key"`
	Seq   int64        `json:"seq"`
}

// Position returns the cursor of f.
func (f Found) Position() FoundCursor {
	return FoundCursor{f.Words, f.Message.At, f.Key, f.Message.Seq}
}

// Compare is negative if p comes before o: it has more of the words, or is newer.
func (p FoundCursor) Compare(o FoundCursor) int {
	return cmp.Or(cmp.Compare(o.Words, p.Words), o.At.Compare(p.At), cmp.Compare(o.Key.String(), p.Key.String()), cmp.Compare(o.Seq, p.Seq))
}

// String encodes p as one word, like that of a Cursor.
func (p FoundCursor) String() string { return encodeCursor(plainFoundCursor(p)) }

// ParseFoundCursor is the inverse of String.
func ParseFoundCursor(s string) (p FoundCursor, err error) {
	if decodeCursor(s, (*plainFoundCursor)(&p)) != nil || p.Key.IsZero() {
		return FoundCursor{}, errors.New("sessions: this is not a cursor of a search")
	}
	return p, nil
}

// MarshalText is String.
func (p FoundCursor) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParseFoundCursor.
func (p *FoundCursor) UnmarshalText(text []byte) (err error) {
	*p, err = ParseFoundCursor(string(text))
	return err
}

// Cursors without their methods, which would call themselves while encoding.
type (
	plainCursor      Cursor
	plainFoundCursor FoundCursor
)

func encodeCursor(c any) string {
	b, _ := json.Marshal(c) // stored times and keys encode
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeCursor(s string, c any) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, c)
}
