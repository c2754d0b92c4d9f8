package rows

import (
	"context"
	"iter"

	"dragoman/channels"
	"dragoman/sessions"
)

// Queued chooses rows of the queues of a key. Zero fields do not bound.
type Queued struct {
	// Open chooses rows that wait (inbox), or that are queued, sending, unknown
	// or dead (outbox).
	Open bool
	// Unsent chooses deliveries that are queued, sending or unknown.
	Unsent bool
	// Seq chooses one row.
	Seq int64
	// MessageID chooses inbox rows with that id of the network's.
	MessageID string
	// ID chooses the delivery of that Delivery.ID.
	ID string
	// Before is exclusive.
	Before int64
	// Newest turns the order around.
	Newest bool
	// Light: the caller reads nothing of Inbound but its Key.
	Light bool
}

// Said chooses messages of a transcript, After and Before exclusive; zero
// fields do not bound.
type Said struct {
	After, Before int64
	// Newest turns the order around.
	Newest bool
	// Again, with Newest: the caller will read the same messages again soon, so they
	// may be cached.
	Again bool
	// Light: the caller does not read Content.
	Light bool
}

// Order is that of a list of heads.
type Order int

// The orders of heads.
const (
	// ByKey lists every key, sorted; the others those with a transcript.
	ByKey Order = iota
	// Newest lists the last updated first, equals by key.
	Newest
	// Oldest is Newest in reverse.
	Oldest
)

// Words is a search.
type Words struct {
	// Query are the words, as rules.Query has them.
	Query []string
	// All leaves out messages without one of them.
	All bool
	// Key is the conversation to search; zero: all of them.
	Key channels.Key
	Said
}

// Reader reads rows. Outside [Backend.Update] and [Backend.Snapshot] each call
// sees what is durable at that time. An iterator ends after it yields an error.
// Do not call the backend inside a loop over one of its iterators.
type Reader interface {
	// Head returns the head of k. ok is false if k was never stored.
	Head(ctx context.Context, k channels.Key) (h Head, ok bool, err error)
	// Heads lists heads in an order; after, for Newest, is the last of the previous
	// page.
	Heads(ctx context.Context, o Order, after *sessions.Cursor) iter.Seq2[Head, error]
	// Inbox and Outbox read rows of k by Seq. With a zero k they read the open rows
	// of all keys, in no order, or the delivery with an ID.
	Inbox(ctx context.Context, k channels.Key, q Queued) iter.Seq2[In, error]
	Outbox(ctx context.Context, k channels.Key, q Queued) iter.Seq2[Out, error]
	// Journal is the journal of a turn, in order.
	Journal(ctx context.Context, k channels.Key, turn string) ([]sessions.Step, error)
	// Messages reads the transcript of k by Seq. The caller owns the messages,
	// unless they are light.
	Messages(ctx context.Context, k channels.Key, q Said) iter.Seq2[sessions.Message, error]
	// Accepted finds the seq under which m was accepted, by its channel and ID.
	Accepted(ctx context.Context, m channels.Inbound) (seq int64, ok bool, err error)
	// Records reads records by example: those of the kind that is set in like, whose
	// name equals each part of the name in like that is not zero. These are the names,
	// and records come sorted by them: a Generation's Key and ID (oldest first within
	// a key), a Summary's Key (oldest first; an example has one), the Mark itself, a
	// fact's Scope and ID, a pairing's Channel and PersonID, a job's Job, an
	// occurrence's Job and Due, a quarantined message's Channel and ID. There is one
	// Store; it has the Days that like names, or all.
	Records(ctx context.Context, like Record) iter.Seq2[Record, error]
	// Search finds messages with some of the words, in the order of Said in one
	// conversation, in no order in all. Of a message it sets Seq and At.
	Search(ctx context.Context, w Words) iter.Seq2[sessions.Found, error]
}

// Backend keeps rows and changes them.
type Backend interface {
	Reader
	// Update runs f and makes its changes durable before it returns nil. Updates are
	// serializable: f sees the changes of earlier ones, and what it read is unchanged
	// at its commit. keys are those that f is about, if they are known before. A
	// backend with locks takes them in the order of the keys before it runs f, and
	// that of another key when f reads its Head. If it has to give up, because of a
	// lock or at the commit, it runs f again: so f only reads, and assigns all its
	// results anew. If f returns an error, Update returns it and changes nothing.
	Update(ctx context.Context, keys []channels.Key, f func(Reader) (Changes, error)) error
	// Snapshot runs f on one moment of the store. f may take long; it blocks no
	// update.
	Snapshot(ctx context.Context, f func(Reader) error) error
	// Run is sessions.Work's.
	Run(ctx context.Context, h sessions.Handler) error
	// Live returns nil if c is the live claim of its key, else sessions.ErrFenced.
	// Updates look at Head.Claim instead.
	Live(c sessions.Claim) error
	// Hold is sessions.Leases'.
	Hold(ctx context.Context, name string, run func(context.Context) error) error
	// Stats counts the queues.
	Stats(ctx context.Context) (sessions.Stats, error)
	// Check proves that the backend can write now.
	Check(ctx context.Context) error
	// Close ends the backend after Run has returned.
	Close() error
}

// Scrubber is an ability of backends that own their files: after Scrub no byte of
// deleted rows is left in them, freed pages and logs included. keys are those that
// were erased.
type Scrubber interface {
	Scrub(ctx context.Context, keys []channels.Key) error
}
