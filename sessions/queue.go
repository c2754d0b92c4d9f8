package sessions

import (
	"encoding/json"
	"strings"
	"time"

	"dragoman/channels"
)

// Source says what made an inbox entry.
type Source string

// The sources of inbox entries.
const (
	SourceChat      Source = "chat"
	SourceHeartbeat Source = "heartbeat"
	// SourceNotice is an Answered entry without a message: the gateway sends its
	// Replies once for its ID. Feeds show the replies, not the entry.
	SourceNotice Source = "notice"
)

// Control is the effect of a command on its conversation.
type Control string

// The controls. Both fence the running turn: its handler's context ends with cause
// [ErrFenced], and its commit is refused. Both close waiting messages: the store
// adds these to the transcript of the current generation, and no turn answers them.
// All waiting messages are closed, or only those in Entry.Ends and those that a turn
// has bound.
const (
	ControlNone Control = ""
	ControlStop Control = "stop" // /stop
	ControlNew  Control = "new"  // /new: also begins a new generation
)

// Entry is one message on its way into the inbox.
type Entry struct {
	Inbound channels.Inbound
	// FormerID, if not empty, is the ID under which earlier versions accepted the same.
	FormerID string
	Source   Source // "" is SourceChat
	// MaxWaiting is how many messages of the key may wait: when there are that many,
	// Accept refuses the entry with [ErrFull]. 0: no limit. Answered entries are never
	// refused.
	MaxWaiting int
	// Answered entries are stored as done, with the gateway's own Replies, and start
	// no turn.
	Answered bool
	Control  Control // with Answered only
	// Ends, with ControlStop, are the seqs of the messages to close; the others keep
	// waiting. Empty: all are closed.
	Ends []int64
	// Waiting, with a Control and if not nil, are the newest messages of people that wait
	// or are being answered, as Replies tell it. If one of them was answered since, or a
	// newer one came that Control would close, Accept stores nothing and returns
	// [ErrConflict]: look again.
	Waiting []int64
	// IfKnown ignores an edit unless the message that it changes was accepted. Set it
	// if the edit alone would have been refused. Deletions always work like this.
	IfKnown bool
	// ResetBefore, if not zero, begins a new generation before this message if the
	// conversation was last updated before that time and no message waits: "a new
	// conversation every morning".
	ResetBefore time.Time
	// Replaces, if not 0, is the seq in the transcript of an earlier message of the same
	// sender. That message, and all that came after it, stay in the transcript, but the
	// model sees them no longer: this message takes their place, with the files of the
	// first unless it has its own. Accept refuses it with a [*ReplaceError], and never begins a new generation before it.
	Replaces int64
	// Own, with Replaces, are further ids under which the sender may have written the
	// message that is replaced.
	Own []string
	// Quiet, with an Inbound.Album, is how long a turn waits for another part after
	// this one, and Most how long it waits at most after the first part.
	Quiet, Most time.Duration
	// Append is added to the transcript in the same commit, after the messages
	// that Control closes and before the new generation begins.
	Append  []Message
	Replies []Reply
	// Counts are added in the same commit: what a turn used that Control ends.
	Counts []Count
}

// Outcome is what Accept did with an entry.
type Outcome string

// The outcomes of Accept.
const (
	Queued    Outcome = "queued"    // waits for a turn
	Duplicate Outcome = "duplicate" // the channel and ID were accepted before; nothing was written
	// Replaced is an edit of a message whose turn has not begun, or has journaled
	// only previews. The waiting message has the new text now.
	Replaced Outcome = "replaced"
	// Noted is an edit after that, or the deletion of a message whose turn has
	// journaled something. The transcript has a note.
	Noted Outcome = "noted"
	// Withdrawn is the deletion of a waiting message, which no turn will answer now,
	// or a change of a message that was withdrawn before.
	Withdrawn Outcome = "withdrawn"
	Done      Outcome = "done" // an Answered entry
	// Unknown is a change of a message that was erased or whose conversation was
	// deleted, or a deletion (or an edit with IfKnown) of a message that was never
	// accepted. Nothing was written.
	Unknown Outcome = "unknown"
)

// Acceptance is the answer of Accept.
type Acceptance struct {
	Outcome Outcome
	// Seq is the message's number, or that of the waiting message it changed.
	Seq int64
	// Waiting counts the messages of the key that have no answer yet, this one
	// included.
	Waiting int
}

// Label says what a message of ours is, and where it belongs. It never changes. A zero
// field is not known: messages stored by versions before labels lack most of it.
type Label struct {
	Kind channels.Kind `json:"kind,omitempty"`
	// Turn is the id of the turn that wrote it, or that it ends. Empty: no turn.
	Turn string `json:"turn,omitempty"`
	// Job is the scheduled job whose turn it was. A text about several reminders of a person
	// has them all, a line each: see [JobsOf].
	Job string `json:"job,omitempty"`
	// Part counts from 1 to Parts, the messages of one answer.
	Part  int `json:"part,omitempty"`
	Parts int `json:"parts,omitempty"`
	// File, if not empty, is the name of the file that has the text or, with Kept, of the
	// kept file.
	File string        `json:"file,omitempty"`
	Form channels.Form `json:"form,omitempty"`
	// Kept, if not empty, is the file that is sent, a [channels.Attachment.File], and As what
	// people see it as. The text is for networks that do not take it.
	Kept string                  `json:"kept,omitempty"`
	As   channels.AttachmentKind `json:"as,omitempty"`
}

// Attachment is the kept file that a message with the label l sends; false if it sends none.
func (l Label) Attachment() (channels.Attachment, bool) {
	return channels.Attachment{Kind: l.As, Name: l.File, File: l.Kept}, l.Kept != ""
}

// JobsOf are the jobs that the Job of a [Label] names.
func JobsOf(job string) []string {
	return strings.FieldsFunc(job, func(c rune) bool { return c == '\n' })
}

// Reply is one message to deliver.
type Reply struct {
	Label
	Key     channels.Key // zero: the key of the entry or claim
	Text    string       // Markdown, unless Form says otherwise; already split
	ReplyTo string
	Edit    string // see channels.Outbound
	// ID, if not "", becomes the delivery's ID. No delivery may ever have had it.
	ID string
}

// Claim is the right to work on one key. A key has at most one live claim; every
// method that takes a claim returns [ErrFenced] once the claim is not live.
type Claim struct {
	Key   channels.Key
	Epoch int64
}

// Pending is the next task of a claim.
type Pending struct {
	// Turn is the id of a journaled turn that a crash interrupted or that was
	// postponed, or "". If set, Messages are exactly its messages, and Steps is its
	// journal, in order.
	Turn     string
	Messages []InboxRecord
	Steps    []Step
	// More counts due messages beyond Messages.
	More int
}

// StepKind says what a journaled [Step] records.
type StepKind string

// The kinds of steps.
const (
	StepModel     StepKind = "model"      // the model answered with tool calls: Message
	StepToolStart StepKind = "tool_start" // a call is about to run: CallID
	StepToolDone  StepKind = "tool_done"  // its result: CallID, Message
	StepToolAsk   StepKind = "tool_ask"   // it needs an answer of a person, and then runs again: CallID, Asks
	StepSteer     StepKind = "steer"      // messages joined the running turn: Message for each
	StepPreview   StepKind = "preview"    // a preview is shown on the network: MessageID
	StepNote      StepKind = "note"       // a synthetic message for the model: Message
	StepParked    StepKind = "parked"     // it does not go on for now
	StepResumed   StepKind = "resumed"    // and now it does
	// StepCut: a crash has cut a call of the model, of which nobody knows what it used but the
	// estimate in Message. It is counted with the turn, and read by nobody else. CallID names it.
	StepCut StepKind = "cut"
)

// OfModel reports whether the turn cannot begin anew after such a step: the model has read
// its messages, or a tool has run.
func (k StepKind) OfModel() bool {
	return k != StepPreview && k != StepParked && k != StepResumed && k != StepCut
}

// Step is one entry of a turn's journal. A turn's final answer is not
// journaled: the commit of the turn is its record.
type Step struct {
	Kind      StepKind `json:"kind"`
	CallID    string   `json:"call_id,omitempty"`
	Message   *Message `json:"message,omitempty"`
	MessageID string   `json:"message_id,omitempty"`
	// Tool, of a StepToolStart, is the tool that runs. The call may name another one, which
	// reaches it.
	Tool string `json:"tool,omitempty"`
	// Asks, of a StepToolAsk, is what it needs, and where it was. Only package agent reads it.
	Asks json.RawMessage `json:"asks,omitempty"`
	// Within is the id of the call whose task this is a step of; "": it is the turn's own.
	Within string `json:"within,omitempty"`
	// Taint of a StepModel with calls is the taint of the request that it answers.
	Taint []Origin  `json:"taint,omitempty"`
	At    time.Time `json:"at"`
}

// Answered names an inbox message that a turn answers.
type Answered struct {
	Seq int64
	Rev int
}

// Turn is the one commit that ends a turn.
type Turn struct {
	ID string
	// Answers are the messages this turn answered. A Rev that is no longer
	// current refuses the commit with [ErrConflict]: run the turn again.
	Answers []Answered
	// Messages go to the transcript, in order. Without any, the conversation does not
	// change (NoHistory).
	Messages []Message
	Replies  []Reply
	// Occurrence, if not nil, gets its outcome in the same commit.
	Occurrence *Occurrence
	// Authors wrote the messages that it answers: what is known of the senders of Messages.
	// Their From is ignored.
	Authors []Owner
	// Counts are added, and Notes stored, in the same commit. The Notes have names that are
	// new, and count towards no limit of their kind.
	Counts []Count
	Notes  []Note
	// Once, if not nil, is stored in the same commit. If there is a note of that kind, owner
	// and name, the commit is refused with [ErrSaid]: commit the turn again without it, and
	// without what it stands for.
	Once *Note
}

// Parking is why and until when a turn does not go on.
type Parking struct {
	Turn string
	// Answers are the messages that it answers, and is bound to from now on. A Rev that is
	// no longer current refuses the parking with [ErrConflict].
	Answers []Answered
	// Until is when it goes on, unless somebody makes it due before.
	Until time.Time
	// Why is shown to whoever looks what waits.
	Why string
	// Replies are stored with it.
	Replies []Reply
}

// Reminding is one occurrence of a note that has come due, with all that follows from it.
type Reminding struct {
	// Note is the note as the caller has read it. If it has changed since, nothing happens.
	Note Note
	// Next replaces it; nil: it is removed.
	Next *Note
	// Occurrence is what became of it. With a Message its outcome is "fired", until a turn
	// has answered that.
	Occurrence Occurrence
	// Also are others that came due and that Replies tell, too. All of them end, or none.
	Also []CameDue
	// Key is the conversation of Replies, which are delivered, and of Message, which is
	// answered as that of a heartbeat is. Either may be empty.
	Key     channels.Key
	Replies []Reply
	Message *channels.Inbound
	// Append is added to the transcript of Key, as words for Author.
	Append []Message
	Author Owner
}

// CameDue is one occurrence of a note, as in a [Reminding].
type CameDue struct {
	Note       Note
	Next       *Note
	Occurrence Occurrence
}

// DeliveryState is where an outbox row is.
type DeliveryState string

// The states of deliveries.
const (
	DeliveryQueued  DeliveryState = "queued"
	DeliverySending DeliveryState = "sending" // a network call has begun
	DeliveryUnknown DeliveryState = "unknown" // the network may have it: the call had no answer, or a crash cut it off
	DeliverySent    DeliveryState = "sent"
	DeliveryDead    DeliveryState = "dead"    // given up
	DeliveryDropped DeliveryState = "dropped" // by the operator, or by its recipients
)

// Delivery is one outbox row.
type Delivery struct {
	Label
	ID        string        `json:"id"` // unique in this store, the same for all attempts
	Key       channels.Key  `json:"key"`
	Seq       int64         `json:"seq"` // in the key's order, shared with the inbox
	Text      string        `json:"text"`
	ReplyTo   string        `json:"reply_to,omitempty"`
	Edit      string        `json:"edit,omitempty"`
	State     DeliveryState `json:"state"`
	Attempts  int           `json:"attempts,omitempty"` // begun so far
	NotBefore time.Time     `json:"not_before,omitzero"`
	Created   time.Time     `json:"created"`
	Error     string        `json:"error,omitempty"` // of the last attempt
	// Node is the node that sends it now, in state sending, if several share the store.
	// It is not part of a dump.
	Node string `json:"-"`
}

// Lane is the queue of a [QueueItem].
type Lane string

// The lanes.
const (
	LaneIn          Lane = "in"    // messages to answer
	LaneOut         Lane = "out"   // deliveries
	LaneQuarantined Lane = "aside" // messages that could not be read
)

// QueueState is the state of a [QueueItem]: one of these, or a [DeliveryState].
type QueueState string

// The states of messages, and the one of deliveries that is most asked for.
const (
	QueueWaiting     QueueState = "waiting"
	QueuePostponed   QueueState = "postponed" // waiting for another attempt
	QueueParked      QueueState = "parked"    // its turn waits for a time, or for somebody
	QueueDone        QueueState = "done"
	QueueClosed      QueueState = "closed"    // by /stop or /new
	QueueWithdrawn   QueueState = "withdrawn" // by its author, or an admin
	QueueEdit        QueueState = "edit"      // changed another message
	QueueDropped     QueueState = "dropped"   // by the operator
	QueueQuarantined QueueState = "aside"
	QueueDead                   = QueueState(DeliveryDead)
)

// QueueItem is an entry of inbox, outbox or quarantine, for the operator.
type QueueItem struct {
	ID   string // "in/telegram:5/12", "out/telegram:5/13", "aside/irc/ID"
	Lane Lane
	// Key is zero for a quarantined message: nobody knows its chat. Channel is always set.
	Key       channels.Key
	Channel   string
	State     QueueState
	Attempts  int
	At        time.Time
	NotBefore time.Time
	Error     string
	Bytes     int
	Text      string // filled by ShowQueue only
	// Delivery is the Delivery.ID in LaneOut. The queue accepts it as an ID.
	Delivery string
	// Job is the job that wrote it, in LaneOut.
	Job string
}

// Quarantined is a message that an adapter could not read.
type Quarantined struct {
	Channel string `json:"channel"`
	ID      string `json:"id"`
	Raw     []byte `json:"raw"`
	Why     string `json:"why"`
}

// FeedItem is a message from a person or a delivery to them.
type FeedItem struct {
	Label                 // of a delivery
	Seq     int64         `json:"seq"`
	ID      string        `json:"id"`   // Inbound.ID or Delivery.ID
	From    string        `json:"from"` // "person" or "dragoman"
	Name    string        `json:"name,omitempty"`
	Text    string        `json:"text"`
	At      time.Time     `json:"at"`
	State   DeliveryState `json:"state,omitempty"`
	Waiting bool          `json:"waiting,omitempty"` // a person's message without an answer yet
	Again   bool          `json:"again,omitempty"`   // see channels.Inbound
	// Sender is the immutable id of the person who wrote it, and Origins are whose words it
	// has beside theirs. Neither is shown.
	Sender  string   `json:"-"`
	Origins []Origin `json:"-"`
	// Attachments are those of a person's message, as they were accepted, or the file that a
	// delivery sends.
	Attachments []channels.Attachment `json:"attachments,omitempty"`
}

// Ending is the end of a conversation, as lists show it.
type Ending struct {
	// Last is the newest item of its feed; nil: it has none, as an imported conversation.
	Last *FeedItem
	// Waiting counts the messages of people without an answer. Begun: a turn has begun to
	// answer some of them.
	Waiting int
	Begun   bool
	// Dead counts the deliveries that were given up.
	Dead int
}

// Recent is a row of a queue, without its text.
type Recent struct {
	Key channels.Key
	Seq int64
	// ID is the Inbound.ID of a message or the Delivery.ID of a delivery.
	ID string
	// At is when the row was stored.
	At time.Time
	// State is the present state of a delivery; "" for a message.
	State    DeliveryState
	Attempts int // of a delivery
	Label        // of a delivery
}

// Occurrence is one due time of one job, with its outcome.
type Occurrence struct {
	Job     string    `json:"job"`
	Due     time.Time `json:"due"`
	Outcome string    `json:"outcome"` // "fired", "ran", "silent", "failed", "skipped", "missed"
	Why     string    `json:"why,omitempty"`
	At      time.Time `json:"at"` // when the outcome was written
	// Changed is when a run became one that failed, because its text could not be
	// delivered; zero: it did not. At stays when the job ran.
	Changed time.Time `json:"changed,omitzero"`
}

// NotDelivered begins the Why of a failed run that worked, and whose text did not arrive.
const NotDelivered = "its text was not delivered: "

// Pairing is a person whom the operator approved, or who asks for that.
type Pairing struct {
	Channel  string    `json:"channel"`
	PersonID string    `json:"person_id"`
	Name     string    `json:"name,omitempty"`
	Code     string    `json:"code,omitempty"` // while not approved
	Expires  time.Time `json:"expires,omitzero"`
	Approved time.Time `json:"approved,omitzero"`
}

// Stats are counts for health and metrics.
type Stats struct {
	Waiting     int       `json:"waiting"`   // inbox messages without an answer
	Postponed   int       `json:"postponed"` // of Waiting, not due yet
	Unsent      int       `json:"unsent"`    // deliveries that are queued, sending or unknown
	Answers     int       `json:"answers"`   // that Unsent belong to: one on IRC can be a hundred lines
	Unknown     int       `json:"unknown"`   // of Unsent, possibly sent already
	Dead        int       `json:"dead"`
	Quarantined int       `json:"aside"`
	Oldest      time.Time `json:"oldest,omitzero"`      // of Waiting; zero if none
	OldestSend  time.Time `json:"oldest_send,omitzero"` // of Unsent; zero if none
}
