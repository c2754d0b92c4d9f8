package rows

import (
	"context"
	"iter"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// MostSince bounds what QueueFilter.Since reads, because a time can be long ago.
const MostSince = 10_000

// QueueFilter chooses rows of a key's inbox or outbox. A zero field matches every row.
type QueueFilter struct {
	// Open chooses waiting inbox rows, or deliveries that are queued, sending, unknown or
	// dead.
	Open bool
	// Unsent chooses deliveries that are queued, sending or unknown.
	Unsent bool
	// Seq chooses one row, whatever Before is.
	Seq int64
	// MessageID chooses inbox rows by the id that the network gave.
	MessageID string
	// ID chooses a delivery by its Delivery.ID. No other field is set with it.
	ID string
	// Since, with a zero key, chooses the rows of all keys, whatever their state, that were
	// accepted or created at that time or later, unsorted. If there are more than
	// MostSince, the others are left out. No other field is set with it.
	Since time.Time
	// Before is exclusive.
	Before int64
	// Newest reverses the order.
	Newest bool
	// Light: the caller reads only the Key of Inbound, and not Job and JobDue.
	Light bool
	// Writers: the caller reads only the Key, Sender and Private of Inbound. Rows that
	// repeat those of another may be left out.
	Writers bool
}

// MessageFilter chooses messages of a transcript. After and Before are exclusive. A zero field
// matches every message.
type MessageFilter struct {
	After, Before int64
	// Newest reverses the order.
	Newest bool
	// Again, with Newest: the caller will soon read the same messages again, so the
	// backend may cache them.
	Again bool
	// Light: the caller does not read Content.
	Light bool
	// Writers: the caller reads only the Role, Sender and Name of user messages. Other
	// messages, and those that repeat another, may be left out.
	Writers bool
}

// Order is the order of a list of heads.
type Order int

// The orders of heads.
const (
	// ByKey lists every key, sorted. The others list the keys with a transcript.
	ByKey Order = iota
	// Newest lists the last updated first, and equals by key.
	Newest
	// Oldest is Newest in reverse.
	Oldest
	// Unowned is Newest without the keys whose Owners are known. It reads none of these.
	Unowned
)

// WordSearch is a search in transcripts.
type WordSearch struct {
	// Query has the words, from rules.Query.
	Query []string
	// All finds only messages that have all the words.
	All bool
	// Key is the conversation to search; zero for all.
	Key channels.Key
	// MessageFilter is for a search with a Key.
	MessageFilter
}

// Reader reads rows. Outside [Backend.Update] and [Backend.Snapshot] each call sees what is
// durable at that time. An iterator ends after it yields an error. Do not call the backend
// inside a loop over one of its iterators.
type Reader interface {
	// Head returns the head of k. ok is false if k was never stored.
	Head(ctx context.Context, k channels.Key) (h Head, ok bool, err error)
	// Heads lists heads in an order. after, for Newest and ByKey, is the last head of the
	// previous page; ByKey needs only its Key, which need not be stored.
	Heads(ctx context.Context, o Order, after *sessions.Cursor) iter.Seq2[Head, error]
	// Inbox and Outbox read rows of k, sorted by Seq. With a zero k they read the open rows
	// of all keys, unsorted, or the rows Since a time, or the delivery with an ID.
	Inbox(ctx context.Context, k channels.Key, q QueueFilter) iter.Seq2[In, error]
	Outbox(ctx context.Context, k channels.Key, q QueueFilter) iter.Seq2[Out, error]
	// Journal returns the steps of a turn, in order.
	Journal(ctx context.Context, k channels.Key, turn string) ([]sessions.Step, error)
	// Messages reads the transcript of k, sorted by Seq. The caller owns the messages,
	// unless they are light.
	Messages(ctx context.Context, k channels.Key, q MessageFilter) iter.Seq2[sessions.Message, error]
	// Accepted finds the seq under which m was accepted, by its channel and ID.
	Accepted(ctx context.Context, m channels.Inbound) (seq int64, ok bool, err error)
	// Records reads records by example. They are of the kind that is set in like, and their
	// names equal each nonzero part of the name in like. They are sorted by name. The names
	// are: a Generation's Key and ID (oldest first within a key), a Summary's Key (oldest
	// first; the example must have one), the Mark itself, a fact's Scope and ID, a
	// pairing's Channel and PersonID, a job's Job, an occurrence's Job and Due, a
	// quarantined message's Channel and ID, a note's Kind, Owner and Name, a sum's Kind,
	// Owner and Day. A note's Due in like chooses those that are due before it, and sorts
	// them by Due first. There is one Store; it has at least the Days that like names, or
	// all.
	Records(ctx context.Context, like Record) iter.Seq2[Record, error]
	// Search finds messages with one or more of the words. In one conversation they are in
	// the order of its MessageFilter, else unsorted. Only the Seq and At of a message are set.
	Search(ctx context.Context, w WordSearch) iter.Seq2[sessions.Found, error]
}

// Backend keeps rows and changes them.
type Backend interface {
	Reader
	// Update runs f and makes its changes durable before it returns nil. Updates are
	// serializable: f sees the changes of earlier ones, and what it read is unchanged at
	// its commit. Sums are the exception: they may grow meanwhile. keys are those that f
	// will change, as far as the caller knows. A backend
	// with locks locks them in order before it runs f, and another key when f reads its
	// Head; notes by their Kind and Owner when f reads them. If a lock or the commit fails, the backend runs f again. So f must only read,
	// and must assign all its results again. If f returns an error, Update returns it and
	// changes nothing. Any other error may come after the commit: if the connection to a
	// database server breaks during a commit, nobody knows whether it happened.
	Update(ctx context.Context, keys []channels.Key, f func(Reader) (Changes, error)) error
	// Snapshot runs f once, on one state of the store. f may run for long and blocks no
	// update.
	Snapshot(ctx context.Context, f func(Reader) error) error
	// Run is of engine.Store.
	Run(ctx context.Context, h sessions.Handler) error
	// Live returns nil if c is the live claim of its key, else sessions.ErrFenced. Updates
	// check Head.Claim instead.
	Live(c sessions.Claim) error
	// Hold is of engine.Store.
	Hold(ctx context.Context, name string, run func(context.Context) error) error
	// Stats counts the queues.
	Stats(ctx context.Context) (sessions.Stats, error)
	// Check proves that the backend can write now.
	Check(ctx context.Context) error
	// Close ends the backend after Run has returned.
	Close() error
}

// Scrubber is for backends that own their files. After Scrub the files, with their freed
// pages and logs, have no byte of deleted rows. keys are the erased ones.
type Scrubber interface {
	Scrub(ctx context.Context, keys []channels.Key) error
}
