package gateway

import (
	"context"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Store is the store, by what the gateway does with it. All fields must be set,
// usually to the same engine.Store. The comments there are the contract.
type Store struct {
	Inbox
	Work
	Outbox
	Conversations
	People
	Leases
	Records
}

// Records reads notes, and adds up.
type Records interface {
	Notes(ctx context.Context, f sessions.NoteFilter) ([]sessions.Note, error)
	Count(ctx context.Context, add ...sessions.Count) error
}

// Inbox accepts messages, and shows what waits in both queues.
type Inbox interface {
	Accept(ctx context.Context, e sessions.Entry) (sessions.Acceptance, error)
	Quarantine(ctx context.Context, a sessions.Quarantined) error
	Resolve(ctx context.Context, channel, id string) error
	QueueOf(ctx context.Context, k channels.Key) ([]sessions.QueueItem, error)
	Topics(ctx context.Context, k channels.Key) ([]channels.Key, error)
	ListQueue(ctx context.Context, limit int) ([]sessions.QueueItem, error)
	RetryQueue(ctx context.Context, id string) error
}

// Work hands out the keys that have due work, and takes the turns that answer it.
type Work interface {
	Run(ctx context.Context, h sessions.Handler) error
	Pending(ctx context.Context, c sessions.Claim, most int) (sessions.Pending, error)
	Waiting(ctx context.Context, c sessions.Claim) ([]sessions.InboxRecord, error)
	Running(ctx context.Context, k channels.Key) (sessions.Pending, error)
	AppendStep(ctx context.Context, c sessions.Claim, turn string, answers []sessions.Answered, s sessions.Step) error
	CommitTurn(ctx context.Context, c sessions.Claim, t sessions.Turn) error
	Postpone(ctx context.Context, c sessions.Claim, seqs []int64, until time.Time, why string) error
	Park(ctx context.Context, c sessions.Claim, p sessions.Parking) error
}

// Outbox records deliveries, under the claim of their key.
type Outbox interface {
	Unsent(ctx context.Context, c sessions.Claim, most int) ([]sessions.Delivery, error)
	MarkSending(ctx context.Context, c sessions.Claim, id string) error
	MarkSent(ctx context.Context, c sessions.Claim, id string, r channels.Receipt) error
	Reschedule(ctx context.Context, c sessions.Claim, id string, until time.Time, uncertain bool, why string) error
	MarkDead(ctx context.Context, c sessions.Claim, id, why string) error
	Drop(ctx context.Context, c sessions.Claim, id, why string) error
	Sending(ctx context.Context, id string) (sessions.Delivery, error)
}

// Conversations reads, names, configures, joins and expires conversations.
type Conversations interface {
	Find(ctx context.Context, q sessions.Query) ([]sessions.Conversation, error)
	Conversation(ctx context.Context, k channels.Key) (sessions.Conversation, error)
	Owners(ctx context.Context, k channels.Key) ([]sessions.Owner, error)
	History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error)
	AddSummary(ctx context.Context, k channels.Key, s sessions.Summary, counts ...sessions.Count) error
	Feed(ctx context.Context, k channels.Key, before int64, limit int) ([]sessions.FeedItem, error)
	Rename(ctx context.Context, k channels.Key, title string) error
	Configure(ctx context.Context, k channels.Key, change func(*sessions.Settings) error) error
	Join(ctx context.Context, from, to channels.Key) error
	Expire(ctx context.Context, before time.Time, limit int) ([]channels.Key, error)
	// Sweep removes notes whose life is over.
	Sweep(ctx context.Context) (removed int, err error)
}

// People knows who was approved.
type People interface {
	Paired(ctx context.Context, channel string, ids []string) (bool, error)
	RequestPairing(ctx context.Context, p sessions.Pairing, now time.Time, maxPending int) (got sessions.Pairing, created bool, err error)
	ApprovePairing(ctx context.Context, code string, now time.Time) (sessions.Pairing, error)
}

// Leases guards what only one node may run at a time.
type Leases interface {
	Hold(ctx context.Context, name string, run func(context.Context) error) error
}
