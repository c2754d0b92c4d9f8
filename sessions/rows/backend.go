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
	// Seqs chooses these.
	Seqs []int64
	// MessageID chooses inbox rows with that id of the network's.
	MessageID string
	// ID chooses the delivery of that Delivery.ID.
	ID string
	// Before is exclusive.
	Before int64
	// Newest turns the order around.
	Newest bool
	// Light says that nobody looks at Inbound beyond its Key.
	Light bool
}

// Said chooses messages of a transcript, After and Before exclusive; zero
// fields do not bound.
type Said struct {
	After, Before int64
	// Newest turns the order around.
	Newest bool
	// Once says that nobody will read the same soon: nothing is to be kept in
	// memory for it.
	Once bool
	// Light says that nobody looks at Content.
	Light bool
}

// Order is that of a list of heads.
type Order int

// The orders of heads.
const (
	// ByKey lists every key, sorted; the others those with a transcript.
	ByKey Order = iota
	// Newest lists what was updated last first, equals by key.
	Newest
	// Oldest is Newest turned around.
	Oldest
)

// Words is a search.
type Words struct {
	// Query are the words, as rules.Query has them.
	Query []string
	// Key is where to look.
	Key channels.Key
	Said
	// Most bounds how many are returned of each kind. Enough is how many with
	// all words make it needless to look for others.
	Most, Enough int
}

// Reader reads rows. Outside of [Backend.Update] and [Backend.Snapshot] each
// call sees what is durable at its time. An iterator that yields an error ends
// with it. Nobody may call the backend from inside of a loop over one of its
// iterators.
type Reader interface {
	// Head returns that of k. ok is false if nothing was ever stored of k.
	Head(ctx context.Context, k channels.Key) (h Head, ok bool, err error)
	// Heads lists heads in an order; after, for Newest, is where to go on.
	Heads(ctx context.Context, o Order, after *sessions.Cursor) iter.Seq2[Head, error]
	// Inbox and Outbox read rows of k by Seq. With a zero k, they read those that
	// are open of all keys, in no order, or the delivery with an ID.
	Inbox(ctx context.Context, k channels.Key, q Queued) iter.Seq2[In, error]
	Outbox(ctx context.Context, k channels.Key, q Queued) iter.Seq2[Out, error]
	// Journal is that of a turn, in order.
	Journal(ctx context.Context, k channels.Key, turn string) ([]sessions.Step, error)
	// Messages reads the transcript of k by Seq. The messages are the caller's,
	// unless they are light.
	Messages(ctx context.Context, k channels.Key, q Said) iter.Seq2[sessions.Message, error]
	// Accepted finds the seq under which m was accepted, by its channel and ID.
	Accepted(ctx context.Context, m channels.Inbound) (seq int64, ok bool, err error)
	// Records reads records by example: those of the kind of which a field of
	// like is set, and of whose name each part that is not zero in like is equal.
	// The names, which are also their order, are: a Generation's Key and ID (of a
	// key they come oldest first), a Summary's Key (oldest first; an example has
	// one), the Mark itself, a fact's Scope and ID, a pairing's Channel and
	// PersonID, a job's Job, an occurrence's Job and Due, and the Channel and ID
	// of what was set aside. Of Store there is one; its Days are
	// those that like names, or all.
	Records(ctx context.Context, like Record) iter.Seq2[Record, error]
	// Match finds messages of a key by words: those with all of them, and, if these
	// are fewer than Enough, those with some. Of each kind only the best Enough need
	// more than a Seq; of equals, the first in the order of Said are better.
	Match(ctx context.Context, w Words) (all, some []sessions.Message, err error)
	// Scored finds messages with some of the words, in no order, in all
	// conversations if key is zero. Of a message at least Seq and At are set; one
	// with a Role is whole.
	Scored(ctx context.Context, query []string, key channels.Key) iter.Seq2[sessions.Found, error]
}

// Backend keeps rows and changes them.
type Backend interface {
	Reader
	// Update runs f and makes what it returns durable, before it returns nil.
	// Updates that succeed are as if they ran one after the other: f reads what
	// earlier ones left, and what f read is still so at its commit. keys are those
	// that f is about, as far as that is known before: a backend that locks, locks
	// them in their order before it runs f, and another key when f reads its Head.
	// If that, or the commit, has to be given up for another update, f runs again:
	// it does nothing but read, and sets anew what it sets. An error of f's is
	// returned and changes nothing.
	Update(ctx context.Context, keys []channels.Key, f func(Reader) (Changes, error)) error
	// Snapshot runs f on one moment of the store. f may take long, and nobody
	// waits for it.
	Snapshot(ctx context.Context, f func(Reader) error) error
	// Run is sessions.Work's.
	Run(ctx context.Context, h sessions.Handler) error
	// Live returns nil if c is the live claim of its key, else
	// sessions.ErrFenced. It is not for updates, where Head.Claim tells it.
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

// Scrubber is an ability of backends whose files nobody else keeps: after
// Scrub no byte of what was deleted is left in them, freed pages and logs
// included. keys are those that were erased.
type Scrubber interface {
	Scrub(ctx context.Context, keys []channels.Key) error
}
