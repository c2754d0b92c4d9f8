package wasim

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// Note is something that a person writes. One of Text, Media, Edit, Revoke,
// React and Raw is what it is about.
type Note struct {
	In *Group   // the group to write in; a private chat without it
	To *Contact // whom the owner writes to; oneself without it

	Text    string // or the caption of Media
	Media   *Media
	Album   string   // the id of the album that Media is a part of
	Quote   string   // the id of the message that this answers
	Mention []string // numbers; "@" and the number should be in Text too

	Forwarded bool // somebody else said it

	Edit   string // the id of the message that Text stands for from now on
	Revoke string // the id of the message to take back
	React  string // the id of the message that Emoji is put on
	Emoji  string // none takes the last one away

	ViewOnce  bool
	Ephemeral time.Duration // the message goes away after this

	// Raw goes out as it is instead of all this.
	Raw *waE2E.Message

	ID   string    // made up without it
	Time time.Time // the server's time without it
}

// post is a message as the server remembers it.
type post struct {
	id        string
	author    *Contact // nil if a device wrote it
	device    *device  // the one that wrote it
	group     *Group
	to        *Contact // whom the owner wrote to
	plain     []byte
	sealed    []byte                              // encrypted once for a whole group
	key       *waE2E.SenderKeyDistributionMessage // the author's key for the group just before that
	attrs     waBinary.Attrs
	enc       waBinary.Attrs
	read      bool
	reactions map[string]string
}

// Say writes a text in the private chat and returns its id.
func (c *Contact) Say(text string) string { return c.Send(Note{Text: text}) }

// SayIn writes a text in a group and returns its id.
func (c *Contact) SayIn(g *Group, text string) string { return c.Send(Note{In: g, Text: text}) }

// Send writes a note and returns its id. It does not wait: what cannot be
// delivered yet is queued.
func (c *Contact) Send(n Note) string {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if n.ID == "" {
		n.ID = newID()
	}
	if n.Time.IsZero() {
		n.Time = c.s.options.Clock()
	}
	p := &post{id: n.ID, author: c, group: n.In, to: n.To}
	message := c.compose(n)
	if c == c.s.owner && n.In == nil {
		message = &waE2E.Message{DeviceSentMessage: &waE2E.DeviceSentMessage{
			DestinationJID: proto.String(c.peer(n.To).address().String()), Message: message,
		}}
	}
	p.plain = marshal(message)
	p.attrs, p.enc = c.attributes(n), n.encAttributes()
	if p.group != nil {
		c.s.sealForGroup(p)
	}
	c.s.remember(p)
	if n.React != "" {
		c.s.react(n.React, c.number, n.Emoji)
	}
	for _, d := range c.s.sortedDevices() {
		c.s.deliver(p, d)
	}
	c.s.notify()
	return n.ID
}

// Edit changes the text of something that c wrote in the private chat.
func (c *Contact) Edit(id, text string) string {
	return c.Send(Note{In: c.s.where(id), Edit: id, Text: text})
}

// Revoke takes back something that c wrote or, in a group, as its admin what
// somebody else wrote.
func (c *Contact) Revoke(id string) string { return c.Send(Note{In: c.s.where(id), Revoke: id}) }

// React puts an emoji on a message, or takes it away.
func (c *Contact) React(id, emoji string) string {
	return c.Send(Note{In: c.s.where(id), React: id, Emoji: emoji})
}

// where is the group that a message was written in.
func (s *Server) where(id string) *Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.posts[id]; p != nil {
		return p.group
	}
	return nil
}

// peer is who the owner writes to.
func (c *Contact) peer(to *Contact) *Contact {
	if to == nil {
		return c
	}
	return to
}

// address is the one that c goes by.
func (c *Contact) address() types.JID {
	if c.byPhone {
		return c.pn
	}
	return c.lid
}

// attributes are those of the stanza.
func (c *Contact) attributes(n Note) waBinary.Attrs {
	attrs := c.sender()
	switch {
	case n.In != nil:
		attrs = n.In.sender(c)
	case c == c.s.owner:
		other := c.peer(n.To)
		delete(attrs, "sender_pn")
		delete(attrs, "sender_lid")
		attrs["recipient"] = other.address()
		if other.byPhone {
			attrs["peer_recipient_lid"] = other.lid
		} else {
			attrs["peer_recipient_pn"] = other.pn
		}
	}
	attrs["id"] = n.ID
	attrs["t"] = n.Time.Unix()
	attrs["notify"] = c.name
	attrs["type"] = "text"
	switch {
	case n.Media != nil:
		attrs["type"] = "media"
	case n.React != "":
		attrs["type"] = "reaction"
	case n.Edit != "":
		attrs["edit"] = string(types.EditAttributeMessageEdit)
	case n.Revoke != "":
		attrs["edit"] = string(types.EditAttributeSenderRevoke)
		if p := c.s.posts[n.Revoke]; n.In != nil && p != nil && p.author != c {
			attrs["edit"] = string(types.EditAttributeAdminRevoke)
		}
	}
	return attrs
}

func (n Note) encAttributes() waBinary.Attrs {
	attrs := waBinary.Attrs{"v": "2"}
	if n.Media != nil {
		attrs["mediatype"] = string(n.Media.Kind)
	}
	if n.Edit != "" || n.Revoke != "" || n.React != "" {
		attrs["decrypt-fail"] = "hide"
	}
	return attrs
}

// compose makes the message that the note stands for.
func (c *Contact) compose(n Note) *waE2E.Message {
	if n.Raw != nil {
		return n.Raw
	}
	switch {
	case n.Edit != "":
		return &waE2E.Message{EditedMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{
			ProtocolMessage: &waE2E.ProtocolMessage{
				Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), Key: c.key(n.Edit, n), TimestampMS: proto.Int64(n.Time.UnixMilli()),
				EditedMessage: &waE2E.Message{Conversation: proto.String(n.Text)},
			},
		}}}
	case n.Revoke != "":
		return &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
			Type: waE2E.ProtocolMessage_REVOKE.Enum(), Key: c.key(n.Revoke, n),
		}}
	case n.React != "":
		return &waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{
			Key: c.key(n.React, n), Text: proto.String(n.Emoji), SenderTimestampMS: proto.Int64(n.Time.UnixMilli()),
		}}
	}
	message := c.words(n)
	if n.ViewOnce {
		message = &waE2E.Message{ViewOnceMessageV2: &waE2E.FutureProofMessage{Message: message}}
	}
	if n.Ephemeral > 0 {
		message = &waE2E.Message{EphemeralMessage: &waE2E.FutureProofMessage{Message: message}}
	}
	return message
}

// words is a plain, quoting or captioned message.
func (c *Contact) words(n Note) *waE2E.Message {
	var info *waE2E.ContextInfo
	if n.Quote != "" || len(n.Mention) > 0 || n.Ephemeral > 0 || n.Forwarded {
		info = c.context(n)
	}
	switch {
	case n.Media != nil && n.Album != "":
		part := c.s.attach(n, info)
		part.MessageContextInfo = &waE2E.MessageContextInfo{MessageAssociation: &waE2E.MessageAssociation{
			AssociationType: waE2E.MessageAssociation_MEDIA_ALBUM.Enum(), ParentMessageKey: c.key(n.Album, n),
		}}
		return part
	case n.Media != nil:
		return c.s.attach(n, info)
	case info != nil:
		return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: &n.Text, ContextInfo: info}}
	}
	return &waE2E.Message{Conversation: &n.Text}
}

// context is what a message refers to.
func (c *Contact) context(n Note) *waE2E.ContextInfo {
	info := &waE2E.ContextInfo{}
	if n.Forwarded {
		info.IsForwarded = proto.Bool(true)
	}
	if n.Ephemeral > 0 {
		info.Expiration = proto.Uint32(uint32(n.Ephemeral.Seconds()))
	}
	for _, number := range n.Mention {
		if person := c.s.contacts[digits(number)]; person != nil {
			info.MentionedJID = append(info.MentionedJID, n.In.addressOf(person).String())
		}
	}
	if n.Quote == "" {
		return info
	}
	info.StanzaID = &n.Quote
	author, quoted := c.s.owner, ""
	if p := c.s.posts[n.Quote]; p != nil && p.author != nil {
		author = p.author
		quoted = c.s.textOf(p)
	} else if m := c.seen[n.Quote]; m != nil {
		quoted = m.Text
	}
	info.Participant = proto.String(n.In.addressOf(author).String())
	info.QuotedMessage = &waE2E.Message{Conversation: &quoted}
	return info
}

// textOf is what a person wrote.
func (s *Server) textOf(p *post) string {
	var m waE2E.Message
	if err := proto.Unmarshal(p.plain, &m); err != nil {
		return ""
	}
	inner := &m
	if sent := m.GetDeviceSentMessage(); sent != nil {
		inner = sent.GetMessage()
	}
	inner, _ = unwrap(inner)
	said, _ := words(inner)
	return said
}

// key names a message as seen by c.
func (c *Contact) key(id string, n Note) *waCommon.MessageKey {
	author := c.s.owner
	if p := c.s.posts[id]; p != nil && p.author != nil {
		author = p.author
	}
	key := &waCommon.MessageKey{ID: &id, FromMe: proto.Bool(author == c)}
	switch {
	case n.In != nil:
		key.RemoteJID = proto.String(n.In.jid().String())
		key.Participant = proto.String(n.In.addressOf(author).String())
	case c == c.s.owner:
		key.RemoteJID = proto.String(c.peer(n.To).address().String())
	default:
		key.RemoteJID = proto.String(c.s.owner.address().String())
	}
	return key
}

// newID makes an id such as phones make them.
func newID() string {
	var random [9]byte
	_, _ = rand.Read(random[:])
	return "3A" + strings.ToUpper(hex.EncodeToString(random[:]))
}
