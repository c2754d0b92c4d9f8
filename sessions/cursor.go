package sessions

import (
	"cmp"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
)

// Cursor is where a conversation stood in a list: the next page begins behind
// it, whatever was said meanwhile. A conversation that gets a message between
// two pages moves to the top, and nothing comes twice because of it. The store
// needs no conversation at that place any more, not even its key.
type Cursor struct {
	Updated time.Time
	Key     channels.Key
}

// Position is where c is.
func (c Conversation) Position() Cursor { return Cursor{c.Updated, c.Key} }

// String is one word that needs no quotes in a shell or a URL; ParseCursor
// reads it. Nobody else has to.
func (p Cursor) String() string {
	plain := strconv.FormatInt(p.Updated.UnixNano(), 36) + " " + p.Key.String()
	return base64.RawURLEncoding.EncodeToString([]byte(plain))
}

// ParseCursor reads what String wrote.
func ParseCursor(s string) (Cursor, error) {
	plain, err := base64.RawURLEncoding.Strict().DecodeString(s)
	updated, key, found := strings.Cut(string(plain), " ")
	if err != nil || !found {
		return Cursor{}, errNoCursor
	}
	at, err := strconv.ParseInt(updated, 36, 64)
	if err != nil {
		return Cursor{}, errNoCursor
	}
	k, err := channels.ParseKey(key)
	if err != nil {
		return Cursor{}, errNoCursor
	}
	return Cursor{time.Unix(0, at).UTC(), k}, nil
}

var errNoCursor = errors.New("sessions: this is not a cursor of a list of conversations")

// FoundCursor is where a message stood in what a [Search] found. Whatever is said
// or deleted between two pages, nothing comes twice and nothing is left out. The
// next page has to ask with the same query.
type FoundCursor struct {
	Words int
	At    time.Time
	Key   channels.Key
	Seq   int64
}

// Position is where f is.
func (f Found) Position() FoundCursor {
	return FoundCursor{f.Words, f.Message.At, f.Key, f.Message.Seq}
}

// Compare is negative if p stands before o: it has more of the words, or was
// said later.
func (p FoundCursor) Compare(o FoundCursor) int {
	return cmp.Or(cmp.Compare(o.Words, p.Words), o.At.Compare(p.At), cmp.Compare(o.Key.String(), p.Key.String()), cmp.Compare(o.Seq, p.Seq))
}

// cursorTime is how the time is written in a FoundCursor.
const cursorTime = "2006-01-02T15:04:05.999999999Z"

// String is one word, as that of a Cursor; ParseFoundCursor reads it.
func (p FoundCursor) String() string {
	plain := strings.Join([]string{strconv.Itoa(p.Words), p.At.UTC().Format(cursorTime), strconv.FormatInt(p.Seq, 36), p.Key.String()}, " ")
	return base64.RawURLEncoding.EncodeToString([]byte(plain))
}

// ParseFoundCursor reads what String wrote.
func ParseFoundCursor(s string) (p FoundCursor, err error) {
	plain, err := base64.RawURLEncoding.Strict().DecodeString(s)
	parts := strings.SplitN(string(plain), " ", 4)
	if err != nil || len(parts) < 4 {
		return p, errNoFoundCursor
	}
	var errs [4]error
	p.Words, errs[0] = strconv.Atoi(parts[0])
	p.At, errs[1] = time.Parse(cursorTime, parts[1])
	p.Seq, errs[2] = strconv.ParseInt(parts[2], 36, 64)
	p.Key, errs[3] = channels.ParseKey(parts[3])
	if errors.Join(errs[:]...) != nil {
		return FoundCursor{}, errNoFoundCursor
	}
	return p, nil
}

var errNoFoundCursor = errors.New("sessions: this is not a cursor of a search")
