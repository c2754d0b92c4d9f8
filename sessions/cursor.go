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

// Cursor is the place of a conversation in a list; the next page begins after
// it. A conversation that gets a message between two pages moves to the top of
// the list, and no page shows it twice. The conversation at the cursor may be
// gone by then.
type Cursor struct {
	Updated time.Time
	Key     channels.Key
}

// Position is where c is.
func (c Conversation) Position() Cursor { return Cursor{c.Updated, c.Key} }

// String is one word that needs no quotes in a shell or a URL. Only ParseCursor
// reads it.
func (p Cursor) String() string {
	return oneWord(strconv.FormatInt(p.Updated.UnixNano(), 36), p.Key.String())
}

// ParseCursor is the inverse of String.
func ParseCursor(s string) (Cursor, error) {
	parts, err := partsOf(s, 2)
	if err != nil {
		return Cursor{}, errNoCursor
	}
	at, err := strconv.ParseInt(parts[0], 36, 64)
	k, keyErr := channels.ParseKey(parts[1])
	if err != nil || keyErr != nil {
		return Cursor{}, errNoCursor
	}
	return Cursor{time.Unix(0, at).UTC(), k}, nil
}

var errNoCursor = errors.New("sessions: this is not a cursor of a list of conversations")

// FoundCursor is the place of a message in the results of a [Search]. No message
// is shown twice or left out, whatever is said or deleted between two pages. The
// next page needs the same query.
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

// Compare is negative if p comes before o: it has more of the words, or was said
// later.
func (p FoundCursor) Compare(o FoundCursor) int {
	return cmp.Or(cmp.Compare(o.Words, p.Words), o.At.Compare(p.At), cmp.Compare(o.Key.String(), p.Key.String()), cmp.Compare(o.Seq, p.Seq))
}

// cursorTime is the form of the time in a FoundCursor.
const cursorTime = "2006-01-02T15:04:05.999999999Z"

// String is one word, like that of a Cursor.
func (p FoundCursor) String() string {
	return oneWord(strconv.Itoa(p.Words), p.At.UTC().Format(cursorTime), strconv.FormatInt(p.Seq, 36), p.Key.String())
}

// ParseFoundCursor is the inverse of String.
func ParseFoundCursor(s string) (p FoundCursor, err error) {
	parts, err := partsOf(s, 4)
	if err != nil {
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

func oneWord(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, " ")))
}

// partsOf is the inverse of oneWord. Only the last part may have spaces.
func partsOf(s string, n int) ([]string, error) {
	plain, err := base64.RawURLEncoding.Strict().DecodeString(s)
	parts := strings.SplitN(string(plain), " ", n)
	if err == nil && len(parts) < n {
		err = errors.New("too short")
	}
	return parts, err
}
