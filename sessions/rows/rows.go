// Package rows is the kernel below the stores: the rows that a backend stores, and the one
// way to change them.
//
// Policy is in package engine: it reads rows through a [Reader], computes [Changes] as plain
// values, and a [Backend] makes them durable in one commit. A backend knows nothing of turns,
// people or erasure, and the engine knows nothing of SQL and files.
//
// A row belongs to one key. Within a key, inbox and outbox rows share one sequence, and
// messages of the transcript have another; the engine assigns both. Values that a Reader
// returns may be shared: do not change anything that they point to.
package rows

import (
	"iter"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Head is the state of a key without its rows.
type Head struct {
	Key channels.Key
	// Seq is the last seq of inbox and outbox, MessageSeq that of the transcript. They
	// survive the deletion of a conversation.
	Seq, MessageSeq int64
	// Waiting counts the waiting inbox rows. Claim is the epoch of the key's live claim, 0
	// if there is none. Both are set only within an update, and no update changes Claim.
	Waiting int
	Claim   int64
	// Conversation is nil if there is no transcript. It becomes nil only with Chat.Cleared.
	Conversation *Conversation
}

// Conversation is the head of a transcript. The file store writes it as JSON.
type Conversation struct {
	// Generation is the current one, "" before the first message. Its messages have seqs
	// above From.
	Generation string `json:"-"`
	From       int64  `json:"from,omitempty"`
	// Covers is the last seq that the newest summary of the generation covers; 0 if there
	// is none.
	Covers   int64             `json:"-"`
	Title    string            `json:"title,omitempty"`
	Created  time.Time         `json:"created"`
	Updated  time.Time         `json:"updated"`
	Messages int               `json:"message_count"` // over all generations
	Usage    sessions.Usage    `json:"usage,omitzero"`
	Settings sessions.Settings `json:"settings,omitzero"`
	// Erasures counts how often messages of it were erased or replaced. A summary that was
	// begun before the last time may repeat them. If it is 0, none was replaced.
	Erasures int `json:"erasures,omitempty"`
	// Owners are those who wrote in it, by their first messages. nil: nobody knows yet, as
	// in a conversation of a former version; empty: nobody did.
	Owners []sessions.Owner `json:"owners,omitzero"`
}

// In is one accepted message. Its Steps are nil: Reader.Journal has them. A backend need not
// keep Inbound.Reaction.
type In = sessions.InboxRecord

// Out is one delivery. If Delivery.ID is empty, the backend stores the row under a new one,
// and may set it here too.
type Out struct {
	// Fresh, in a change, marks a new row. The text of other rows does not change.
	Fresh bool
	sessions.OutboxRecord
}

// Step is one step of a turn's journal.
type Step struct {
	Turn string
	sessions.Step
}

// Changes are the changes of one step, as values. They are applied in the order of the
// fields, all or none. In the whole store no two generations, deliveries or facts have one
// ID, no two pairings one code, and no two inbound messages one channel and ID.
type Changes struct {
	// Chats has each key once.
	Chats []*Chat
	// Removed are facts, pairings, quarantined messages, notes, sums and occurrences to delete,
	// by their names. No inbox row names a deleted occurrence. A fact with ID 0 stands for all facts of its scope.
	Removed []Record
	// Records replace those with the same name: facts, pairings, jobs, occurrences,
	// quarantined messages and notes. A Store sets the counters in its Days.
	Records []Record
	// Add are added to their sums, after Removed. Additions commute: a backend neither
	// reads nor locks a sum for them, so that updates that only add to one sum do not wait
	// for each other. A sum of zero is removed.
	Add []sessions.Count
	// Marks are stored in addition to those of deleted inbox rows: see rules.Marks.
	Marks []string
	// Name, if not nil, is the new name of the store: see sessions.StoreRecord.
	Name *string
	// Fenced are the keys whose claims end.
	Fenced []channels.Key
}

// Empty reports whether nothing changes.
func (c *Changes) Empty() bool {
	return len(c.Chats)+len(c.Records)+len(c.Removed)+len(c.Marks)+len(c.Fenced)+len(c.Add) == 0 && c.Name == nil
}

// Chat is the change of one key. Zero fields change nothing.
type Chat struct {
	// Head is the head after the change.
	Head
	// Gone deletes the key and everything that belongs to it. The rest of the change is
	// ignored.
	Gone bool
	// Moves add the rows of other keys, or renumber those of this one. They are applied
	// in order, before all that follows.
	Moves []Move
	// Reset deletes generations and summaries. Cleared deletes messages as well.
	Reset, Cleared bool
	// DropFinished deletes the finished rows of the queues: inbox rows that are not waiting, and
	// deliveries that will not be sent any more.
	DropFinished bool
	// Drop are seqs of inbox rows to delete.
	Drop []int64
	// Forget are the summaries to delete, by the last seq that each covers.
	Forget []int64
	// Ended are turns whose journals are deleted.
	Ended []string

	In  []*InPut
	Out []*Out // put by Seq
	// Large, if not nil, yields messages to add before Messages, in order. They are too many
	// for memory and come in parts that fit. It may be called more than once, but not after
	// the update.
	Large iter.Seq2[[]sessions.Message, error]
	// Messages are added. Rewritten replace those with the same seqs.
	Messages, Rewritten []sessions.Message
	Begun               []sessions.Generation // added; LastSeq is not set
	Summaries           []sessions.Summary    // added to the current generation
	Steps               []Step                // added
}

// InPut is an inbox row to be put by its Seq.
type InPut struct {
	In
	// Fresh marks a new row, or one whose Inbound changes, but for its ID, MessageID and
	// Edits. The Inbound of other rows does not change, and may be empty here. Source,
	// Accepted and Job of a stored row do not change. Job names an Occurrence of the store
	// or of these changes.
	Fresh bool
}

// Move adds numbers to the seqs of all rows of From and gives them to the key of the
// change. Journals move too, and replace those of turns with the same names. The
// generations and summaries of another key are deleted.
type Move struct {
	From            channels.Key
	Queues, Message int64
}

// Record is anything but a key, a row of a queue or a message. One of its pointers
// is set.
type Record struct {
	Store       *Store
	Generation  *Generation // changed by Chat
	Summary     *Summary    // of the current generation; changed by Chat
	Mark        *string     // the hash of a deleted message: see rules.Marks
	Quarantined *sessions.QuarantineRecord
	// Kept, in an example, leaves out dropped quarantined messages.
	Kept       bool
	Fact       *sessions.FactRecord
	Pairing    *sessions.Pairing
	Job        *sessions.JobRecord
	Occurrence *sessions.Occurrence
	Note       *sessions.Note
	Count      *sessions.Count // a sum; changed by Changes.Add and Removed
}

// Store is about the store as a whole.
type Store struct {
	Name string // a new store has a random one: see sessions.StoreRecord
	// Days is the number of generations that began, by day. A store that sets numbers aside
	// counts those, too, and may show a step that asks for one day its own next number.
	Days map[string]int64
	// LastFact is the highest ID that a fact ever had. The backend keeps it.
	LastFact int64
}

// Generation is one of Key. LastSeq is not set.
type Generation struct {
	Key channels.Key
	sessions.Generation
}

// Summary is one of Key.
type Summary struct {
	Key channels.Key
	sessions.Summary
}

// Added yields Large and then Messages.
func (c *Chat) Added() iter.Seq2[[]sessions.Message, error] {
	return func(yield func([]sessions.Message, error) bool) {
		if c.Large != nil {
			for list, err := range c.Large {
				if !yield(list, err) {
					return
				}
			}
		}
		yield(c.Messages, nil)
	}
}
