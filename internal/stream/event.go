package stream

import (
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Name says what happened. Hooks, the configuration and the API use it, so the meaning
// of a name never changes.
type Name string

// The events about rows of the store. Each has a cursor.
const (
	// MessageAccepted: a person's message is stored. It has a Seq and an ID.
	MessageAccepted Name = "message_accepted"
	// DeliveryChanged: a delivery was stored, or has another State. It has a Seq and an ID.
	DeliveryChanged Name = "delivery_changed"
	// JobDone: a due time of a job has its outcome. It has a Job, a Due and an Outcome.
	JobDone Name = "job_done"
)

// The events that may be lost.
const (
	TurnBegun Name = "turn_begun" // the model is asked; Turn
	// TurnJoined: a message joined the turn that runs, which answers it, too: Turn, and the
	// message's Seq and ID.
	TurnJoined Name = "turn_joined"
	Text       Name = "text"    // more of an answer: Turn, and in Text what was added
	Thought    Name = "thought" // more of what the model thinks: Turn, and in Text what was added
	// Settled: messages of Key wait no longer. A turn answered them, or a command ended
	// them. It has no id: whoever waits looks into the store.
	Settled   Name = "settled"
	ToolBegun Name = "tool_begun" // a tool runs: Turn, Tool, Call
	ToolEnded Name = "tool_ended" // it has ended: Turn, Tool, Call

	SessionCreate    Name = "session_create"    // the first turn of a conversation or of a new generation
	SessionSave      Name = "session_save"      // a turn was stored
	SessionDelete    Name = "session_delete"    // deleted, expired, erased or joined into another
	SessionChange    Name = "session_change"    // its title or its settings, tags among them, changed: see Why
	MarkChange       Name = "mark_change"       // somebody has read or pinned a conversation: see Person
	ApprovalChange   Name = "approval_change"   // somebody was asked about a call, or answered: ID is the question's, Why its state
	PairingChange    Name = "pairing_change"    // somebody asks to be let in on Channel, was let in, or shut out
	MemoryChange     Name = "memory_change"     // what is remembered in Key, or about its person, is another thing
	JobChange        Name = "job_change"        // a job or a reminder is another one: Job; "" for several
	TokenChange      Name = "token_change"      // a token was made, changed, used or revoked
	PeopleChange     Name = "people_change"     // identities became one person, or several
	SettingsChange   Name = "settings_change"   // the configuration was read again, or refused
	ContextCompacted Name = "context_compacted" // a summary replaced older messages in the context
	TurnDone         Name = "turn_done"         // a turn ended, with any outcome
	FeedbackChange   Name = "feedback_change"   // somebody gave feedback about the answer of Turn, or took it back: see Person
	DeliveryDead     Name = "delivery_dead"     // a delivery was given up
	ChannelFailed    Name = "channel_failed"    // a channel has not worked for a while
	ChannelBack      Name = "channel_back"      // it works again
	ChannelChange    Name = "channel_change"    // Channel has another state
	Measured         Name = "measured"          // the figures of the last hour have one point more
	ModelDown        Name = "model_down"        // the model has not answered for a while
	ModelBack        Name = "model_back"        // it answers again
	DiskFull         Name = "disk_full"         // the store has not been able to write for a while, or the disk is almost full
)

// Reset tells a listener that it missed more than it is sent: it must read the
// conversations again. Only [Listener.Next] makes it.
const Reset Name = "reset"

// Durable reports whether events of this name are about rows of the store.
func (n Name) Durable() bool {
	return n == MessageAccepted || n == DeliveryChanged || n == JobDone
}

// ForHooks lists the events that hooks can ask for: those with names and counts, and
// never with text from a conversation.
func ForHooks() []Name {
	return []Name{
		SessionCreate, SessionSave, SessionDelete, ContextCompacted, TurnDone, DeliveryDead,
		ChannelFailed, ChannelBack, ModelDown, ModelBack, DiskFull,
	}
}

// Event is one event. Fields that do not apply are zero. Its JSON is what hooks get.
type Event struct {
	Event Name      `json:"event"`
	At    time.Time `json:"at"`
	// Key is the conversation; zero if the event is not about one.
	Key channels.Key `json:"key,omitzero"`
	// Person is whose page the event is for, the ID of a person; "": everybody who may see
	// Key.
	Person string `json:"-"`
	// Seq is the number of the row in the queues of Key, and ID is the message's
	// Inbound.ID or the delivery's Delivery.ID.
	Seq int64  `json:"seq,omitempty"`
	ID  string `json:"id,omitempty"`
	// State is the present state of a delivery.
	State sessions.DeliveryState `json:"state,omitempty"`
	// Text is what was added to the answer or the thoughts of Turn. Hooks never get it.
	Text string `json:"-"`
	// Offset is where in the answer Text begins, in UTF-16 code units. Hooks never get it.
	Offset int `json:"-"`
	// Kept says that what hooks get of it was stored with what it is about.
	Kept bool `json:"-"`
	// Tool is the name of a tool, and Call the id of its call.
	Tool string `json:"tool,omitempty"`
	Call string `json:"call,omitempty"`
	// Job and Due name a due time.
	Job string    `json:"job,omitempty"`
	Due time.Time `json:"due,omitzero"`
	// Channel and Model name what failed or works again.
	Channel string `json:"channel,omitempty"`
	Model   string `json:"model,omitempty"`
	// Generation is the id of the conversation's generation, if known.
	Generation string `json:"generation,omitempty"`
	// Turn is the turn's id, Outcome how it ended: answered, failed, postponed,
	// interrupted, cancelled, refused, skipped (a rule ended it without the model).
	// Outcome is also that of a due time.
	Turn    string `json:"turn,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Steps   int    `json:"steps,omitempty"` // model calls
	TookMS  int64  `json:"took_ms,omitempty"`
	// Messages counts the stored messages, or those before a summary.
	Messages int `json:"messages,omitempty"`
	// The tokens that the turn used, as the provider counts them.
	InputTokens  int     `json:"input_tokens,omitempty"`
	OutputTokens int     `json:"output_tokens,omitempty"`
	CachedTokens int     `json:"cached_tokens,omitempty"`
	Cost         float64 `json:"cost,omitempty"`
	// CoversSeq is the last message that a summary covers, Covered how many it covers.
	CoversSeq int64 `json:"covers_seq,omitempty"`
	Covered   int   `json:"covered,omitempty"`
	// OldTokens and NewTokens are how many tokens of a request the conversation used
	// before a summary and uses with it, both estimated and without the system prompt.
	// SavingsPercent is the difference, less than 0 if it grew.
	OldTokens      int `json:"old_tokens,omitempty"`
	NewTokens      int `json:"new_tokens,omitempty"`
	SavingsPercent int `json:"savings_percent,omitempty"`
	// Delivery is the id of a delivery, as networks get it. The verbs of dragoman queue
	// accept it, although the list of dragoman queue shows another id.
	Delivery string `json:"delivery,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	// Why is one word. For session_delete: deleted, expired, erased or joined. For
	// session_change: title or settings. For mark_change: read, unread, pinned or unpinned.
	// For pairing_change: asked, approved or removed. For disk_full: disk (nothing can be
	// stored) or almost_full.
	Why string `json:"why,omitempty"`
}

// bytes is roughly the memory that e takes.
func (e *Event) bytes() int { return 300 + len(e.Text) + len(e.ID) + len(e.Turn) }

// final reports whether the delivery of e changes no more by itself.
func (e *Event) final() bool {
	return e.State == sessions.DeliverySent || e.State == sessions.DeliveryDead || e.State == sessions.DeliveryDropped
}

// sameRow reports whether e and other are about one row.
func (e *Event) sameRow(other *Event) bool {
	return e.Event == other.Event && e.Key == other.Key && e.Seq == other.Seq && e.Job == other.Job && e.Due.Equal(other.Due)
}

// newer reports whether e says more of its row than before did. What was read from the
// store can overtake what is published.
func (e *Event) newer(before *Event) bool {
	if before.State == e.State && before.Attempts == e.Attempts || e.Attempts < before.Attempts {
		return false
	}
	overtaken := before.final() && !e.final() && e.Attempts == before.Attempts && e.State != sessions.DeliveryQueued
	return !overtaken
}
