// Package sessions holds conversations and the two queues around them, and
// the contract of the stores that keep them.
//
// A [Store] is one state machine: a message enters the inbox, a turn answers
// it, the answer leaves through the outbox. Each method is one atomic and
// durable step: if it returns nil, the change survives a kill -9 and a power
// cut; if it returns an error, nothing changed. No transaction outlives a
// call. Within one key, everything is ordered by a sequence that the store
// hands out under the key's lock; keys share nothing.
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

// Inbox accepts messages.
type Inbox interface {
	// Accept stores e, numbers it and wakes its key in one commit. A message is
	// stored once for each (channel, Inbound.ID), however often it arrives. See
	// Outcome for edits. Errors: ErrFull.
	Accept(ctx context.Context, e Entry) (Acceptance, error)
	// Quarantine stores a message that an adapter could not read, once for each
	// (Channel, ID).
	Quarantine(ctx context.Context, a Quarantined) error
	// Resolve takes a quarantined message off the operator's list because it
	// arrived after all. It stays in the store as dropped, and its Why says so. Without
	// such a message, Resolve does nothing.
	Resolve(ctx context.Context, channel, id string) error
}

// Handler works on one claimed key until nothing is due, and returns. After an
// error, the key is claimed again later, with backoff.
type Handler func(ctx context.Context, c Claim) error

// Work hands out the keys that have due work.
type Work interface {
	// Run calls h for every key that has a due inbox message or delivery: different
	// keys in parallel, one key one call at a time. When ctx ends, it waits for the
	// handlers and returns nil. h's context ends with ctx, or with cause ErrFenced
	// when its claim is fenced. Postponed messages and deliveries make their key due
	// at their time. Claiming raises the key's epoch. Run may be called only once.
	Run(ctx context.Context, h Handler) error
	// Pending reads the next task of c: an interrupted turn, or else the due
	// messages in order, at most most of them. An entry of OriginHeartbeat is always
	// returned alone.
	Pending(ctx context.Context, c Claim, most int) (Pending, error)
	// Waiting reads all waiting messages of c's inbox, in order, including bound and
	// postponed ones.
	Waiting(ctx context.Context, c Claim) ([]Waiting, error)
	// AppendStep journals s for turn and binds the answered messages to the turn. A
	// later call may name more of them (steering). Errors: ErrFenced, ErrConflict (a
	// Rev is stale).
	AppendStep(ctx context.Context, c Claim, turn string, answers []Answered, s Step) error
	// CommitTurn ends a turn in one commit: it stores messages, usage, replies and
	// the occurrence, marks the answered inbox rows as done, and deletes the turn's
	// journal. Messages get their Seq. Errors: ErrFenced, ErrConflict.
	CommitTurn(ctx context.Context, c Claim, t Turn) error
	// Postpone makes messages, and the turn they are bound to, due at until and
	// counts an attempt on each.
	Postpone(ctx context.Context, c Claim, seqs []int64, until time.Time, why string) error
}

// Outbox records deliveries, under the claim of their key.
type Outbox interface {
	// Unsent lists the key's deliveries that are queued, sending or unknown, in
	// order, due or not. "sending" means that an earlier claim ended during the
	// network call.
	Unsent(ctx context.Context, c Claim, most int) ([]Delivery, error)
	// MarkSending is called before the network call and counts the attempt.
	MarkSending(ctx context.Context, c Claim, id string) error
	// MarkSent records that the network has the message.
	MarkSent(ctx context.Context, c Claim, id string, r channels.Receipt) error
	// Reschedule makes a delivery due at until. It becomes unknown if this attempt or
	// an earlier one may have reached the network, else queued.
	Reschedule(ctx context.Context, c Claim, id string, until time.Time, uncertain bool, why string) error
	// MarkDead gives a delivery up. It stays visible as dead.
	MarkDead(ctx context.Context, c Claim, id, why string) error
	// Drop withdraws a delivery that its recipients no longer want. It stays in the
	// store as dropped.
	Drop(ctx context.Context, c Claim, id, why string) error
}

// Transcript reads a conversation for its next turn.
type Transcript interface {
	// History loads the part of a conversation that a turn needs. An unknown key has
	// an empty one. The cost depends on what it returns, not on what is stored.
	History(ctx context.Context, k channels.Key, limit HistoryLimit) (History, error)
	// AddSummary makes s the newest summary of k. The messages are kept. It returns
	// ErrConflict if s.Generation is not the current one, if s.CoversSeq is not a
	// message of that generation after the newest summary, or if messages of k were
	// erased since the caller read the history for s.
	AddSummary(ctx context.Context, k channels.Key, s Summary) error
}

// Archive is the operator's view of conversations.
type Archive interface {
	// Messages reads the transcript of k over all generations in pages: at most
	// limit messages with Seq > after, oldest first.
	Messages(ctx context.Context, k channels.Key, after int64, limit int) ([]Message, error)
	// Lookup is Catalog.SearchAll within a range of seqs of k. It also counts the
	// other hits.
	Lookup(ctx context.Context, k channels.Key, l Lookup) (Hits, error)
	Rename(ctx context.Context, k channels.Key, title string) error
	// Delete removes the conversation's transcript, summaries and settings, and the
	// finished rows of its queues: answered, closed or withdrawn messages, and sent,
	// dead or dropped deliveries. It keeps hashes of these messages: one that comes
	// again is a Duplicate, and a change of one is Unknown. Waiting messages and
	// unsent deliveries are kept. It returns ErrNotFound if k has nothing else;
	// waiting messages alone are not a conversation.
	Delete(ctx context.Context, k channels.Key) error
}

// Feeds shows a conversation as the person in it saw it.
type Feeds interface {
	// Feed returns the last limit items with Seq < before (0: no bound), oldest
	// first, without dead and dropped deliveries.
	Feed(ctx context.Context, k channels.Key, before int64, limit int) ([]FeedItem, error)
	// Running returns the turn of k that has a journal, whether it runs now or will
	// resume after a crash: its messages, in order, and the journal. Turn is "" if
	// there is none.
	Running(ctx context.Context, k channels.Key) (Pending, error)
}

// Queue is the operator's view of inbox, outbox and quarantine.
type Queue interface {
	// ListQueue returns the unfinished items: waiting, unsent, dead and quarantined
	// ones, oldest first.
	ListQueue(ctx context.Context, limit int) ([]QueueItem, error)
	// ShowQueue returns one item with its text.
	ShowQueue(ctx context.Context, id string) (QueueItem, error)
	// RetryQueue makes a dead, postponed or rescheduled item due now.
	// Errors: ErrNotFound, ErrConflict (it is done, or being worked on).
	RetryQueue(ctx context.Context, id string) error
	// DropQueue gives an item up for the operator. It stays in the store as dropped.
	// Errors as RetryQueue.
	DropQueue(ctx context.Context, id string) error
}

// Jobs keeps the calendar of heartbeats. It uses only built-in types and those of
// channels, so that package heartbeat can declare the same interface without
// importing this one.
type Jobs interface {
	// NextDue is when job is due next; false if it was never planned.
	NextDue(ctx context.Context, job string) (time.Time, bool, error)
	// Plan moves job from was, the result of NextDue, to next. For a job that was
	// never planned, was is zero. ErrConflict: the job is not due at was any more.
	Plan(ctx context.Context, job string, was, next time.Time) error
	// Fire records the occurrence at due as fired, puts m into the inbox (as
	// OriginHeartbeat) and moves job from was to next as Plan does, in one commit.
	// An occurrence of the schedule has due equal to was.
	Fire(ctx context.Context, job string, was, due, next time.Time, m channels.Inbound) error
	// Skip records the occurrence that is planned for due with an outcome ("skipped",
	// "missed") and plans the next one. ErrConflict as in Plan.
	Skip(ctx context.Context, job string, due, next time.Time, outcome, why string) error
	// Occurrences lists the newest first; job "" means all jobs.
	Occurrences(ctx context.Context, job string, limit int) ([]Occurrence, error)
}

// People keeps pairings: people who were approved, and requests.
type People interface {
	// RequestPairing stores p with its Code and Expires. If the person has an
	// unexpired request or an approval, it returns that with created false instead.
	// Errors: ErrConflict if another person has the code, ErrTooMany if maxPending
	// requests of the channel wait.
	RequestPairing(ctx context.Context, p Pairing, now time.Time, maxPending int) (got Pairing, created bool, err error)
	// ApprovePairing approves the request with that code. Codes match without regard
	// to case, spaces and dashes. Errors: ErrNotFound (unknown, used or expired).
	ApprovePairing(ctx context.Context, code string, now time.Time) (Pairing, error)
	// Paired reports whether one of ids was approved on channel.
	Paired(ctx context.Context, channel string, ids []string) (bool, error)
	// Pairings lists approved people and requests that have not expired.
	Pairings(ctx context.Context, now time.Time) ([]Pairing, error)
	// Unpair removes an approved person. Errors: ErrNotFound.
	Unpair(ctx context.Context, channel, personID string) error
}

// Facts is long-term memory. A scope is a person or a chat.
type Facts interface {
	// Remember stores text, unless the scope has that very fact already, and returns
	// the fact.
	Remember(ctx context.Context, scope, text string) (Fact, error)
	// Recall finds facts by words, best first; an empty query lists the newest.
	Recall(ctx context.Context, scope, query string, limit int) ([]Fact, error)
	// Forget removes a fact. Errors: ErrNotFound.
	Forget(ctx context.Context, scope string, id int64) error
}

// ChatScope is the scope of a chat.
func ChatScope(k channels.Key) string { return "chat:" + k.String() }

// PersonScope is the scope of the person with that id.
func PersonScope(channel, id string) string { return "person:" + channel + ":" + id }

// Leases guards things that only one node may run at a time.
type Leases interface {
	// Hold waits for the lease called name, calls run while it is held, and
	// returns run's error. The context of run ends when the lease is lost.
	Hold(ctx context.Context, name string, run func(context.Context) error) error
}

// Store is the whole contract of a backend.
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
	// Stats counts the queues. It is cheap enough to be called every few seconds.
	Stats(ctx context.Context) (Stats, error)
	// Check proves that the store can write now.
	Check(ctx context.Context) error
	// Close ends the store after Run has returned.
	Close() error
}
