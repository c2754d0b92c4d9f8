package sessions

import (
	"time"

	"dragoman/channels"
)

// Record is one piece of a store's content; exactly one field is set. A
// conversation's record comes before its messages; all others may come in any
// order. As JSON, one a line, records are Dragoman's own format for backups and for
// moving between stores.
type Record struct {
	Store        *StoreRecord        `json:"store,omitempty"`
	Conversation *ConversationRecord `json:"conversation,omitempty"`
	Messages     *MessagesRecord     `json:"messages,omitempty"`
	Inbox        *InboxRecord        `json:"inbox,omitempty"`
	Outbox       *OutboxRecord       `json:"outbox,omitempty"`
	Quarantined  *QuarantineRecord   `json:"aside,omitempty"`
	Fact         *FactRecord         `json:"fact,omitempty"`
	Pairing      *Pairing            `json:"pairing,omitempty"`
	Job          *JobRecord          `json:"job,omitempty"`
	Occurrence   *Occurrence         `json:"occurrence,omitempty"`
	Note         *Note               `json:"note,omitempty"`
	Count        *Count              `json:"count,omitempty"`
}

// StoreRecord is about the store as a whole.
type StoreRecord struct {
	// Name is the part of delivery ids that tells installations apart.
	Name string `json:"name,omitempty"`
	// Days counts the generations begun on each day (20261121).
	Days map[string]int64 `json:"days,omitempty"`
	// Erased are the hashes of the deduplication ids of erased messages, sorted.
	Erased []string `json:"erased,omitempty"`
}

// ConversationRecord is all of one key except its messages and queues.
type ConversationRecord struct {
	Key channels.Key `json:"key"`
	// Seq and MessageSeq are the last ones handed out, for the queues and for
	// the transcript.
	Seq         int64        `json:"seq,omitempty"`
	MessageSeq  int64        `json:"message_seq,omitempty"`
	Title       string       `json:"title,omitempty"`
	Created     time.Time    `json:"created,omitzero"`
	Updated     time.Time    `json:"updated,omitzero"`
	Generations []Generation `json:"generations,omitempty"` // oldest first; none: no transcript
	Summaries   []Summary    `json:"summaries,omitempty"`   // of the newest generation, oldest first
	Settings    Settings     `json:"settings,omitzero"`
	// Owners are those who wrote in it; nil: nobody knows yet.
	Owners []Owner `json:"owners,omitzero"`
}

// MessagesRecord is a stretch of a transcript, in order. Usage is counted from
// the messages.
type MessagesRecord struct {
	Key      channels.Key `json:"key"`
	Messages []Message    `json:"messages"`
}

// InboxRecord is one accepted message, answered or not.
type InboxRecord struct {
	Seq int64 `json:"seq"`
	// Rev grows when an edit replaces the text of a waiting message.
	Rev      int              `json:"rev,omitempty"`
	Inbound  channels.Inbound `json:"inbound"`
	Source   Source           `json:"origin"` // the name of older versions
	State    string           `json:"state"`
	Turn     string           `json:"turn,omitempty"`
	Attempts int              `json:"attempts,omitempty"` // how often it was postponed
	Due      time.Time        `json:"due,omitzero"`
	Accepted time.Time        `json:"accepted"`
	Why      string           `json:"why,omitempty"`
	// Steps is the journal of Turn. Only the first message of the turn has it.
	Steps []Step `json:"steps,omitempty"`
	// Job and JobDue name the occurrence whose message this is.
	Job    string    `json:"job,omitempty"`
	JobDue time.Time `json:"job_due,omitzero"`
}

// OutboxRecord is one delivery, sent or not.
type OutboxRecord struct {
	Delivery
	// Uncertain says that an attempt may have reached the network.
	Uncertain bool   `json:"uncertain,omitempty"`
	MessageID string `json:"message_id,omitempty"`
}

// QuarantineRecord is a quarantined message.
type QuarantineRecord struct {
	Quarantined
	At      time.Time `json:"at"`
	Dropped bool      `json:"dropped,omitempty"`
}

// FactRecord is one fact of a scope.
type FactRecord struct {
	Scope string `json:"scope"`
	Fact
}

// JobRecord is when a job is due next.
type JobRecord struct {
	Job string    `json:"job"`
	Due time.Time `json:"due"`
}

// Restored counts what a restore added to the store.
type Restored struct {
	// Conversations counts keys, each with all that belongs to it.
	Conversations int `json:"conversations"`
	// Others counts records that belong to no conversation and were not in the store.
	Others int `json:"others"`
}
