// Package sessions has the types of conversations, of the two queues around them,
// and of the stores that keep both.
//
// A store is an engine.Store, one state machine: a message enters the inbox, a turn
// answers it, the answer leaves through the outbox. Each method is one atomic and
// durable step: if it returns nil, the change survives a kill -9 and a power cut; if
// it returns an error, nothing changed. No transaction outlives a call. Within one
// key, everything is ordered by a sequence that the store hands out under the key's
// lock; keys share nothing. A caller declares an interface of the few methods that
// it needs; the comments at engine.Store say what they promise.
//
// Stores are safe for concurrent use. Their backends own their goroutines and end
// them in Close. Backends live in the packages below this one and all pass the suite
// in storetest.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/channels"
)

// Errors that callers branch on. Every other error is a failure of the store
// itself (disk full, corruption); callers treat it as temporary.
var (
	ErrNotFound = errors.New("not found")
	// ErrConflict: something has changed since the caller read it.
	ErrConflict = errors.New("conflict")
	// ErrFenced: the claim is over (a /stop, a /new, another node).
	ErrFenced = errors.New("fenced")
	// ErrFull: the key's queue holds MaxWaiting messages.
	ErrFull = errors.New("queue full")
	// ErrTooMany: too many pairing requests wait on that channel, or an owner has too many
	// notes of a kind.
	ErrTooMany = errors.New("too many")
	// ErrSaid: what a turn says only once has been said.
	ErrSaid = errors.New("said before")
)

// ReplaceError says in a sentence why a message cannot be replaced. Nothing was stored.
type ReplaceError struct {
	Why string
	// Later says that it may be possible in a while: messages of the conversation are not
	// answered yet. Unknown says that there is no such message.
	Later, Unknown bool
}

func (e *ReplaceError) Error() string { return e.Why }

// Handler works on one claimed key until nothing is due, and returns. After an
// error, the key is claimed again later, with backoff.
type Handler func(ctx context.Context, c Claim) error

// ChatScope is the scope of a chat.
func ChatScope(k channels.Key) string { return "chat:" + k.String() }

// PersonScope is the scope of the person with that id.
func PersonScope(channel, id string) string { return "person:" + channel + ":" + id }

// OwnScopes begins the scopes that [OwnScope] makes.
const OwnScopes = "agent:"

// OwnScope is the scope of what only the persona called agent remembers of what scope is
// about. Without a name it is scope.
func OwnScope(agent, scope string) string {
	if agent == "" {
		return scope
	}
	return OwnScopes + agent + ":" + scope
}

// SharedScope is the inverse of [OwnScope]: whose memory a scope is, whichever persona has it.
func SharedScope(scope string) string {
	rest, own := strings.CutPrefix(scope, OwnScopes)
	if _, shared, found := strings.Cut(rest, ":"); own && found {
		return shared
	}
	return scope
}

// NewerError: a newer version of Dragoman wrote a store, or a file of it. The store
// was not changed: this version may understand only a part of it, and would lose the
// rest on the next write.
type NewerError struct {
	Path  string // the file, or a name for the tables
	Has   int    // the number of its format
	Knows int    // the newest format that this version knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("a newer version of dragoman wrote %s (its format is %d, this version knows %d): use that version, or restore a backup", e.Path, e.Has, e.Knows)
}

// Sentence is the error for users.
func (e *NewerError) Sentence() string {
	return fmt.Sprintf("A newer version of Dragoman wrote %s (its format is %d, this version knows %d). Nothing was changed. Use that version, or restore a backup.", e.Path, e.Has, e.Knows)
}

// RefusesError says that the store has accepted no message since a time, although it writes
// otherwise.
type RefusesError struct {
	Since time.Time
	Why   string
}

func (e *RefusesError) Error() string {
	return "no message could be stored since " + e.Since.Format(time.RFC3339) + ": " + e.Why
}
