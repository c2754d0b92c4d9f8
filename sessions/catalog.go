package sessions

import (
	"context"
	"time"

	"dragoman/channels"
)

// Query chooses conversations. Its zero fields choose all.
type Query struct {
	Channel string // the instance's name, the first part of the key
	Tag     string
	// Metadata must have these values, by name: strings as they are, everything
	// else as JSON in its shortest form (42, true, null).
	Metadata map[string]string
	// Text must be in the key or the title; case does not matter.
	Text string

	// After is the last conversation of the previous page; nil begins with the
	// newest.
	After *Cursor
	// Limit is how many to return, 1 to MaxPage. Numbers outside become the nearest
	// of the two, and 0 is DefaultPage.
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
	// From and To bound when it was said, To exclusive. A zero time does not
	// bound.
	From, To time.Time
	// After is the last message of the previous page; nil begins with the best.
	After *FoundCursor
	// Limit is how many messages to return.
	Limit int
}

// Found is one message that a search found.
type Found struct {
	Key     channels.Key `json:"key"`
	Message Message      `json:"message"`
	// Words is how many different words of the query it has.
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
	// Find returns conversations, the most recently updated first, and equals
	// sorted by key.
	Find(ctx context.Context, q Query) ([]Conversation, error)
	// Conversation returns one. Errors: ErrNotFound.
	Conversation(ctx context.Context, k channels.Key) (Conversation, error)
	// Configure calls change with the conversation's settings and stores the
	// result, in one step. change must be quick and call no store; it may be called
	// twice. Configure creates a missing conversation. It does not count as an update
	// of the conversation.
	Configure(ctx context.Context, k channels.Key, change func(*Settings)) error
	// Generations lists those of k, oldest first. Errors: ErrNotFound.
	Generations(ctx context.Context, k channels.Key) ([]Generation, error)
	// SearchAll finds messages by words in their content: those with the most
	// words of the query first, and of equals the later first. It does not find the
	// results of HistoryTool. Of a message whose different words have more than a
	// mebibyte, it searches the first mebibyte.
	SearchAll(ctx context.Context, s Search) ([]Found, error)
	// Days counts by day, oldest first, without the days that have no message.
	// from and to (exclusive) are cut to whole UTC days.
	Days(ctx context.Context, from, to time.Time) ([]DayCount, error)
	// Top returns the conversations that took the most tokens (input and
	// output) over their whole life, most first.
	Top(ctx context.Context, limit int) ([]Conversation, error)
}

// Erasure names what to erase for good.
type Erasure struct {
	// Keys lose everything: transcript, summaries, settings, inbox, outbox,
	// journals, index. A claim of one of them is fenced.
	Keys []channels.Key
	// Scopes of Facts lose all their facts.
	Scopes []string
	// Senders are people (Message.Sender, Person.IDs, "channel" and id as in a
	// Pairing). Their messages in other conversations than Keys become "[erased]",
	// without name, sender, attachments and extra. Summaries that cover such a message
	// are removed, because they may repeat it, and so are the people's pairings. A
	// conversation that has nothing else (no other message, delivery, title or
	// setting) is deleted with its name. A quarantined message is removed if it has an
	// id of one of them, or of Keys, with five characters or more.
	Senders []Sender
	// Files are the attachments of Senders that the caller knows. The wrapper that
	// keeps files removes them; a store ignores them.
	Files []string
}

// Sender is a person on a channel.
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
	// Noted counts entries in the channels' own files; a store has 0.
	Noted int `json:"noted"`
	// Left names files outside the store that may still have some of it, and the
	// remedy, a sentence each.
	Left []string `json:"left,omitempty"`
	// Files are the attachments of erased messages; the caller removes them.
	Files []string `json:"files,omitempty"`
}

// Empty reports whether nothing was removed.
func (e Erased) Empty() bool {
	return e.Conversations+e.Messages+e.Queued+e.Facts+e.Summaries+e.Pairings+e.Noted+len(e.Files) == 0
}

// Lifetime ends conversations, or joins two.
type Lifetime interface {
	// Expire deletes, as Archive.Delete does, at most limit conversations that
	// were last updated before the given time, oldest first, and returns their keys.
	// It keeps a conversation with a waiting message, a delivery under way or a live
	// claim. If there are fewer than limit, it also deletes the old, finished rows of
	// keys without a conversation, limit keys a step; it does not return those. So
	// after a call that returns fewer than limit keys nothing is left to do. Keys that
	// are returned with an error are deleted, too.
	//
	// An update before 2020 comes from a clock that had not been set, or from another
	// program, and its age is unknown. If before is later than 2020, Expire treats such
	// a conversation as updated now.
	Expire(ctx context.Context, before time.Time, limit int) ([]channels.Key, error)
	// Erase erases in one step. With a local store it returns when the bytes are
	// gone from the store's files, free pages and logs included. Deduplication ids of
	// erased messages stay, as hashes: a network may deliver them again. If it returns
	// an error with a count, the rows are gone, but traces may be left in the store's
	// files: call Erase again for those, and remove Erased.Files, which no second call
	// can name.
	Erase(ctx context.Context, e Erasure) (Erased, error)
	// Join moves everything of from to the key to, before what is there, with new
	// seqs and in one generation, which is that of to. Waiting messages and unsent
	// deliveries move too, in order. A summary of from stays the newest if to has none.
	// A summary of to is dropped, because it does not cover the messages that are now
	// before it. Running turns of both are fenced and run again. Join does nothing if
	// from has nothing.
	Join(ctx context.Context, from, to channels.Key) error
}
