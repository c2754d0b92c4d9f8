package sessions

import (
	"context"
	"time"

	"dragoman/channels"
)

// Query selects conversations. Zero fields match all of them.
type Query struct {
	Channel string // the instance's name, the first part of the key
	Tag     string
	// Metadata has the values that a conversation must have, by name: strings as
	// they are, other values as compact JSON (42, true, null).
	Metadata map[string]string
	// Text must be in the key or the title; case does not matter.
	Text string

	// After is the last conversation of the previous page; nil begins with the
	// newest.
	After *Cursor
	// Limit is how many to return. It is clamped to 1 to MaxPage; 0 means DefaultPage.
	Limit int
}

// The sizes of a page of conversations.
const (
	DefaultPage = 10
	MaxPage     = 200
)

// Generation is one stretch of a conversation, from one /new to the next.
type Generation struct {
	ID       string    `json:"id"` // YYYYMMDD_NNN, UTC; NNN has three digits or more
	FirstSeq int64     `json:"first_seq"`
	LastSeq  int64     `json:"last_seq"` // FirstSeq-1 while it is empty
	Began    time.Time `json:"began"`
}

// Search is a search over messages.
type Search struct {
	// Query is text as a person typed it. There is no query language.
	Query string
	// Key is the conversation to look in; the zero key means all of them.
	Key channels.Key
	// From and To bound Message.At; To is exclusive. A zero time is no bound.
	From, To time.Time
	// After is the last message of the previous page; nil begins with the best.
	After *FoundCursor
	// Limit is how many messages to return.
	Limit int
}

// Found is one result of a search.
type Found struct {
	Key     channels.Key `json:"key"`
	Message Message      `json:"message"`
	// Words counts the different query words in the message.
	Words int `json:"words"`
}

// DayCount counts the messages of one day, UTC.
type DayCount struct {
	Day           string `json:"day"` // 2026-11-21
	Conversations int    `json:"conversations"`
	Messages      int    `json:"messages"`
	Usage         Usage  `json:"usage"`
}

// Catalog finds conversations and keeps their settings.
type Catalog interface {
	// Find returns conversations, the most recently updated first, ties by key.
	Find(ctx context.Context, q Query) ([]Conversation, error)
	// Conversation returns one. Errors: ErrNotFound.
	Conversation(ctx context.Context, k channels.Key) (Conversation, error)
	// Configure calls change with the conversation's settings and stores the
	// result, in one step. If change returns an error, nothing is stored. change must
	// be quick, must not call a store, and may be called twice. Configure creates a
	// missing conversation. It does not count as an update of the conversation.
	Configure(ctx context.Context, k channels.Key, change func(*Settings) error) error
	// Generations lists those of k, oldest first. Errors: ErrNotFound.
	Generations(ctx context.Context, k channels.Key) ([]Generation, error)
	// SearchAll finds messages by words in their content: those with the most words
	// of the query first, ties by time, the latest first. It skips results of
	// HistoryTool. If the different words of a message exceed one mebibyte together,
	// only the first mebibyte is searched.
	SearchAll(ctx context.Context, s Search) ([]Found, error)
	// Days counts messages by day, oldest first, and omits days without any. from
	// and to (exclusive) are truncated to UTC days.
	Days(ctx context.Context, from, to time.Time) ([]DayCount, error)
	// Top returns the conversations that have used the most tokens (input and
	// output) since they began, most first.
	Top(ctx context.Context, limit int) ([]Conversation, error)
}

// Erasure names what to erase for good.
type Erasure struct {
	// Keys lose everything: transcript, summaries, settings, inbox, outbox,
	// journals, index. A claim of one of them is fenced.
	Keys []channels.Key
	// Scopes of Facts lose all their facts.
	Scopes []string
	// Senders are people (Message.Sender, Person.IDs). In conversations outside Keys,
	// their messages become "[erased]", without name, sender, attachments and extra.
	// Summaries that cover such a message are removed, because they may repeat it. The
	// people's pairings are removed, too. A key left with nothing (no message, not even
	// an erased one, no delivery, title or setting) is deleted. A quarantined message is
	// removed if it contains an id of Senders or Keys that has at least five characters.
	Senders []Sender
	// Files are attachments of Senders. The wrapper that keeps files deletes them; a
	// store ignores them.
	Files []string
}

// Sender is a person on a channel, as in a Pairing.
type Sender struct {
	Channel string
	ID      string
}

// Erased counts what an [Erasure] removed.
type Erased struct {
	Conversations int `json:"conversations"`
	Messages      int `json:"messages"`
	Queued        int `json:"queued"` // inbox and outbox rows, done ones included
	Facts         int `json:"facts"`
	Summaries     int `json:"summaries"`
	Pairings      int `json:"pairings"`
	// Noted counts entries in the channels' own files; a store leaves it 0.
	Noted int `json:"noted"`
	// Left has a sentence for each file outside the store that may still hold erased
	// data: its name and the remedy.
	Left []string `json:"left,omitempty"`
	// Files are the attachments of erased messages; the caller deletes them.
	Files []string `json:"files,omitempty"`
}

// Empty reports whether the erasure removed nothing.
func (e Erased) Empty() bool {
	return e.Conversations+e.Messages+e.Queued+e.Facts+e.Summaries+e.Pairings+e.Noted+len(e.Files) == 0
}

// Lifetime deletes conversations or joins two.
type Lifetime interface {
	// Expire deletes, as Archive.Delete does, at most limit conversations that were
	// last updated before the given time, oldest first, and returns their keys. It
	// keeps a conversation with a waiting message, an unfinished delivery or a live
	// claim. If it finds fewer than limit, it also deletes the old, finished rows of
	// keys without a conversation, limit keys a step, and does not return those keys.
	// So a call that returns fewer than limit keys has left nothing to expire. Keys
	// returned with an error are deleted, too.
	//
	// An update before 2020 comes from a clock that had not been set, or from another
	// program, so its age is unknown. If before is later than 2020, Expire treats such
	// a conversation as updated now.
	Expire(ctx context.Context, before time.Time, limit int) ([]channels.Key, error)
	// Erase erases in one step. With a local store it returns when the bytes are
	// gone from the store's files, free pages and logs included. Deduplication ids of
	// erased messages are kept as hashes, because a network may deliver them again. If
	// Erase returns counts with an error, the rows are gone, but traces may be left in
	// the store's files. Then call it again, and delete Erased.Files: a second call
	// cannot name them.
	Erase(ctx context.Context, e Erasure) (Erased, error)
	// Join puts everything of from before everything of to, with new seqs, as one
	// generation: that of to. Waiting messages and unsent deliveries move too, in
	// order. The summary of from is kept if to has none. A summary of to is dropped,
	// because it does not cover the messages that are now before it. Running turns of
	// both are fenced and run again. If from is empty, Join does nothing.
	Join(ctx context.Context, from, to channels.Key) error
}
