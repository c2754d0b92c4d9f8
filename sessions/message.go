package sessions

import (
	"encoding/json"
	"math"
	"time"

	"dragoman/channels"
)

// Role says who speaks in a [Message].
type Role string

// The roles of a transcript. System prompts are not part of it.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// ToolCall is one call that the model asked for.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments are as the model wrote them: usually, but not always, JSON.
	Arguments string `json:"arguments"`
}

// Usage is the tokens of a model call, as its provider counted them.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Cached int `json:"cached,omitempty"` // part of Input that came from its cache
	// Cost is in the currency of the configured prices. Without prices it is the
	// provider's figure, or 0.
	Cost float64 `json:"cost,omitempty"`
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.Cached += v.Cached
	u.Cost = RoundCost(u.Cost + v.Cost)
}

// RoundCost rounds to twelve decimal places, which removes the errors of binary
// fractions: 0.1+0.2 is 0.3.
func RoundCost(cost float64) float64 {
	const digits = 1e12
	if math.Abs(cost) >= 1<<53/digits {
		return cost // it has no twelfth decimal place
	}
	return math.Round(cost*digits) / digits
}

// Message is one entry of a transcript.
type Message struct {
	// Seq orders the messages of one conversation. The store sets it.
	Seq     int64  `json:"seq"`
	Role    Role   `json:"role"`
	Content string `json:"content"`
	// Kind is "" for most messages.
	Kind MessageKind `json:"kind,omitempty"`
	// ForModel are the parts of Content that only the model reads, in their order, such as
	// lines about files, or in a group the sender's name: see [Message.Said].
	ForModel []Mark `json:"for_model,omitempty"`
	// Name is the sender's display name (user) or the tool's name (tool).
	Name string `json:"name,omitempty"`
	// Sender is the immutable id of the person who wrote a user message.
	Sender     string     `json:"sender,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	// At is for display only; Seq is the order.
	At    time.Time `json:"at"`
	Turn  string    `json:"turn,omitempty"`
	Model string    `json:"model,omitempty"`
	Usage *Usage    `json:"usage,omitempty"`
	// Origins are whose words Content is, beside the speaker's: for a user message, those
	// of others in it; for the result of a tool, all of them. Nil: a user message is the
	// sender's own word, and of a result the tool's name has to tell. See [Taint].
	Origins []Origin `json:"origins,omitempty"`
	// Via is through what the words of a user message came.
	Via channels.Via `json:"via,omitempty"`
	// Synthetic marks a message that neither a person nor a model wrote, such as a
	// note that an answer was stopped or a message was edited.
	Synthetic bool `json:"synthetic,omitempty"`
	// Summary marks an imported message that summarises older ones. Our own
	// summaries are not messages: see [Summary].
	Summary bool `json:"summary,omitempty"`
	// Replaces, if not 0, marks a note that its sender took back what the Replaces
	// messages right before it say: see [ReplacedNote]. It is a distance and not a seq,
	// because seqs change when two conversations are joined.
	Replaces int64 `json:"replaces,omitempty"`
	// Failed marks the result of a tool call that failed and had no effect. A call
	// that may have happened has not failed.
	Failed bool `json:"failed,omitempty"`
	// Attachments are the files that came with the message, at most
	// channels.MaxAttachments. Those of a tool's result or an answer were sent to the person.
	Attachments []channels.Attachment `json:"attachments,omitempty"`
	// Attached is data that the model's provider sent with the message and wants
	// back, or nil: see [Attached].
	Attached *Attached `json:"attached,omitempty"`
	// Extra holds the fields of a message that Dragoman does not know, by name. They
	// come from an import or another program, and exports and documents put them back.
	// Under the name of one of our fields, it holds the imported value if that field
	// could not hold all of it. Models never see it.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Provenance says which model on which server made something.
type Provenance struct {
	API   string `json:"api"`   // chat, responses or messages
	Host  string `json:"host"`  // of the base URL, with its port if that is written
	Model string `json:"model"` // as the server calls it
}

// Attached is data that a provider sent with a message: reasoning items, thoughts,
// signatures of thoughts or calls. Only that provider gets it back, unchanged and in
// the same order. People do not see it, and searches skip it. It is erased with its
// message.
type Attached struct {
	By   Provenance      `json:"by"`
	Data json.RawMessage `json:"data"`
}

// AttachedBy returns what p attached to m, or nil.
func (m *Message) AttachedBy(p Provenance) json.RawMessage {
	if m.Attached == nil || m.Attached.By != p {
		return nil
	}
	return m.Attached.Data
}

// Summary replaces, for the model, the messages of one generation up to CoversSeq.
type Summary struct {
	Text       string    `json:"text"`
	CoversSeq  int64     `json:"covers_seq"`
	Generation string    `json:"generation"`
	Model      string    `json:"model,omitempty"`
	At         time.Time `json:"at"`
	// Fields is the structured form of Text, a JSON object, if the summary format
	// has one.
	Fields json.RawMessage `json:"fields,omitempty"`
	// Origins are those of all that it summarises, at least OriginModel. Nil: nobody knows
	// them, because a former version wrote it.
	Origins []Origin `json:"origins,omitempty"`
	// Erasures is History.Erasures of the history that was summarised. If messages
	// were erased or replaced since then, the summary may repeat them, and the store
	// refuses it.
	// It is not stored.
	Erasures int `json:"-"`
	// Used is what its writing used. It is not stored.
	Used Usage `json:"-"`
}

// FieldsName is the name in [Settings.Metadata] of an object with the fields of a
// conversation's document that Dragoman does not know. They come from an import or
// another program, and exports and documents put them back. An erasure of anybody's
// messages in the conversation erases them, too.
const FieldsName = "imported_fields"

// Settings are a person's or the operator's choices for one conversation. They
// survive /new.
type Settings struct {
	Model  string `json:"model,omitempty"`  // instead of the configured one
	System string `json:"system,omitempty"` // instead of the configured prompt
	// Agent is the persona that answers; "": as configured.
	Agent string `json:"agent,omitempty"`
	// Reasoning is how much the model should think; "": as configured.
	Reasoning string   `json:"reasoning,omitempty"`
	Tags      []string `json:"tags,omitempty"` // sorted, each once
	// Metadata is for programs: JSON values by name, searchable in a [Query].
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// ReasoningLevels are what Settings.Reasoning can be. "auto" leaves it to the server.
var ReasoningLevels = []string{"auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"}

// History is the part of a conversation that a turn needs.
type History struct {
	// Generation is "" while the conversation has no message yet.
	Generation string
	// FirstSeq is the seq of the generation's first message, even before there is
	// one. 0 if unknown.
	FirstSeq int64
	// Summary is the newest one of this generation, or nil.
	Summary *Summary
	// Messages are those after Summary.CoversSeq, oldest first, without those that were
	// replaced. The caller owns them.
	Messages []Message
	// Omitted counts the older messages after the summary that did not fit. Among them
	// may be some that were replaced.
	Omitted int
	// Replaced counts the messages right before the first of Messages that were replaced,
	// and the notes about that.
	Replaced int
	Settings Settings
	// Erasures counts how often messages of the conversation were erased or replaced.
	Erasures int
}

// DropFirst removes the first n of Messages, and counts them as omitted.
func (h *History) DropFirst(n int) {
	if n <= 0 {
		return
	}
	if n < len(h.Messages) && h.Messages[0].Seq > 0 && h.Messages[n].Seq > 0 {
		between := int(h.Messages[n].Seq - h.Messages[0].Seq)
		h.Replaced += between - n // seqs have gaps where messages were replaced, and only there
	}
	h.Messages = h.Messages[n:]
	h.Omitted += n
}

// Replacement says that a note replaced messages: see [Message.Replaces].
type Replacement struct {
	First int64 // the seq of the first replaced message; the last is right before the note
	By    int64 // the seq of the note
}

// ReplacedBy returns the seq of the first note of list that replaced the message with
// that seq, 0 if none did. list is sorted by By.
func ReplacedBy(list []Replacement, seq int64) int64 {
	for _, r := range list {
		if r.First <= seq && seq < r.By {
			return r.By
		}
	}
	return 0
}

// HistoryLimit bounds [Transcript.History], which keeps the newest messages. A zero
// field is no bound.
type HistoryLimit struct {
	Messages int
	Bytes    int // of Content, tool arguments and Attached
}

// Conversation is one conversation in a list.
type Conversation struct {
	Key        channels.Key `json:"key"`
	Generation string       `json:"generation"`
	Title      string       `json:"title,omitempty"`
	Created    time.Time    `json:"created"`
	Updated    time.Time    `json:"updated"`
	Messages   int          `json:"messages"` // over all generations
	Usage      Usage        `json:"usage"`    // over all generations
	Settings   Settings     `json:"settings"`
}
