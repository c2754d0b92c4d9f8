package channels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Person is the sender of a message, as far as its network vouches for them.
type Person struct {
	// IDs are the identities that the sender cannot choose or change, most
	// specific first: a Telegram user id, "account:alice" on an IRC network
	// with services, a phone number and a LID on WhatsApp. Allow lists match
	// only these. Empty: the network does not say reliably who it is.
	IDs []string `json:"ids,omitempty"`
	// Name is what people call the sender. It may be anything at all and is
	// never an identity.
	Name string `json:"name,omitempty"`
}

// ID returns the first of p.IDs, or "" without any.
func (p Person) ID() string {
	if len(p.IDs) == 0 {
		return ""
	}
	return p.IDs[0]
}

// Is reports whether p and o, the senders of two messages, are the same person: they
// share an id or, if neither has one, the name. Which ids in a whole store belong to one
// person is another question: package sessions/erasure answers it.
func (p Person) Is(o Person) bool {
	if len(p.IDs) == 0 && len(o.IDs) == 0 {
		return p.Name == o.Name
	}
	return slices.ContainsFunc(p.IDs, func(id string) bool { return slices.Contains(o.IDs, id) })
}

// Quote is the message that another one replies to.
type Quote struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
	// Attachments are its files. Adapters only name them; the gateway adds them to
	// those of the message that replies, marked as Quoted, if that is for us.
	Attachments []Attachment `json:"attachments,omitempty"`
}

// Forward says that the sender passed on somebody else's message.
type Forward struct {
	// Name is the author, or "" if the network does not say.
	Name string `json:"name,omitempty"`
}

// AttachmentKind is what a person would call an [Attachment].
type AttachmentKind string

// The kinds of attachments.
const (
	AttachmentImage    AttachmentKind = "image"
	AttachmentSticker  AttachmentKind = "sticker"
	AttachmentVoice    AttachmentKind = "voice" // recorded for this chat
	AttachmentAudio    AttachmentKind = "audio"
	AttachmentVideo    AttachmentKind = "video"
	AttachmentDocument AttachmentKind = "document"
)

// MaxAttachments is how many files one message may have. An adapter that
// gets more says in the text how many it left out.
const MaxAttachments = 10

// Attachment is a file that came with a message. An adapter only says where it
// is (Ref); the gateway fetches it when a turn begins and keeps it as a file.
type Attachment struct {
	Kind AttachmentKind `json:"kind"`
	// Name is the sender's name for the file, or "". It may be anything at
	// all and is never used as a path.
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"` // MIME type, as the network says
	// Bytes is the size according to the network, or 0. Once File is set it is
	// the size of the file.
	Bytes int64 `json:"bytes,omitempty"`
	// Ref is what the adapter's [Fetcher] needs to fetch the file. It may hold
	// the key to decrypt it, so it is never shown or logged. It is removed once
	// File is set.
	Ref string `json:"ref,omitempty"`
	// File is the gateway's name for its copy, or "".
	File string `json:"file,omitempty"`
	// Missing says in a few words why there is no file ("too large: 80 MB").
	Missing string `json:"missing,omitempty"`
	// Quoted says that it came with the message that this one replies to.
	Quoted bool `json:"quoted,omitempty"`
	// Seconds is how long a recording is according to the network, or 0.
	Seconds int `json:"seconds,omitempty"`
	// Words are what is said in a recording, or "". Only the gateway writes them.
	Words string `json:"words,omitempty"`
}

// Deletion says who deleted a message for everybody.
type Deletion string

// Who deletes messages.
const (
	DeletedBySender Deletion = "sender" // its author
	DeletedByAdmin  Deletion = "admin"  // somebody who may delete other people's messages
)

// Inbound is one message from a network, as its adapter understood it.
type Inbound struct {
	Key Key `json:"key"`
	// ID identifies the message (on Telegram, the update) within its channel
	// instance. The same ID is never accepted twice. An adapter whose network
	// gives no id makes one that cannot repeat.
	ID     string `json:"id"`
	Sender Person `json:"sender"`
	// Text is without a mention of the bot at its start. A command starts with
	// "/" on every network.
	Text string `json:"text"`
	// Prefix, if not empty, is put before Text for the model: "alice: " where
	// several people share the chat.
	Prefix string `json:"prefix,omitempty"`
	// Private says that the bot talks with one person alone.
	Private bool `json:"private,omitempty"`
	// Addressed says that a message in a shared chat is meant for the bot: it
	// mentions the bot, replies to it, or is a command for it. It is not used
	// in private chats.
	Addressed bool `json:"addressed,omitempty"`
	// MessageID is the network's own id of this message, for replies to it
	// and edits of it. It may differ from ID.
	MessageID string `json:"message_id,omitempty"`
	// Edits, if not empty, is the MessageID of the earlier message whose text
	// this one replaces.
	Edits string `json:"edits,omitempty"`
	// Deletes is set only with Edits. It says that the earlier message was
	// deleted for everybody; if that message still waits, it gets no answer.
	// Sender is the author of the earlier message even if somebody else deleted
	// it, and Text says in words that it is gone.
	Deletes Deletion `json:"deletes,omitempty"`
	// Reaction, if not empty, is the emoji that the sender put on Quote, a message
	// of ours. The next turn sees it as a note; it gets no answer. Text says the
	// same in words. Stores need not keep it.
	Reaction string `json:"reaction,omitempty"`
	// Again says that the text is an earlier question of the chat, and that the person
	// wants another answer to it. Adapters do not set it.
	Again bool `json:"again,omitempty"`
	// Via is through what it came. Adapters do not set it.
	Via Via `json:"via,omitempty"`
	// Origins are whose words Text is beside the sender's, as far as Via, Quote, Forwarded
	// and Attachments do not say it: for a job, of whatever led to it. Adapters do not set
	// it.
	Origins []Origin `json:"origins,omitempty"`
	// Instructions are what the program through which the person writes adds to the system
	// prompt of this message's turn. Adapters do not set it.
	Instructions string `json:"instructions,omitempty"`
	// Model, if not empty, is the model for this message's turn, in place of the
	// conversation's. Adapters do not set it.
	Model string `json:"model,omitempty"`
	// Quote is the message that this one replies to, if any.
	Quote *Quote `json:"quote,omitempty"`
	// Forwarded, if not nil, says that the message was passed on. The model is
	// told so, and the message is never a command.
	Forwarded *Forward `json:"forwarded,omitempty"`
	// Attachments are the files that came with it, at most MaxAttachments.
	Attachments []Attachment `json:"attachments,omitempty"`
	// Album, if not empty, is the same for messages that their sender sent as
	// one: each picture of an album, each line of a long question. They are
	// answered together if they arrive close together ([Pauser]).
	Album string `json:"album,omitempty"`
	// At is the network's time of the message. Messages are ordered by arrival,
	// never by At.
	At time.Time `json:"at"`
}

// Kind says what a message of ours is to the person who reads it.
type Kind string

// The kinds of messages. An unknown one is shown like an answer.
const (
	KindAnswer   Kind = "answer"   // what the model said
	KindCommand  Kind = "command"  // the reply to a command
	KindNotice   Kind = "notice"   // Dragoman speaks of itself: a turn takes long, a summary was written
	KindJob      Kind = "job"      // what the model said in a scheduled job
	KindApology  Kind = "apology"  // in place of an answer, because the turn failed
	KindQuestion Kind = "question" // the turn waits for the reader's decision
	KindForm     Kind = "form"     // the turn waits for the reader's words: a server of tools asks
)

// Form says how the text of a message of ours is written.
type Form string

// The forms of texts.
const (
	FormMarkdown Form = ""
	// FormNative is the form of the channel's network. Only that channel can read it.
	FormNative Form = "native"
	// FormRest is FormNative, and the channel shows the text only when somebody asks
	// for it. Until then it shows a hint.
	FormRest Form = "rest"
)

// Piece is a part of a text that fits into one message of a network.
type Piece struct {
	Text string
	Form Form
}

// Pieces are texts in Markdown as pieces.
func Pieces(texts []string) []Piece {
	pieces := make([]Piece, len(texts))
	for i, text := range texts {
		pieces[i].Text = text
	}
	return pieces
}

// RepeatMark begins a message that is sent again because its first sending may
// or may not have arrived.
const RepeatMark = "↻ "

// Outbound is one message for a network. [Splitter] cuts a long answer into
// several before they are stored.
type Outbound struct {
	// ID stays the same over all attempts to send this message and is unique
	// in this installation: networks that deduplicate get it as their key.
	ID   string
	Key  Key
	Kind Kind
	// Text is Markdown, unless Form says otherwise, and short enough for one network
	// message if the channel is a Splitter.
	Text string
	Form Form
	// Repeats says that the message may have arrived before, and that people must see
	// so. Only a [RepeatMarker] gets it.
	Repeats bool
	// ReplyTo is the network's id of the answered message, or "". In private
	// chats, and where answers take turns (see [Interleaver]), it is set on every
	// piece of an answer, and an adapter need not show it there.
	ReplyTo string
	// GoesOn says that the last message sent in this chat was the previous piece
	// of the same answer. It may be false after a restart.
	GoesOn bool
	// File, if not nil, is sent along with Text. Only a [Filer] gets one.
	File *File
	// Finishes says that an answer of the model ends with this message: the person
	// may want another one. It may be false after a restart.
	Finishes bool
	// Choices are the answers to a question, in the order in which they are shown. A
	// network with buttons has one for each; Text says what people write on the others.
	Choices []Choice
	// Edit, if not empty, is the network's id of a message of ours that shows
	// a preview of this one: turn it into the final text instead of sending.
	Edit string
	// Attempt counts from 1.
	Attempt int
	// Uncertain says that an earlier attempt may have reached the network.
	Uncertain bool
}

// Choice is one answer to a question of ours. Whoever chooses it says the command, with
// the subject as its argument: "/allow k3f…".
type Choice struct {
	Label string
	// Command is a name of a to z, and Subject at most 40 of a-z and 0-9.
	Command, Subject string
}

// File is a text that is sent as a file, or any other file that is sent.
type File struct {
	Name    string // "answer.md"
	Content string
	// Kind is what people see it as: a picture, a voice message. A network that cannot show it
	// as that sends a document. "" is a document.
	Kind AttachmentKind
	// Type is its MIME type; "" is text/markdown.
	Type string
	// Seconds is how long a voice message is.
	Seconds int
	// Kept is the gateway's name of a file whose Content it adds before it sends. Adapters
	// never see one without its Content.
	Kept string
	// Instead is the text to send where the network takes no files, or "".
	Instead string
}

// Receipt is the result of sending an [Outbound].
type Receipt struct {
	// MessageID is the network's id of the message, or "" if it gives none.
	MessageID string
}

// IsImage reports whether a is a picture that a vision model can be shown.
func (a Attachment) IsImage() bool {
	return a.Kind == AttachmentImage || strings.HasPrefix(a.Type, "image/")
}

// SizeText formats a number of bytes for people and models: "1.5 MB".
func SizeText(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " bytes"
	case n < 999_500:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return strings.Replace(fmt.Sprintf("%.1f MB", float64(n)/1e6), ".0 ", " ", 1)
}
