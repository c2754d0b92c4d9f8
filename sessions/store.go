// Package sessions holds conversations and the two queues around them, and
// the contract of the stores that keep them.
//
// A [Store] is one state machine: a message enters the inbox, a turn answers
// it, the answer leaves through the outbox. Each method is one atomic and
// durable step: when it returns nil the change survives a kill -9 and a power
// cut, when it returns an error nothing changed. No transaction outlives a
// call. Within one key everything is ordered by a sequence that the store
// hands out under the key's lock; across keys nothing is shared.
//
// Stores are safe for concurrent use. They own their goroutines and end them
// in Close. Backends live in the packages below this one and all pass the
// suite in storetest.
package sessions

import (
	"context"
	"errors"
	"time"

	"dragoman/channels"
)

// Errors that callers branch on. Every other error is a failure of the store
// itself (disk full, corruption) and temporary as far as the caller knows.
var (
	ErrNotFound = errors.New("not found")
	// ErrConflict: something has changed since the caller read it.
	ErrConflict = errors.New("conflict")
	// ErrFenced: the claim is over (a /stop, a /new, another node).
	ErrFenced = errors.New("fenced")
	// ErrFull: the key's queue holds MaxWaiting messages.
	ErrFull = errors.New("queue full")
	// ErrTooMany: too many people of that channel are waiting to be paired.
	ErrTooMany = errors.New("too many")
)

// Inbox takes messages in.
type Inbox interface {
	// Accept stores e, numbers it and wakes its key in one commit. The same
	// (channel, Inbound.ID) is stored once, for good. See Outcome for edits.
	// Errors: ErrFull.
	Accept(ctx context.Context, e Entry) (Acceptance, error)
	// Quarantine keeps a message that an adapter could not read. Repeats of the
	// same (Channel, ID) are kept once.
	Quarantine(ctx context.Context, a Quarantined) error
	// Resolve takes a quarantined message off the operator's list because it
	// arrived after all. It stays in the store as dropped, and its Why says so. It is
	// no error if there is none.
	Resolve(ctx context.Context, channel, id string) error
}

// Handler works on one claimed key until nothing is due and returns. After an
// error the key is claimed again later, with backoff.
type Handler func(ctx context.Context, c Claim) error

// Work hands out the keys that have something to do.
type Work interface {
	// Run calls h for every key that has a due inbox message or delivery, side
	// by side over keys, one call at a time for one key, until ctx ends; then
	// it waits for the handlers and returns nil. h's context ends with ctx, or
	// with cause ErrFenced when its claim is fenced. Postponed messages and
	// deliveries make their key due at their time. Claiming raises the key's epoch.
	// Run is called once in a store's life.
	Run(ctx context.Context, h Handler) error
	// Pending reads what c has to answer next: the rest of an interrupted
	// turn, or else the due messages in order, at most most of them. An entry of
	// OriginHeartbeat is always returned alone.
	Pending(ctx context.Context, c Claim, most int) (Pending, error)
	// Waiting reads all waiting messages of c's inbox, in order, including those
	// that a turn has bound or that are not due.
	Waiting(ctx context.Context, c Claim) ([]Waiting, error)
	// AppendStep journals s for turn. The first step of a turn also binds the
	// answered messages to it; later calls may name more (steering), and then
	// those are bound too. Errors: ErrFenced, ErrConflict (a Rev is stale).
	AppendStep(ctx context.Context, c Claim, turn string, answers []Answered, s Step) error
	// CommitTurn ends a turn: messages, replies, answered inbox rows, usage
	// and occurrence in one commit; the turn's journal is deleted. Messages get
	// their Seq. Errors: ErrFenced, ErrConflict.
	CommitTurn(ctx context.Context, c Claim, t Turn) error
	// Postpone keeps messages (and their turn's journal) for later and counts
	// an attempt on each.
	Postpone(ctx context.Context, c Claim, seqs []int64, until time.Time, why string) error
}

// Outbox delivers. Its rows are worked on under the claim of their key.
type Outbox interface {
	// Unsent lists the key's deliveries that are queued, sending or unknown,
	// in order, due or not. "sending" means that a former claim died in it.
	Unsent(ctx context.Context, c Claim, most int) ([]Delivery, error)
	// MarkSending is called before the network call and counts the attempt.
	MarkSending(ctx context.Context, c Claim, id string) error
	// MarkSent records that the network has the message.
	MarkSent(ctx context.Context, c Claim, id string, r channels.Receipt) error
	// Reschedule puts a delivery back until later, as unknown if it may have been
	// sent.
	Reschedule(ctx context.Context, c Claim, id string, until time.Time, uncertain bool, why string) error
	// MarkDead gives a delivery up. It stays visible as dead.
	MarkDead(ctx context.Context, c Claim, id, why string) error
	// Drop takes a delivery back that its recipients no longer want. It stays in
	// the store as dropped.
	Drop(ctx context.Context, c Claim, id, why string) error
}

// Transcript reads a conversation for its next turn.
type Transcript interface {
	// History loads what a turn starts from. An unknown key has an empty one.
	// Its cost depends on what it returns, not on what is stored.
	History(ctx context.Context, k channels.Key, limit HistoryLimit) (History, error)
	// AddSummary makes s the newest summary of k. The messages stay. Returns
	// ErrConflict if s.Generation is not the current one, if s.CoversSeq does not
	// name a message of it after the newest summary, or if messages of k were erased
	// since the caller read the history for s.
	AddSummary(ctx context.Context, k channels.Key, s Summary) error
}

// Archive is the operator's view of conversations.
type Archive interface {
	// Messages reads the whole transcript of k over all generations in pages:
	// at most limit messages with Seq > after, oldest first.
	Messages(ctx context.Context, k channels.Key, after int64, limit int) ([]Message, error)
	// Lookup is Catalog.SearchAll within a range of seqs of k. It also counts the
	// other hits.
	Lookup(ctx context.Context, k channels.Key, l Lookup) (Hits, error)
	Rename(ctx context.Context, k channels.Key, title string) error
	// Delete removes the conversation's transcript, summaries and settings, and
	// the finished part of its queues: answered, closed or withdrawn messages, and
	// sent, dead or dropped deliveries. Hashes of these messages stay: one that comes
	// again is a Duplicate, and a change of one is Unknown. Waiting messages and
	// unsent deliveries stay. Returns ErrNotFound if k has nothing else; waiting
	// messages alone are not a conversation.
	Delete(ctx context.Context, k channels.Key) error
}

// Feeds shows a conversation as the person in it saw it.
type Feeds interface {
	// Feed returns at most limit items with Seq < before (0: the newest),
	// oldest first. Dead and dropped deliveries are left out.
	Feed(ctx context.Context, k channels.Key, before int64, limit int) ([]FeedItem, error)
	// Running returns the uncommitted turn of k that has a journal, whether it runs
	// now or will resume after a crash: the messages that it answers, in order, and
	// the journal. Turn is "" if there is none.
	Running(ctx context.Context, k channels.Key) (Pending, error)
}

// Queue is the operator's view of inbox, outbox and quarantine.
type Queue interface {
	// ListQueue returns the items that are not done: waiting, unsent, dead and
	// quarantined ones.
	ListQueue(ctx context.Context, limit int) ([]QueueItem, error)
	// ShowQueue returns one item with its text.
	ShowQueue(ctx context.Context, id string) (QueueItem, error)
	// RetryQueue makes a dead, postponed or deferred item due now.
	// Errors: ErrNotFound, ErrConflict (it is done, or being worked on).
	RetryQueue(ctx context.Context, id string) error
	// DropQueue gives an item up on the operator's word. It stays in the
	// store as dropped. Errors as RetryQueue.
	DropQueue(ctx context.Context, id string) error
}

// Jobs keeps the calendar of heartbeats. It speaks in built-in types so that
// package heartbeat can declare the same interface without importing this one.
type Jobs interface {
	// NextDue is when job is due next; false if it was never planned.
	NextDue(ctx context.Context, job string) (time.Time, bool, error)
	// Plan moves job from was, which NextDue said, to next; a zero was is for
	// one that was never planned. ErrConflict if somebody else has moved it.
	Plan(ctx context.Context, job string, was, next time.Time) error
	// Fire records the occurrence at due as fired, puts m into the inbox (as
	// OriginHeartbeat) and moves job from was to next as Plan does, in one commit.
	// An occurrence of the schedule has due equal to was.
	Fire(ctx context.Context, job string, was, due, next time.Time, m channels.Inbound) error
	// Skip records the occurrence that is planned for due with an outcome ("skipped",
	// "missed") and plans the next one. ErrConflict as in Plan.
	Skip(ctx context.Context, job string, due, next time.Time, outcome, why string) error
	// Occurrences lists the newest first; job "" lists all jobs.
	Occurrences(ctx context.Context, job string, limit int) ([]Occurrence, error)
}

// People keeps pairings: who was let in, and who asks to be.
type People interface {
	// RequestPairing stores p with its Code and Expires, unless a request of
	// the same person that has not expired at now exists, which is then
	// returned with created false. Errors: ErrTooMany if maxPending requests
	// of the channel wait.
	RequestPairing(ctx context.Context, p Pairing, now time.Time, maxPending int) (got Pairing, created bool, err error)
	// ApprovePairing lets the person in. Codes match without regard to case,
	// spaces and dashes. Errors: ErrNotFound (unknown, used or expired).
	ApprovePairing(ctx context.Context, code string, now time.Time) (Pairing, error)
	// Paired reports whether one of ids was approved on channel.
	Paired(ctx context.Context, channel string, ids []string) (bool, error)
	// Pairings lists approved people and requests that have not expired.
	Pairings(ctx context.Context, now time.Time) ([]Pairing, error)
	// Unpair withdraws an approval. Errors: ErrNotFound.
	Unpair(ctx context.Context, channel, personID string) error
}

// Facts is long-term memory. A scope is a person or a chat.
type Facts interface {
	Remember(ctx context.Context, scope, text string) (Fact, error)
	// Recall finds facts by words, best first; an empty query lists the newest.
	Recall(ctx context.Context, scope, query string, limit int) ([]Fact, error)
	// Forget removes one. Errors: ErrNotFound.
	Forget(ctx context.Context, scope string, id int64) error
}

// ChatScope is the scope of a chat.
func ChatScope(k channels.Key) string { return "chat:" + k.String() }

// PersonScope is the scope of the person with that id.
func PersonScope(channel, id string) string { return "person:" + channel + ":" + id }

// Leases guards things of which only one may exist over all nodes.
type Leases interface {
	// Hold waits for the lease called name, calls run while it is held, and
	// returns run's error. The context of run ends when the lease is lost.
	Hold(ctx context.Context, name string, run func(context.Context) error) error
}

// Store is everything a backend offers.
type Store interface {
	Inbox
	Work
	Outbox
	Transcript
	Archive
	Catalog
	Lifetime
	Copies
	Feeds
	Queue
	Jobs
	People
	Facts
	Directory
	Leases
	// Stats counts the queues; cheap enough for every few seconds.
	Stats(ctx context.Context) (Stats, error)
	// Check proves that the store can write now.
	Check(ctx context.Context) error
	// Close ends the store after Run has returned.
	Close() error
}
