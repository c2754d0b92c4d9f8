package channels

import (
	"errors"
	"fmt"
	"time"
)

// ErrPermanent marks an error that every further attempt would meet again: the
// bot was blocked, the chat is gone. A network that refuses the bot itself ends
// [Channel.Run] with it; Send then returns [NotSent], because the message is not
// to blame. Errors that are neither this nor a [Retry] are temporary.
var ErrPermanent = errors.New("permanent")

// ErrElsewhere ends [Channel.Run] of a channel that several nodes share: another
// program uses its connection now, perhaps a node that was taken for dead. The
// caller gives up the channel, and tries again after a while.
var ErrElsewhere = errors.New("connected elsewhere")

// ErrRemoved marks an error of a chat that has just removed the bot and may let
// it in again. An answer that was sent there in part is not completed later.
var ErrRemoved = errors.New("removed from the chat")

// Retry is the error of a network that says when to come back.
type Retry struct {
	After time.Duration
	Err   error // may be nil
}

func (r *Retry) Error() string {
	if r.Err == nil {
		return fmt.Sprintf("retry after %s", r.After)
	}
	return fmt.Sprintf("retry after %s: %v", r.After, r.Err)
}

// Unwrap returns the cause.
func (r *Retry) Unwrap() error { return r.Err }

// NotSent wraps an error that happened before anything reached the network,
// so that trying again cannot repeat the message: the connection was refused,
// the channel is not connected. Temporary errors without it leave the attempt
// uncertain.
type NotSent struct{ Err error }

func (e *NotSent) Error() string { return "not sent: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *NotSent) Unwrap() error { return e.Err }

// Gone is the error of a [Fetcher] for a file that its network will never
// hand over. It is an [ErrPermanent].
type Gone struct {
	// Why is the reason in a few words, for people and the model: "too big for bots".
	Why string
	Err error // may be nil
}

func (g *Gone) Error() string {
	if g.Err == nil {
		return g.Why
	}
	return g.Why + ": " + g.Err.Error()
}

// Unwrap returns the cause.
func (g *Gone) Unwrap() error { return g.Err }

// Is makes every Gone an [ErrPermanent].
func (g *Gone) Is(target error) bool { return target == ErrPermanent }
