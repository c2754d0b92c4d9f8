package sessions

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"dragoman/channels"
)

// Cursor is the place of a conversation in a list; the next page begins after
// it. A conversation that gets a message between two pages moves to the top of
// the list, and no page shows it twice. The conversation at the cursor may be
// gone by then.
type Cursor struct {
	Updated time.Time    `json:"updated"`
	Key     channels.Key `json:"key"`
}

// Position is where c is.
func (c Conversation) Position() Cursor { return Cursor{c.Updated, c.Key} }

// String is one word that needs no quotes in a shell or a URL. Only ParseCursor
// reads it.
func (p Cursor) String() string { return oneWord(place(p)) }

// ParseCursor is the inverse of String.
func ParseCursor(s string) (p Cursor, err error) {
	if fromWord(s, (*place)(&p)) != nil || p.Key.IsZero() {
		return Cursor{}, errors.New("sessions: this is not a cursor of a list of conversations")
	}
	return p, nil
}

// MarshalText writes the form of String.
func (p Cursor) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads it.
func (p *Cursor) UnmarshalText(text []byte) (err error) {
	*p, err = ParseCursor(string(text))
	return err
}

// FoundCursor is the place of a message in the results of a [Search]. No message
// is shown twice or left out, whatever is said or deleted between two pages. The
// next page needs the same query.
type FoundCursor struct {
	Words int          `json:"words"`
	At    time.Time    `json:"at"`
	Key   channels.Key `json:"key"`
	Seq   int64        `json:"seq"`
}

// Position is where f is.
func (f Found) Position() FoundCursor {
	return FoundCursor{f.Words, f.Message.At, f.Key, f.Message.Seq}
}

// Compare is negative if p comes before o: it has more of the words, or was said
// later.
func (p FoundCursor) Compare(o FoundCursor) int {
	return cmp.Or(cmp.Compare(o.Words, p.Words), o.At.Compare(p.At), cmp.Compare(o.Key.String(), p.Key.String()), cmp.Compare(o.Seq, p.Seq))
}

// String is one word, like that of a Cursor.
func (p FoundCursor) String() string { return oneWord(foundPlace(p)) }

// ParseFoundCursor is the inverse of String.
func ParseFoundCursor(s string) (p FoundCursor, err error) {
	if fromWord(s, (*foundPlace)(&p)) != nil || p.Key.IsZero() {
		return FoundCursor{}, errors.New("sessions: this is not a cursor of a search")
	}
	return p, nil
}

// MarshalText writes the form of String.
func (p FoundCursor) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads it.
func (p *FoundCursor) UnmarshalText(text []byte) (err error) {
	*p, err = ParseFoundCursor(string(text))
	return err
}

// What is inside the words: cursors without their methods.
type (
	place      Cursor
	foundPlace FoundCursor
)

func oneWord(place any) string {
	b, _ := json.Marshal(place) // stored times and keys encode
	return base64.RawURLEncoding.EncodeToString(b)
}

// fromWord is the inverse of oneWord.
func fromWord(s string, place any) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, place)
}
