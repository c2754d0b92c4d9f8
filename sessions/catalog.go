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
	// Metadata asks for these values, by name: strings as they are, everything
	// else as JSON in its shortest form (42, true, null).
	Metadata map[string]string
	// Text is looked for in keys and titles, without regard to case.
	Text          string
	UpdatedAfter  time.Time
	UpdatedBefore time.Time

	// After goes on behind the last conversation of the page before; nil begins
	// with the newest.
	After *Cursor
	// Limit is how many to return, 1 to MaxPage: what is outside counts as the
	// nearest of the two, and 0 is DefaultPage.
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

// Search is what to look for in what was said.
type Search struct {
	// Query is what a person typed, no query language.
	Query string
	// Key is the conversation to look in; the zero key means all of them.
	Key channels.Key
	// From and To bound when it was said, To exclusive. A zero time does not
	// bound.
	From, To time.Time
	// After goes on behind the last message of the page before; nil begins with
	// the best.
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

// DayCount is what was said on one day, UTC.
type DayCount struct {
	Day           string `json:"day"` // 2026-11-21
	Conversations int    `json:"conversations"`
	Messages      int    `json:"messages"`
	Usage         Usage  `json:"usage"`
}

// Catalog finds conversations and keeps what was chosen for them.
type Catalog interface {
	// Find returns conversations, most recently updated first; those that were
	// updated at one nanosecond by the text of their keys.
	Find(ctx context.Context, q Query) ([]Conversation, error)
	// Conversation returns one. Errors: ErrNotFound.
	Conversation(ctx context.Context, k channels.Key) (Conversation, error)
	// Configure calls change with the conversation's settings and stores what
	// it made of them, in one step; change must be quick and call no store. A
	// conversation that does not exist yet is made. It does not count as an
	// update of the conversation.
	Configure(ctx context.Context, k channels.Key, change func(*Settings)) error
	// Generations lists those of k, oldest first. Errors: ErrNotFound.
	Generations(ctx context.Context, k channels.Key) ([]Generation, error)
	// SearchAll finds messages by words in their content: those with the most
	// words of the query first and, between equals, the later first. What
	// HistoryTool found is not found again. Of one message all is searched, as
	// long as its different words have no more than a mebibyte together.
	SearchAll(ctx context.Context, s Search) ([]Found, error)
	// Days counts by day, oldest first, leaving out days without a message;
	// from and to (exclusive) are cut to whole UTC days.
	Days(ctx context.Context, from, to time.Time) ([]DayCount, error)
	// Top returns the conversations that took the most tokens (input and
	// output) over their whole life, most first.
	Top(ctx context.Context, limit int) ([]Conversation, error)
}

// Erasure names what is to be forgotten for good.
type Erasure struct {
	// Keys lose everything: transcript, summaries, settings, inbox, outbox,
	// journals, things found by a search. What is being worked on is fenced.
	Keys []channels.Key
	// Scopes of Facts lose all their facts.
	Scopes []string
	// Senders are people (Message.Sender, Person.IDs, "channel" and id as in
	// a Pairing) whose messages in conversations beyond Keys are replaced by
	// "[erased]", without name, sender, attachments and extra, and whose
	// pairings are removed. A conversation that held nothing else, neither in its
	// queues nor a title or settings, goes with its name. What was set aside is removed if it names one of
	// them or of Keys by an id of five characters or more. Summaries that cover such a message are removed:
	// they may tell what it said.
	Senders []Sender
	// Files are the attachments of Senders, as far as the caller knows them. They
	// are removed by the wrapper that keeps files; a store ignores them.
	Files []string
}

// Sender is a person on a channel.
type Sender struct {
	Channel string
	ID      string
}

// Erased counts what an [Erasure] took away.
type Erased struct {
	Conversations int `json:"conversations"`
	Messages      int `json:"messages"`
	Queued        int `json:"queued"` // inbox and outbox rows, done ones included
	Facts         int `json:"facts"`
	Summaries     int `json:"summaries"`
	Pairings      int `json:"pairings"`
	// Noted counts what channels kept in files of their own; a store has 0.
	Noted int `json:"noted"`
	// Left says what may still have words of it beside the store, and what the
	// operator does about that, a sentence each.
	Left []string `json:"left,omitempty"`
	// Files are the attachments that belonged to what was erased; the caller
	// removes them.
	Files []string `json:"files,omitempty"`
}

// Empty reports whether nothing was there to take away.
func (e Erased) Empty() bool {
	return e.Conversations+e.Messages+e.Queued+e.Facts+e.Summaries+e.Pairings+e.Noted+len(e.Files) == 0
}

// Lifetime ends conversations, or makes one of two.
type Lifetime interface {
	// Expire deletes, as Archive.Delete does, at most limit conversations that
	// were last updated before, from the end of Find's list, and returns their keys. One that
	// has a message waiting, a delivery under way or a live claim stays. If it
	// is fewer than limit, all that was asked and answered before under keys
	// that have no conversation goes too, in steps of limit keys, which are not
	// returned: one that returns fewer than limit keys has nothing left to do.
	// The keys that come with an error are deleted all the same.
	//
	// An update before 2020 was noted by a clock that had not been set, or
	// comes from another program. Nobody knows how old it is: if before is later, Expire
	// counts such a conversation as updated now, and deletes it another time.
	Expire(ctx context.Context, before time.Time, limit int) ([]channels.Key, error)
	// Erase forgets in one step and does not return before the bytes are gone
	// from the store's files, free pages and logs included. Deduplication ids
	// of erased messages stay, as hashes: a network may deliver them again.
	// With an error, what Erased counts is forgotten all the same and only
	// traces may be left in the store's files: Erase has to be called again
	// for those, and its caller has to remove Erased.Files, which no second
	// call can name.
	Erase(ctx context.Context, e Erasure) (Erased, error)
	// Join makes one conversation of two: what stands under from goes before
	// what stands under to, with new seqs, in one generation (to's), and from
	// exists no more. Waiting messages and unsent deliveries move too, in
	// order. A summary of from stays the newest if to has none; a summary of
	// to is dropped, because it does not cover what now stands before it, so
	// that the next compaction covers all. Running turns of both are fenced and run again. It
	// does nothing if from holds nothing.
	Join(ctx context.Context, from, to channels.Key) error
}
