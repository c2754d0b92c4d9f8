package sessions

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
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
	// Owners, if not nil, are identities of which one wrote in the conversation.
	Owners []string

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
	// Within, if not nil, are the only conversations to look in, each from this seq on.
	Within map[channels.Key]int64
	// After is the last message of the previous page; nil begins with the best.
	After *FoundCursor
	// Limit is how many messages to return.
	Limit int
}

// Found is one result of a search.
type Found struct {
	Key     channels.Key `json:"key"`
	Message Message      `json:"message"`
	// ReplacedBy is the seq of the note that replaced the message, 0 if it still counts.
	ReplacedBy int64 `json:"replaced_by,omitempty"`
	// Words counts the different query words in the message.
	Words int `json:"words"`
	// Marks are where the message has them, at most [MostMarks].
	Marks []Mark `json:"marks,omitempty"`
}

// Mark is a part of a message's content, in bytes.
type Mark struct {
	Start int `json:"start"`
	End   int `json:"end"` // exclusive
}

// MostMarks is how many marks one found message has.
const MostMarks = 100

// DayCount counts the messages of one day, UTC.
type DayCount struct {
	Day           string `json:"day"` // 2026-11-21
	Conversations int    `json:"conversations"`
	Messages      int    `json:"messages"`
	Usage         Usage  `json:"usage"`
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
	// Owners lose all their notes and counts. So do Senders and, under their ChatScope,
	// Keys, which need not be named here.
	Owners []string
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
	Notes         int `json:"notes,omitempty"`
	Counts        int `json:"counts,omitempty"` // sums
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
	return e.Conversations+e.Messages+e.Queued+e.Facts+e.Summaries+e.Pairings+e.Notes+e.Counts+e.Noted+len(e.Files) == 0
}

// Lookup is a search in one conversation.
type Lookup struct {
	// Query is text as a person typed it. There is no query language.
	Query string
	// After and Before bound the seqs, both exclusive; 0 is no bound.
	After, Before int64
	// Oldest sorts messages that match equally well oldest first, not newest first.
	Oldest bool
	// Limit is how many messages are wanted.
	Limit int
}

// Hits are the results of a [Lookup].
type Hits struct {
	// Messages has the best first, ties as Lookup.Oldest says.
	Messages []Message
	// All counts the messages with all words of the query, including those in
	// Messages. Some counts those with only some of the words; the store looks for
	// them only if All is less than the limit. At MostCounted there may be more.
	All, Some int
}

// MostCounted is the most that [Hits] counts.
const MostCounted = 1000

// Writer is a person who wrote in a conversation, as at least one stored message
// names them.
type Writer struct {
	Key channels.Key `json:"key,omitzero"`
	// IDs are the ids that the network gave for one message, in its order, at least
	// one. A transcript keeps only the first.
	IDs  []string `json:"ids"`
	Name string   `json:"name,omitempty"`
	// Private marks the writer of a private message. Transcripts do not have it.
	Private bool `json:"private,omitempty"`
}

// Cursor is the position of a conversation in a list; the next page begins after
// it. A conversation that gets a message between two pages moves to the top of the
// list, and no page shows it twice. The cursor stays valid when its conversation is
// deleted.
type Cursor struct {
	Updated time.Time    `json:"updated"`
	Key     channels.Key `json:"key"`
}

// Position returns the cursor of c.
func (c Conversation) Position() Cursor { return Cursor{c.Updated, c.Key} }

// String encodes p as one word that needs no quotes in a shell or a URL.
func (p Cursor) String() string { return encodeCursor(plainCursor(p)) }

// ParseCursor is the inverse of String.
func ParseCursor(s string) (p Cursor, err error) {
	if decodeCursor(s, (*plainCursor)(&p)) != nil || p.Key.IsZero() {
		return Cursor{}, errors.New("sessions: this is not a cursor of a list of conversations")
	}
	return p, nil
}

// MarshalText is String.
func (p Cursor) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParseCursor.
func (p *Cursor) UnmarshalText(text []byte) (err error) {
	*p, err = ParseCursor(string(text))
	return err
}

// FoundCursor is the position of a message in the results of a [Search]. New and
// deleted messages between two pages neither repeat nor skip others. The next page
// needs the same query.
type FoundCursor struct {
	Words int          `json:"words"`
	At    time.Time    `json:"at"`
	Key   channels.Key `json:"key"`
	Seq   int64        `json:"seq"`
}

// Position returns the cursor of f.
func (f Found) Position() FoundCursor {
	return FoundCursor{f.Words, f.Message.At, f.Key, f.Message.Seq}
}

// Compare is negative if p comes before o: it has more of the words, or is newer.
func (p FoundCursor) Compare(o FoundCursor) int {
	return cmp.Or(cmp.Compare(o.Words, p.Words), o.At.Compare(p.At), cmp.Compare(o.Key.String(), p.Key.String()), cmp.Compare(o.Seq, p.Seq))
}

// String encodes p as one word, like that of a Cursor.
func (p FoundCursor) String() string { return encodeCursor(plainFoundCursor(p)) }

// ParseFoundCursor is the inverse of String.
func ParseFoundCursor(s string) (p FoundCursor, err error) {
	if decodeCursor(s, (*plainFoundCursor)(&p)) != nil || p.Key.IsZero() {
		return FoundCursor{}, errors.New("sessions: this is not a cursor of a search")
	}
	return p, nil
}

// MarshalText is String.
func (p FoundCursor) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParseFoundCursor.
func (p *FoundCursor) UnmarshalText(text []byte) (err error) {
	*p, err = ParseFoundCursor(string(text))
	return err
}

// Cursors without their methods, which would call themselves while encoding.
type (
	plainCursor      Cursor
	plainFoundCursor FoundCursor
)

func encodeCursor(c any) string {
	b, _ := json.Marshal(c) // stored times and keys encode
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeCursor(s string, c any) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, c)
}
