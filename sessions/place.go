package sessions

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
)

// Place is where a conversation stood in a list: the next page begins behind
// it, whatever was said meanwhile. A conversation that gets a message between
// two pages moves to the top, and nothing comes twice because of it. The store
// needs no conversation at that place any more, not even its key.
type Place struct {
	Updated time.Time
	Key     channels.Key
}

// Place is where c stands.
func (c Conversation) Place() Place { return Place{c.Updated, c.Key} }

// String is one word that needs no quotes in a shell or a URL; ParsePlace
// reads it. Nobody else has to.
func (p Place) String() string {
	plain := strconv.FormatInt(p.Updated.UnixNano(), 36) + " " + p.Key.String()
	return base64.RawURLEncoding.EncodeToString([]byte(plain))
}

// ParsePlace reads what String wrote.
func ParsePlace(s string) (Place, error) {
	plain, err := base64.RawURLEncoding.Strict().DecodeString(s)
	updated, key, found := strings.Cut(string(plain), " ")
	if err != nil || !found {
		return Place{}, errNoPlace
	}
	at, err := strconv.ParseInt(updated, 36, 64)
	if err != nil {
		return Place{}, errNoPlace
	}
	k, err := channels.ParseKey(key)
	if err != nil {
		return Place{}, errNoPlace
	}
	return Place{time.Unix(0, at).UTC(), k}, nil
}

var errNoPlace = errors.New("sessions: this is no place in a list of conversations")
