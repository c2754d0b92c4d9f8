package channels

import "time"

// Person is who sent a message, as its network vouches for them.
type Person struct {
	// IDs are the identities that the sender cannot choose or change, most
	// specific first: a Telegram user id, "account:alice" on an IRC network
	// with services, a phone number and a LID on WhatsApp. Allow lists match
	// these and nothing else. Empty: the network vouches for nobody.
	IDs []string `json:"ids,omitempty"`
	// Name is what people call the sender. It may be anything at all and is
	// never an identity.
	Name string `json:"name,omitempty"`
}

// ID is the first of p.IDs, or "" if the network vouches for nobody.
func (p Person) ID() string {
	if len(p.IDs) == 0 {
		return ""
	}
	return p.IDs[0]
}

// Quote is the message that another one answers.
type Quote struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

// Forward says that a message is somebody else's words, which its sender passed
// on.
type Forward struct {
	// Name is whose words they are, or "" if the network does not say.
	Name string `json:"name,omitempty"`
}

// AttachmentKind says what an [Attachment] is to a person.
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

// MaxAttachments is how many files one message may carry; an adapter that
// gets more says in the text how many it left out.
const MaxAttachments = 10

// Attachment is a file that came with a message. An adapter only says where it
// is (Ref); the gateway fetches it when a turn begins and keeps it as a file.
type Attachment struct {
	Kind AttachmentKind `json:"kind"`
	// Name is what the sender called the file, or "". It may be anything at
	// all and is never used as a path.
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"` // MIME type, as the network says
	// Bytes is the size that the network says, 0 if it says none. Once File is
	// set it is the size of the file.
	Bytes int64 `json:"bytes,omitempty"`
	// Ref is what the adapter's [Fetcher] needs to fetch the file. It may hold
	// the key that opens it, and is never shown or logged; it is gone once
	// File is set.
	Ref string `json:"ref,omitempty"`
	// File is the name under which the gateway keeps it, or "".
	File string `json:"file,omitempty"`
	// Missing says in a few words why there is no file ("too large: 80 MB").
	Missing string `json:"missing,omitempty"`
}

// Deletion says by whom a message was deleted for everybody.
type Deletion string

// Who deletes messages.
const (
	DeletedBySender Deletion = "sender" // its author
	DeletedByAdmin  Deletion = "admin"  // somebody who may do that to the others
)

// Inbound is one message from a network, as its adapter understood it.
type Inbound struct {
	Key Key `json:"key"`
	// ID identifies the message (on Telegram, the update) within its channel
	// instance. The same ID is never accepted twice. An adapter whose network
	// gives no id makes one that cannot repeat.
	ID     string `json:"id"`
	Sender Person `json:"sender"`
	// Text is what was said, without a mention of the bot at its start. A
	// command starts with "/" on every network.
	Text string `json:"text"`
	// Prefix, if not empty, is put before Text for the model: "alice: " where
	// several people share the chat.
	Prefix string `json:"prefix,omitempty"`
	// Private says that the chat has one person in it.
	Private bool `json:"private,omitempty"`
	// Addressed says that a message in a shared chat is meant for the bot: it
	// was mentioned, replied to, or given a command. It is not used in
	// private chats.
	Addressed bool `json:"addressed,omitempty"`
	// MessageID is the network's own id of this message, for replies to it
	// and edits of it. It may differ from ID.
	MessageID string `json:"message_id,omitempty"`
	// Edits, if not empty, is the MessageID of the earlier message whose text
	// this one replaces.
	Edits string `json:"edits,omitempty"`
	// Deletes, only beside Edits, says that the earlier message was deleted for
	// everybody. One that still waits is not answered any more. Sender is the
	// author of the earlier message also where somebody else deleted it, and
	// Text says in words that it is gone.
	Deletes Deletion `json:"deletes,omitempty"`
	// Reaction, if not empty, is the emoji that the sender put on Quote, which is
	// a message of ours. It is noted for the next turn and answered by nobody.
	// Text says the same in words. Stores need not keep it.
	Reaction string `json:"reaction,omitempty"`
	// Quote is the message that this one answers, if any.
	Quote *Quote `json:"quote,omitempty"`
	// Forwarded, if not nil, says that what was said was passed on: the model is
	// told, and it is no command.
	Forwarded *Forward `json:"forwarded,omitempty"`
	// Attachments are the files that came with it, at most MaxAttachments.
	Attachments []Attachment `json:"attachments,omitempty"`
	// Album, if not empty, is the same for messages that their sender sent as
	// one: each picture of an album, each line of a long question. They are
	// answered together as far as they come close together ([Pauser]).
	Album string `json:"album,omitempty"`
	// At is the network's time of the message. Order comes from arrival, never
	// from At.
	At time.Time `json:"at"`
}

// Outbound is one message for a network. A long answer is several of them,
// cut by [Splitter] before they were stored.
type Outbound struct {
	// ID stays the same over all attempts to send this message and is unique
	// in this installation: networks that deduplicate get it as their key.
	ID  string
	Key Key
	// Text is Markdown, short enough for one network message if the channel
	// is a Splitter.
	Text string
	// ReplyTo is the network's id of the message that is answered, or "". In
	// private talk, and where answers take turns (see [Interleaver]), it is set
	// on every piece of an answer, and an adapter need not show it there.
	ReplyTo string
	// GoesOn says that what went out last in this chat was the piece before this
	// one, of the same answer. It may be missing after a restart.
	GoesOn bool
	// File, if not nil, goes out with Text beside it. Only a [Filer] gets one.
	File *File
	// Finishes says that an answer of the model ends with this message: the person
	// may want another one. It may be missing after a restart.
	Finishes bool
	// Edit, if not empty, is the network's id of a message of ours that shows
	// a preview of this one: turn it into the final text instead of sending.
	Edit string
	// Attempt counts from 1.
	Attempt int
	// Uncertain says that an earlier attempt may have reached the network.
	Uncertain bool
}

// File is a text that is sent as a file.
type File struct {
	Name    string // "answer.md"
	Content string
}

// Receipt tells what became of an [Outbound].
type Receipt struct {
	// MessageID is the network's id of the message, or "" if it gives none.
	MessageID string
}
