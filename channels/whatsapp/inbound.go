//go:build !nowhatsapp

package whatsapp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/channels/markup"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

// reader converts events to the intake's form. It has everything that is needed for
// that, and changes nothing.
type reader struct {
	channel  string
	self     identity
	device   uint16 // ours
	names    []string
	selfChat bool
	command  func(word string) bool // reports whether word is a command
	// sent returns the text of a message that we sent in chat, as long as the device
	// file keeps it; otherwise "".
	sent func(chat types.JID, who identity, id string) (string, error)
	// complete adds a person's other name from the device file.
	complete func(identity) (identity, error)
	// nameOf is the name of a person who is not the sender.
	nameOf func(identity) string
	// chatOf is the chat of the conversation with a person; see deviceFile.chatOf.
	chatOf func(identity) (string, error)
}

// converted is one message in the intake's form, and what we remember of it.
type converted struct {
	in   channels.Inbound
	seen seenMessage
	// about may say how long messages live in this chat; it may be nil.
	about *waE2E.ContextInfo
}

// isForUs reports whether a message of this kind can be for the assistant.
func (r *reader) isForUs(evt *events.Message) bool {
	i := &evt.Info
	switch {
	case i.Category == "peer", evt.NewsletterMeta != nil, i.IsNewsletterStatus, i.Sender.IsBot():
		return false
	case i.IsFromMe:
		// WhatsApp does not return our own messages to us. If it ever does, we must not
		// talk to ourselves.
		return r.selfChat && !i.IsGroup && r.self.is(i.Chat) && i.Sender.Device != r.device
	}
	switch i.Chat.Server {
	case types.DefaultUserServer, types.HiddenUserServer, types.GroupServer:
		return true
	case types.BroadcastServer:
		return i.IsIncomingBroadcast() // Phones show it in the chat with its sender.
	}
	return false
}

// convert converts one message. It returns false if the message is not for the assistant.
// Errors are *malformed, or say that the device file could not be read.
func (r *reader) convert(evt *events.Message) (converted, bool, error) {
	if !r.isForUs(evt) && !deletedByOwner(evt) {
		return converted{}, false, nil
	}
	if reaction := evt.Message.GetReactionMessage(); reaction != nil {
		return r.reaction(evt, reaction)
	}
	c, edits, ok := r.content(evt)
	if !ok {
		return converted{}, false, nil
	}
	c.text = r.withMentionNames(c)
	i := &evt.Info
	in, err := r.header(i)
	if err != nil {
		return converted{}, false, err
	}
	in.Text = c.text
	in.Edits = edits
	in.Quote = r.quote(c.about)
	in.Attachments = c.files
	in.Album = albumOf(evt.Message)
	if c.about.GetIsForwarded() {
		in.Forwarded = &channels.Forward{}
	}
	got := converted{
		in:    in,
		seen:  seenMessage{chat: i.Chat.ToNonAD(), sender: i.Sender.ToNonAD(), unmarked: edits == "" && !i.IsFromMe},
		about: c.about,
	}
	if i.Chat.Server == types.BroadcastServer {
		got.seen.chat = got.seen.sender
	}
	if !in.Private {
		got.in.Text, got.in.Addressed = r.spokenTo(c)
	}
	if edits != "" {
		// WhatsApp knows a change only by the id of the message that it changes.
		got.in.MessageID = edits
		if ok, err := r.completeChange(evt, &got.in); !ok || err != nil {
			return converted{}, false, err
		}
	}
	got.seen.text = markup.Clip(c.withNote(), maxQuote)
	return got, true, nil
}

// deletedByOwner reports whether the owner, as an admin, deleted another person's message
// in a group. It is the only thing the owner does in groups that we do not ignore.
func deletedByOwner(evt *events.Message) bool {
	i, p := &evt.Info, evt.Message.GetProtocolMessage()
	return i.IsFromMe && i.Chat.Server == types.GroupServer && i.Edit == types.EditAttributeAdminRevoke &&
		p != nil && p.GetType() == waE2E.ProtocolMessage_REVOKE
}

// completeChange completes a change of an earlier message. The intake knows whether that
// message was for us and whether this person may change it. completeChange returns
// false if the author of the earlier message is unknown.
func (r *reader) completeChange(evt *events.Message, in *channels.Inbound) (ok bool, err error) {
	p := evt.Message.GetProtocolMessage()
	if p.GetType() != waE2E.ProtocolMessage_REVOKE {
		return true, nil
	}
	in.Deletes = channels.DeletedBySender
	if in.Private || evt.Info.Edit != types.EditAttributeAdminRevoke {
		return true, nil
	}
	// WhatsApp's servers allow only admins to send these. The intake gets it as a change
	// by the author, because it accepts changes from nobody else.
	jid, err := types.ParseJID(p.GetKey().GetParticipant())
	if err != nil {
		return false, nil
	}
	who, err := r.complete(identify(jid))
	if err != nil || !who.known() {
		return false, err
	}
	author := channels.Person{IDs: who.ids()}
	if author.Is(in.Sender) {
		return true, nil
	}
	in.Sender = author
	in.Prefix = speakerName(author) + ": "
	in.Text = deletedByAdmin
	in.Deletes = channels.DeletedByAdmin
	return true, nil
}

// header is the Inbound of a message without its content.
func (r *reader) header(i *types.MessageInfo) (channels.Inbound, error) {
	who, err := r.complete(identify(i.Sender, i.SenderAlt))
	if err != nil {
		return channels.Inbound{}, err
	}
	private := i.Chat.Server != types.GroupServer
	chat := i.Chat.ToNonAD().String()
	if private {
		if chat, err = r.chatOf(who); err != nil {
			return channels.Inbound{}, err
		}
	}
	key, err := channels.NewKey(r.channel, chat)
	if err != nil {
		return channels.Inbound{}, &malformed{err}
	}
	in := channels.Inbound{
		Key: key, ID: inboundID(i), Private: private, MessageID: i.ID, At: i.Timestamp,
		Sender: channels.Person{IDs: who.ids(), Name: cleanName(i.PushName)},
	}
	if !private {
		in.Prefix = speakerName(in.Sender) + ": "
	}
	return in, nil
}

// malformed is the error of a message that no further attempt could convert.
type malformed struct{ error }

// Unwrap returns the cause.
func (s *malformed) Unwrap() error { return s.error }

// inboundID is the id of a message within the channel. It contains the sender, because
// senders choose the ids of their messages, and must not be able to use an id of somebody
// else. It is the sender's name in the message itself: what else we know about the
// sender can change before the message is repeated.
func inboundID(i *types.MessageInfo) string { return i.ID + "/" + i.Sender.User }

// These replace the text of a deleted message.
const (
	deletedText    = "[this message was deleted by its sender]"
	deletedByAdmin = "[this message was deleted by an admin]"
)

// content is the content of a message, and the id of the message that it changes, or "".
func (r *reader) content(evt *events.Message) (c content, edits string, ok bool) {
	p := evt.Message.GetProtocolMessage()
	switch {
	case p == nil:
		c, ok = contentOf(evt.Message)
		if evt.IsViewOnce && ok {
			c.text = strings.TrimPrefix(c.text+"\n[to be viewed once]", "\n")
		}
		return c, "", ok
	case p.GetType() == waE2E.ProtocolMessage_MESSAGE_EDIT:
		// Only text can be changed. The file came with the original message and does not
		// come again. If the caption was removed, the text becomes the note about the
		// file, because an empty text would look like no message.
		c, ok = contentOf(p.GetEditedMessage())
		c.text = cmp.Or(c.text, c.note)
		c.note = ""
		c.files = nil
		return c, p.GetKey().GetID(), ok && p.GetKey().GetID() != ""
	case p.GetType() == waE2E.ProtocolMessage_REVOKE:
		return content{text: deletedText}, p.GetKey().GetID(), p.GetKey().GetID() != ""
	}
	return content{}, "", false
}

func (r *reader) quote(about *waE2E.ContextInfo) *channels.Quote {
	if about.GetStanzaID() == "" {
		return nil
	}
	quoted, _ := contentOf(about.GetQuotedMessage())
	if !slices.ContainsFunc(quoted.files, func(a channels.Attachment) bool { return a.Ref != "" }) {
		quoted.files = nil // The note says what it was; it cannot be fetched.
	}
	q := &channels.Quote{ID: about.GetStanzaID(), Text: markup.Clip(quoted.withNote(), maxQuote), Attachments: quoted.files}
	if author, err := types.ParseJID(about.GetParticipant()); err == nil {
		if who := identify(author); r.self.is(author) {
			q.Name = "you"
		} else {
			q.Name = r.nameOf(who)
		}
	}
	return q
}

// withMentionNames is the text with people's names instead of their numbers. WhatsApp
// writes a mention as an @ and a number, in many groups the LID, which means nothing to
// the model. Our own numbers stay for spokenTo.
func (r *reader) withMentionNames(c content) string {
	text := c.text
	for _, mention := range c.about.GetMentionedJID() {
		jid, err := types.ParseJID(mention)
		if err != nil || jid.User == "" || r.self.is(jid) || !identify(jid).known() {
			continue
		}
		if name := r.nameOf(identify(jid)); name != identify(jid).chat() {
			text = replaceNumber(text, "@"+jid.User, "@"+name)
		}
	}
	return text
}

// replaceNumber replaces number by name, except where a longer number begins with it.
func replaceNumber(text, number, name string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, number)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if startsWithDigit(after) {
			b.WriteString(number)
		} else {
			b.WriteString(name)
		}
		text = after
	}
}

// cleanName shortens the name that a person chose. It removes colons, which could make a
// line look as if another person spoke.
func cleanName(name string) string {
	return markup.Clip(markup.Line(strings.ReplaceAll(name, ":", " ")), 64)
}

func speakerName(p channels.Person) string { return cmp.Or(p.Name, p.ID(), "someone") }

// spokenTo reports whether a message in a group addresses the assistant: it mentions us,
// replies to us, begins with our name or is a command. It returns the text without the
// name at the beginning.
func (r *reader) spokenTo(c content) (text string, addressed bool) {
	text = c.text
	for _, mention := range c.about.GetMentionedJID() {
		jid, err := types.ParseJID(mention)
		if err != nil || !r.self.is(jid) {
			continue
		}
		addressed = true
		// In the text a mention is an @ and one of our two numbers.
		for _, number := range []string{r.self.pn.User, r.self.lid.User} {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(text), "@"+number); ok && number != "" && !startsWithDigit(rest) {
				text = afterName(rest, text)
			}
		}
	}
	if author, err := types.ParseJID(c.about.GetParticipant()); err == nil && c.about.GetStanzaID() != "" && r.self.is(author) {
		addressed = true
	}
	if rest, ok := channels.SpokenTo(strings.TrimSpace(text), r.names, strings.EqualFold); ok {
		return rest, true
	}
	if word, ok := strings.CutPrefix(firstWord(text), "/"); ok && r.command(word) {
		addressed = true
	}
	return text, addressed
}

// afterName is rest, the text after the name, or whole if rest is empty.
func afterName(rest, whole string) string {
	rest = strings.TrimLeft(rest, " ,:;\n\t")
	if rest != "" {
		return rest
	}
	return whole
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return word
}

// inbound is convert, but returns a panic as an error. A message that triggers a bug of
// ours is then quarantined, and does not come again forever.
func (r *reader) inbound(evt *events.Message) (got converted, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			ok, err = false, &malformed{fmt.Errorf("whatsapp: convert message %s: panic of type %T", evt.Info.ID, p)}
		}
	}()
	return r.convert(evt)
}
