package api

import (
	"cmp"
	"encoding/json"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// The types that go over the wire for what is in a conversation. Their JSON names are
// promised by docs/sessions.md; fields are only ever added.

// Usage is the tokens of model calls, as their provider counted them.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Cached int `json:"cached,omitempty"` // part of Input that came from its cache
	// Cost is in the currency of the configured prices. Without prices it is the
	// provider's figure, or 0.
	Cost float64 `json:"cost,omitempty"`
}

// Settings are a conversation's own.
type Settings struct {
	Model        string `json:"model,omitempty"`         // instead of the configured one
	SystemPrompt string `json:"system_prompt,omitempty"` // instead of the configured one
	// Agent is the persona that was chosen to answer; "": as configured.
	Agent string `json:"agent,omitempty"`
	// Reasoning is how much the model should think; "": as configured.
	Reasoning string                     `json:"reasoning,omitempty"`
	Tags      []string                   `json:"tags,omitempty"` // sorted, each once
	Metadata  map[string]json.RawMessage `json:"metadata,omitempty"`
}

func settingsOf(s sessions.Settings) Settings {
	return Settings{Model: s.Model, SystemPrompt: s.System, Agent: s.Agent, Reasoning: s.Reasoning, Tags: s.Tags, Metadata: s.Metadata}
}

// Conversation is the head of a conversation.
type Conversation struct {
	Key        channels.Key `json:"key"`
	Generation string       `json:"generation"` // the current one; "" before the first message
	Title      string       `json:"title,omitempty"`
	// Derived is the beginning of the first message, for a conversation without a title.
	// It is not stored.
	Derived      string    `json:"derived_title,omitempty"`
	Created      time.Time `json:"created,omitzero"`
	Updated      time.Time `json:"updated,omitzero"`
	MessageCount int       `json:"message_count"` // over all generations
	TotalTokens  int       `json:"total_tokens"`
	Usage        Usage     `json:"usage"`
	Settings
	// Network is the type of its channel, Group says that several people read it, and Own
	// that it is one of the caller's. Readable: they may read what was said there, if it is
	// not theirs by reading along.
	Network  string `json:"network,omitempty"`
	Group    bool   `json:"group,omitempty"`
	Own      bool   `json:"own,omitempty"`
	Readable bool   `json:"readable,omitempty"`
	// Unread is how many of its messages are new to the caller, without their own among the
	// newest hundred of them, and Pinned whether they pinned it.
	Unread int  `json:"unread,omitempty"`
	Pinned bool `json:"pinned,omitempty"`
	// Last is what was said last, if the caller may read it.
	Last *LastLine `json:"last,omitempty"`
	// Waiting is how many messages have no answer yet, and Answering says that a turn has
	// begun to answer some of them. GivenUp is how many deliveries were given up.
	Waiting   int  `json:"waiting,omitempty"`
	Answering bool `json:"answering,omitempty"`
	GivenUp   int  `json:"given_up,omitempty"`
	// Cursor is the "after" of the page that begins behind it, in lists.
	Cursor string `json:"cursor,omitempty"`
}

// LastLine is the beginning of the newest message of a conversation.
type LastLine struct {
	From string `json:"from"`           // "person" or "dragoman"
	Name string `json:"name,omitempty"` // of the person
	Text string `json:"text"`           // a line of 160 bytes at most, or a word for a file
	// File is the kind of the first file that came with it, like "image", if nothing else
	// was said.
	File string    `json:"file,omitempty"`
	At   time.Time `json:"at"`
	// State is how far a delivery is, and Kind why it was sent: see [FeedItem].
	State string `json:"state,omitempty"`
	Kind  string `json:"kind,omitempty"`
}

// Name is the title, or the derived one.
func (c Conversation) Name() string { return cmp.Or(c.Title, c.Derived) }

func conversationOf(c sessions.Conversation) Conversation {
	return Conversation{
		Key: c.Key, Generation: c.Generation, Title: c.Title, Created: c.Created, Updated: c.Updated,
		MessageCount: c.Messages, TotalTokens: c.Usage.Input + c.Usage.Output, Usage: Usage(c.Usage), Settings: settingsOf(c.Settings),
	}
}

// Generation is one stretch of a conversation, from one /new to the next.
type Generation struct {
	ID       string    `json:"id"` // YYYYMMDD_NNN, UTC; NNN has three digits or more
	FirstSeq int64     `json:"first_seq"`
	LastSeq  int64     `json:"last_seq"` // FirstSeq-1 while it is empty
	Began    time.Time `json:"began"`
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
	// Origins are whose words it has: as in Message.
	Origins []sessions.Origin `json:"origins,omitempty"`
}

func summaryOf(s *sessions.Summary) *Summary {
	if s == nil {
		return nil
	}
	return &Summary{Text: s.Text, CoversSeq: s.CoversSeq, Generation: s.Generation, Model: s.Model, At: s.At, Fields: s.Fields, Origins: s.Origins}
}

// ToolCall is one call that the model asked for.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments are as the model wrote them: usually, but not always, JSON.
	Arguments string `json:"arguments"`
}

// Attachment is a file that came with a message. What a network needs to fetch it, which
// can hold keys, is not shown.
type Attachment struct {
	Kind  channels.AttachmentKind `json:"kind"`
	Name  string                  `json:"name,omitempty"` // the sender's; never a path
	Type  string                  `json:"type,omitempty"` // MIME type, as the network says
	Bytes int64                   `json:"bytes,omitempty"`
	File  string                  `json:"file,omitempty"` // the name of our copy
	// Missing says in a few words why there is no file.
	Missing string `json:"missing,omitempty"`
}

// Message is one entry of a transcript. What a provider attached to it for itself is not
// shown.
type Message struct {
	// Seq orders the messages of one conversation; 0 while its turn runs.
	Seq     int64         `json:"seq"`
	Role    sessions.Role `json:"role"`
	Content string        `json:"content"`
	// Said is what people are shown, where Content has more, for the model: in a group the
	// sender's name, lines about files, that an answer was stopped.
	Said *string `json:"said,omitempty"`
	// Kind is again, for a question that is asked once more, stopped, for an answer that a
	// person stopped, or plain, which is as good as none: most messages have none.
	Kind sessions.MessageKind `json:"kind,omitempty"`
	// Name is the sender's display name (user) or the tool's name (tool).
	Name string `json:"name,omitempty"`
	// Sender is the immutable id of the person who wrote a user message.
	Sender     string     `json:"sender,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	At         time.Time  `json:"at"`
	Turn       string     `json:"turn,omitempty"`
	Model      string     `json:"model,omitempty"`
	Usage      *Usage     `json:"usage,omitempty"`
	// Via is through what a user message came: empty for the chat's own network, else api,
	// mcp, hook:NAME, others, or reply: whoever Name is wrote it into the talk of others.
	Via string `json:"via,omitempty"`
	// Origins are whose words it has beside the sender's: model, memory, others, web, file,
	// mcp:NAME, hook:NAME or skill:NAME@HASH; and history or sent, if it copies what the
	// conversation has.
	Origins []sessions.Origin `json:"origins,omitempty"`
	// Synthetic marks a note that neither a person nor a model wrote.
	Synthetic bool `json:"synthetic,omitempty"`
	// Summary marks an imported message that replaces older ones.
	Summary bool `json:"summary,omitempty"`
	// ReplacedBy is the seq of the note that replaced the message: people see both, the
	// model neither. The new text is the next message of a person after the note.
	ReplacedBy int64 `json:"replaced_by,omitempty"`
	// Replaces, in such a note, is the seq of the first message that it replaced; the last
	// is right before the note.
	Replaces int64 `json:"replaces,omitempty"`
	// Feedback is what the caller thinks of an answer.
	Feedback *Feedback `json:"feedback,omitempty"`
	// Failed marks the result of a tool call that failed and had no effect.
	Failed      bool         `json:"failed,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	// Extra has the fields of an imported message that Dragoman does not know.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Shown is what people are shown of m.
func (m *Message) Shown() string {
	if m.Said != nil {
		return *m.Said
	}
	return m.Content
}

// messagesOf are messages of one conversation as they go over the wire.
func messagesOf(list []sessions.Message, group bool) []Message {
	return each(list, func(m sessions.Message) Message { return messageOf(m, group) })
}

func messageOf(m sessions.Message, group bool) Message {
	m = completed(m, group)
	one := Message{
		Seq: m.Seq, Role: m.Role, Content: m.Content, Kind: m.Kind, Name: m.Name, Sender: m.Sender, ToolCallID: m.ToolCallID, At: m.At, Turn: m.Turn,
		Model: m.Model, Via: string(m.Via), Origins: m.Origins, Synthetic: m.Synthetic, Summary: m.Summary, Failed: m.Failed, Extra: m.Extra,
	}
	if said := m.Said(); said != m.Content {
		one.Said = &said
	}
	if m.Replaces > 0 {
		one.Replaces = max(m.Seq-m.Replaces, 1)
	}
	if m.Usage != nil {
		one.Usage = new(Usage(*m.Usage))
	}
	for _, call := range m.ToolCalls {
		one.ToolCalls = append(one.ToolCalls, ToolCall(call))
	}
	one.Attachments = attachmentsOf(m.Attachments)
	return one
}

// attachmentsOf are list as they go over the wire; nil if there are none.
func attachmentsOf(list []channels.Attachment) (all []Attachment) {
	for _, a := range list {
		all = append(all, Attachment{Kind: a.Kind, Name: a.Name, Type: a.Type, Bytes: a.Bytes, File: a.File, Missing: a.Missing})
	}
	return all
}

// each makes wire types of domain types. The list is never nil.
func each[From, To any](items []From, convert func(From) To) []To {
	list := make([]To, 0, len(items))
	for _, item := range items {
		list = append(list, convert(item))
	}
	return list
}
