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
	// ErrTooMany: too many pairing requests wait on that channel.
	ErrTooMany = errors.New("too many")
)

// Handler works on one claimed key until nothing is due, and returns. After an
// error, the key is claimed again later, with backoff.
type Handler func(ctx context.Context, c Claim) error

// ChatScope is the scope of a chat.
func ChatScope(k channels.Key) string { return "chat:" + k.String() }

// PersonScope is the scope of the person with that id.
func PersonScope(channel, id string) string { return "person:" + channel + ":" + id }
