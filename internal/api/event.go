package api

import (
	"time"

	"dragoman/channels"
	"dragoman/internal/stream"
)

// EventType is a name that [Event.Event] can have.
type EventType struct {
	Name string
	// Durable: it has an id, and none is skipped for a caller that comes back with the id
	// of the last event that it has handled.
	Durable bool
	// Doc says what has happened.
	Doc string

	streamed bool // it comes from internal/stream, so that callers can ask for it
}

// eventTypes are the names of events, those that everybody gets last.
var eventTypes = []EventType{
	durable(stream.MessageAccepted, "A person's message is stored: `seq` and `id` are its own."),
	durable(stream.DeliveryChanged, "An answer or a notice is `queued`, `sending`, `sent`, `unknown` (sent or not), `dead` or `dropped`."),
	durable(stream.JobDone, "A due time of a job has its `outcome`."),
	passing(stream.TurnBegun, "The model is asked."),
	passing(stream.TurnJoined, "A message joined the running `turn`, which answers it, too: `seq` and `id` are the message's."),
	passing(stream.Text, "More of an answer: `text` goes to its place `offset`. With `why` \"anew\" it replaces what came before."),
	passing(stream.Thought, "More of what the model thinks, in `text`."),
	passing(stream.ToolBegun, "A tool runs."),
	passing(stream.ToolEnded, "A tool has ended."),
	passing(stream.TurnDone, "A turn has ended, with any `outcome`, and with the tokens that it used."),
	passing(stream.Settled, "Messages of the conversation wait no longer."),
	passing(stream.SessionCreate, "The first turn of a conversation or of a new generation."),
	passing(stream.SessionSave, "A turn was stored."),
	passing(stream.SessionDelete, "The conversation was deleted, has expired, was erased or joined into another: see `why`."),
	passing(stream.SessionChange, "The title of a conversation, or its settings, tags among them, changed: `why` is `title` or `settings`."),
	passing(stream.MarkChange, "You have read or pinned a conversation, perhaps on another page: `why` is `read`, `unread`, `pinned` or `unpinned`."),
	passing(stream.FeedbackChange, "You gave feedback about the answer of a `turn`, perhaps on another page: `why` is `up`, `down` or `removed`."),
	passing(stream.ApprovalChange, "Somebody is asked whether a tool may run, or that was decided: `id` is the approval's, and `why` its state, `shown` or `revoked`."),
	passing(stream.MemoryChange, "A fact of a conversation, or of the person of a private one, was remembered, changed or forgotten."),
	passing(stream.JobChange, "A `job`, or a reminder of yours, was made, changed, paused or cancelled. Without `job`: several were."),
	passing(stream.ContextCompacted, "A summary replaced older messages in what the model sees."),
	passing(stream.DeliveryDead, "A delivery was given up."),
	passing(stream.PairingChange, "Somebody on a `channel` asks to be let in, was let in, or shut out: `why` is `asked`, `approved` or `removed`. Needs the scope operate."),
	passing(stream.PeopleChange, "Identities became one person, or several. Needs the scope operate."),
	passing(stream.TokenChange, "A token was made, changed, used or revoked. Needs the scope admin, as the following one."),
	passing(stream.SettingsChange, "The configuration was read again: it is in force, or refused."),
	passing(stream.ChannelFailed, "A channel has not worked for a while. Needs the scope read, as the following ones."),
	passing(stream.ChannelBack, "It works again."),
	passing(stream.ChannelChange, "A `channel` has another state. It is noticed within 15 seconds."),
	passing(stream.Measured, "The figures of `GET /health` have one point more: every 15 seconds."),
	passing(stream.ModelDown, "The model has not answered for a while."),
	passing(stream.ModelBack, "It answers again."),
	passing(stream.DiskFull, "Nothing can be stored, or the disk is almost full."),
	{Name: eventHello, Doc: "The stream has begun. With an `id`, if it began now."},
	{Name: string(stream.Reset), Durable: true, Doc: "You missed too much: read the conversations again. Nothing older follows."},
	{Name: eventEnded, Doc: "The last event. `why` is `slow` (you read too slowly), `stopping`, `failed` (come back with the last `id`), or `token` (it was revoked or has expired: do not come back)."},
}

// The names that only streams of the API have.
const (
	eventHello = "hello"
	eventEnded = "ended"
)

func durable(name stream.Name, doc string) EventType {
	return EventType{Name: string(name), Durable: true, Doc: doc, streamed: true}
}

func passing(name stream.Name, doc string) EventType {
	return EventType{Name: string(name), Doc: doc, streamed: true}
}

// EventTypes lists the names of events in the order of the documentation.
func EventTypes() []EventType { return append([]EventType(nil), eventTypes...) }

// Event is one event of a stream. What does not apply is left out.
type Event struct {
	Event string `json:"event"` // see [EventTypes]
	// At is when it happened. It is left out of a change that the caller missed, if only
	// the state after it is known.
	At time.Time `json:"at,omitzero"`
	// Key is the conversation that it is about.
	Key channels.Key `json:"key,omitzero"`
	// Seq is the number of the message or of the delivery among those of Key, and ID its
	// own id.
	Seq int64  `json:"seq,omitempty"`
	ID  string `json:"id,omitempty"`
	// State is the present one of a delivery.
	State string `json:"state,omitempty"`
	// Text is what came to the answer or the thoughts of Turn.
	Text string `json:"text,omitempty"`
	// Offset is where in the answer Text begins, in UTF-16 code units, as JavaScript counts.
	// So whoever has read [Running.Text] knows what of an event is new.
	Offset int `json:"offset,omitempty"`
	// Tool is the name of a tool, and Call the id of its call.
	Tool string `json:"tool,omitempty"`
	Call string `json:"call,omitempty"`
	// Job and Due name a due time.
	Job string    `json:"job,omitempty"`
	Due time.Time `json:"due,omitzero"`
	// Channel and Model name what failed or works again.
	Channel    string `json:"channel,omitempty"`
	Model      string `json:"model,omitempty"`
	Generation string `json:"generation,omitempty"`
	Turn       string `json:"turn,omitempty"`
	// Outcome is that of a turn: answered, failed, postponed, interrupted, cancelled,
	// refused or skipped; or that of a due time.
	Outcome string `json:"outcome,omitempty"`
	Steps   int    `json:"steps,omitempty"` // model calls
	TookMS  int64  `json:"took_ms,omitempty"`
	// Messages counts the stored messages, or those before a summary.
	Messages     int     `json:"messages,omitempty"`
	InputTokens  int     `json:"input_tokens,omitempty"`
	OutputTokens int     `json:"output_tokens,omitempty"`
	CachedTokens int     `json:"cached_tokens,omitempty"`
	Cost         float64 `json:"cost,omitempty"`
	// CoversSeq is the last message that a summary covers, Covered how many it covers.
	CoversSeq int64 `json:"covers_seq,omitempty"`
	Covered   int   `json:"covered,omitempty"`
	// OldTokens and NewTokens are estimates for the conversation before and with a summary.
	OldTokens      int `json:"old_tokens,omitempty"`
	NewTokens      int `json:"new_tokens,omitempty"`
	SavingsPercent int `json:"savings_percent,omitempty"`
	// Delivery is the id of a delivery, as networks get it.
	Delivery string `json:"delivery,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	Why      string `json:"why,omitempty"` // one word
}

// eventOf is e as it goes over the wire.
func eventOf(e *stream.Event) *Event {
	return &Event{
		Event: string(e.Event), At: e.At, Key: e.Key, Seq: e.Seq, ID: e.ID, State: string(e.State), Text: e.Text, Offset: e.Offset, Tool: e.Tool,
		Call: e.Call, Job: e.Job, Due: e.Due, Channel: e.Channel, Model: e.Model, Generation: e.Generation, Turn: e.Turn,
		Outcome: e.Outcome, Steps: e.Steps, TookMS: e.TookMS, Messages: e.Messages, InputTokens: e.InputTokens,
		OutputTokens: e.OutputTokens, CachedTokens: e.CachedTokens, Cost: e.Cost, CoversSeq: e.CoversSeq, Covered: e.Covered,
		OldTokens: e.OldTokens, NewTokens: e.NewTokens, SavingsPercent: e.SavingsPercent, Delivery: e.Delivery,
		Attempts: e.Attempts, Why: e.Why,
	}
}
