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

// HistoryTool is the name of the tool that searches its own conversation. What
// it found is no part of what is searched: see [Catalog.SearchAll].
const HistoryTool = "search_history"

// AttachmentTool is the name of the tool that reads files which were sent in its
// own conversation. What it and HistoryTool answer is a copy, and goes with what
// anybody said there who is erased.
const AttachmentTool = "read_attachment"

// ToolCall is one call that the model asked for.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is what the model wrote: JSON if all went well.
	Arguments string `json:"arguments"`
}

// Usage is what a provider says that a model call took, in tokens.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Cached int `json:"cached,omitempty"` // part of Input that came from its cache
	// Cost is what that comes to at the configured prices, in their currency.
	// Without them it is what the provider says, or 0.
	Cost float64 `json:"cost,omitempty"`
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.Cached += v.Cached
	u.Cost = RoundCost(u.Cost + v.Cost)
}

// RoundCost takes away what comes of counting in binary: 0.1+0.2 is 0.3. It
// keeps twelve digits after the point.
func RoundCost(cost float64) float64 {
	const digits = 1e12
	if math.Abs(cost) >= 1<<53/digits {
		return cost // it has no such digits
	}
	return math.Round(cost*digits) / digits
}

// Message is one entry of a transcript.
type Message struct {
	// Seq orders the messages of one conversation. The store sets it.
	Seq     int64  `json:"seq"`
	Role    Role   `json:"role"`
	Content string `json:"content"`
	// Name is the sender's display name (user) or the tool's name (tool).
	Name string `json:"name,omitempty"`
	// Sender is the immutable id of the person who wrote a user message.
	Sender     string     `json:"sender,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	// At is for people to read. Order is Seq.
	At    time.Time `json:"at"`
	Turn  string    `json:"turn,omitempty"`
	Model string    `json:"model,omitempty"`
	Usage *Usage    `json:"usage,omitempty"`
	// Synthetic marks what neither a person nor a model wrote: a mark that an
	// answer was stopped, the note about an edited message.
	Synthetic bool `json:"synthetic,omitempty"`
	// Summary marks a message of an imported conversation that stands for
	// older ones. Our own summaries are no messages: see [Summary].
	Summary bool `json:"summary,omitempty"`
	// Failed marks the result of a tool call that did nothing but fail. One of
	// which nobody knows whether it happened has not failed.
	Failed bool `json:"failed,omitempty"`
	// Attachments are the files that came with it, at most
	// channels.MaxAttachments.
	Attachments []channels.Attachment `json:"attachments,omitempty"`
	// Attached is what the model's provider put beside the message and wants
	// back: see [Attached]. Nil: nothing.
	Attached *Attached `json:"attached,omitempty"`
	// Extra holds the fields of a message that Dragoman does not know, by name:
	// an import or another program brought them, and exports and documents have
	// them where they stood. Under the name of a field of ours it holds what an
	// import found there where ours tells less. No model is shown any of it.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Provenance says which model on which server made something.
type Provenance struct {
	API   string `json:"api"`   // chat, responses or messages
	Host  string `json:"host"`  // of the base URL, with its port if that is written
	Model string `json:"model"` // as the server calls it
}

// Attached is what a provider put beside a message: reasoning items, thoughts,
// signatures of thoughts or calls. It goes back to where it came from, value for
// value in the order in which it came, and to nobody else. It is opaque: no
// person is shown it, and no search looks into it. It is erased with its message.
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

// Summary stands for the messages of one generation up to CoversSeq.
type Summary struct {
	Text       string    `json:"text"`
	CoversSeq  int64     `json:"covers_seq"`
	Generation string    `json:"generation"`
	Model      string    `json:"model,omitempty"`
	At         time.Time `json:"at"`
	// Fields is the structured form of Text, a JSON object, where the format
	// of summaries has one.
	Fields json.RawMessage `json:"fields,omitempty"`
	// Erasures is that of the history that it was made of. If messages of the
	// conversation were erased since, it may have their words, and is refused. It
	// is not stored.
	Erasures int `json:"-"`
}

// FieldsName is the name in [Settings.Metadata] of an object with the fields
// of a conversation's document that Dragoman does not know: an import or
// another program brought them. What writes documents puts them where they
// stood. They are erased with what anybody said in the conversation.
const FieldsName = "imported_fields"

// Settings are what a person or the operator chose for one conversation. They
// outlive /new.
type Settings struct {
	Model  string `json:"model,omitempty"`  // instead of the configured one
	System string `json:"system,omitempty"` // instead of the configured prompt
	// Reasoning is how much the model is to think, instead of what is
	// configured; "": as configured.
	Reasoning string   `json:"reasoning,omitempty"`
	Tags      []string `json:"tags,omitempty"` // sorted, each once
	// Metadata is for programs: JSON values by name, searchable in a [Query].
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// History is what a turn starts from.
type History struct {
	// Generation is "" while the conversation has no message yet.
	Generation string
	// FirstSeq is the seq at which the generation begins, whether or not a
	// message has it yet. 0 where that is not known.
	FirstSeq int64
	// Summary is the newest one of this generation, or nil.
	Summary *Summary
	// Messages are those after Summary.CoversSeq, oldest first. The caller
	// owns them.
	Messages []Message
	// Omitted counts older messages after the summary that the limit kept out.
	Omitted int
	// Settings are those of the conversation.
	Settings Settings
	// Erasures counts how often messages were erased from the conversation.
	Erasures int
}

// HistoryLimit bounds [Transcript.History]: the newest messages win. Zero
// fields do not bound.
type HistoryLimit struct {
	Messages int
	Bytes    int // of Content, tool arguments and what providers attached
}

// Conversation is what lists show of one key.
type Conversation struct {
	Key        channels.Key `json:"key"`
	Generation string       `json:"generation"`
	Title      string       `json:"title,omitempty"`
	Created    time.Time    `json:"created"`
	Updated    time.Time    `json:"updated"`
	Messages   int          `json:"messages"` // over all generations
	Usage      Usage        `json:"usage"`    // over all generations
	Settings
}
