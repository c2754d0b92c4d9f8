package api

import (
	"context"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Store is the store, by what the verbs do with it. All fields must be set, usually
// to the same engine.Store. The comments there are the contract.
type Store struct {
	Conversations
	Transcripts
	Queue
	JobLog
	People
	Facts
	Copies
	Health
	Counted
}

// Conversations lists, counts and changes conversations.
type Conversations interface {
	Find(ctx context.Context, q sessions.Query) ([]sessions.Conversation, error)
	Conversation(ctx context.Context, k channels.Key) (sessions.Conversation, error)
	Generations(ctx context.Context, k channels.Key) ([]sessions.Generation, error)
	Configure(ctx context.Context, k channels.Key, change func(*sessions.Settings) error) error
	Rename(ctx context.Context, k channels.Key, title string) error
	Join(ctx context.Context, from, to channels.Key) error
	Delete(ctx context.Context, k channels.Key) error
	Days(ctx context.Context, from, to time.Time) ([]sessions.DayCount, error)
	Top(ctx context.Context, limit int) ([]sessions.Conversation, error)
}

// Transcripts shows and searches what was said.
type Transcripts interface {
	Messages(ctx context.Context, k channels.Key, after int64, limit int) ([]sessions.Message, error)
	Replacements(ctx context.Context, k channels.Key, from int64) ([]sessions.Replacement, error)
	SearchAll(ctx context.Context, s sessions.Search) ([]sessions.Found, error)
	History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (sessions.History, error)
	Feed(ctx context.Context, k channels.Key, before int64, limit int) ([]sessions.FeedItem, error)
	Running(ctx context.Context, k channels.Key) (sessions.Pending, error)
	Ending(ctx context.Context, k channels.Key) (sessions.Ending, error)
}

// Queue shows and changes what waits in inbox, outbox and quarantine.
type Queue interface {
	ListQueue(ctx context.Context, limit int) ([]sessions.QueueItem, error)
	ShowQueue(ctx context.Context, id string) (sessions.QueueItem, error)
	RetryQueue(ctx context.Context, id string) error
	DropQueue(ctx context.Context, id string) error
}

// JobLog lists what became of jobs.
type JobLog interface {
	Occurrences(ctx context.Context, job string, limit int) ([]sessions.Occurrence, error)
}

// People lists, approves, refuses and removes people.
type People interface {
	Pairings(ctx context.Context, now time.Time) ([]sessions.Pairing, error)
	ApprovePairing(ctx context.Context, code string, now time.Time) (sessions.Pairing, error)
	RefusePairing(ctx context.Context, code string, now time.Time) (sessions.Pairing, error)
	Unpair(ctx context.Context, channel, personID string) error
}

// Facts shows and changes long-term memory.
type Facts interface {
	Recall(ctx context.Context, scope, query string, limit int) ([]sessions.Fact, error)
	Remember(ctx context.Context, scope string, n sessions.NewFact) (sessions.Kept, error)
	Forget(ctx context.Context, scope string, id int64) error
	PinFact(ctx context.Context, scope string, id int64, pinned bool) error
	UndoFacts(ctx context.Context, scope string, beside ...string) (sessions.UndoneFacts, error)
}

// Copies reads and writes records of whole conversations.
type Copies interface {
	Dump(ctx context.Context, keys []channels.Key, emit func(sessions.Record) error) error
	Restore(ctx context.Context, next func() (sessions.Record, error)) (sessions.Restored, error)
}

// Health counts the queues and proves that the store can write.
type Health interface {
	Stats(ctx context.Context) (sessions.Stats, error)
	Check(ctx context.Context) error
}

// Counted has the sums of what was used.
type Counted interface {
	Sums(ctx context.Context, f sessions.SumFilter) ([]sessions.Count, error)
}
