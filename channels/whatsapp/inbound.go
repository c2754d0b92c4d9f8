package whatsapp

import (
	"cmp"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/channels/markup"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

// reader turns events into what the intake takes. It holds what must be known
// for that; it does nothing itself.
type reader struct {
	channel  string
	self     identity
	device   uint16 // ours
	names    []string
	selfChat bool
	command  func(word string) bool
	// sent finds the words of what was sent from here into a chat, as long as
	// the device file keeps them; "" for what it does not know.
	sent func(chat types.JID, who identity, id string) (string, error)
	// complete finds the other name of a person in the device file.
	complete func(identity) (identity, error)
	// nameOf is what somebody is called who does not speak here.
	nameOf func(identity) string
	// chatOf is the chat of the conversation with a person; see device.chatOf.
	chatOf func(identity) (string, error)
}

// reading is one message as it was understood.
type reading struct {
	in   channels.Inbound
	seen seenMessage
	// about may say how long messages live in this chat; nil: it says nothing.
	about *waE2E.ContextInfo
}

// wanted reports whether a message may be meant for the assistant at all.
func (r *reader) wanted(evt *events.Message) bool {
	i := &evt.Info
	switch {
	case i.Category == "peer", evt.NewsletterMeta != nil, i.IsNewsletterStatus, i.Sender.IsBot():
		return false
	case i.IsFromMe:
		// Our own sending device is not told what it sent, but must never talk
		// to itself should that change.
		return r.selfChat && !i.IsGroup && r.self.is(i.Chat) && i.Sender.Device != r.device
	}
	switch i.Chat.Server {
	case types.DefaultUserServer, types.HiddenUserServer, types.GroupServer:
		return true
	case types.BroadcastServer:
		return i.IsIncomingBroadcast() // shown in the chat with its sender
	}
	return false
}

// read understands one message; false if it says nothing to the assistant.
// An error means that the device file could not be read.
func (r *reader) read(evt *events.Message) (reading, bool, error) {
	if !r.wanted(evt) && !deletedByOwner(evt) {
		return reading{}, false, nil
	}
	if reaction := evt.Message.GetReactionMessage(); reaction != nil {
		return r.reacted(evt, reaction)
	}
	said, edits, ok := r.said(evt)
	if !ok {
		return reading{}, false, nil
	}
	said.text = r.withNames(said)
	i := &evt.Info
	in, err := r.frame(i)
	if err != nil {
		return reading{}, false, err
	}
	in.Text, in.Edits, in.Quote, in.Attachments = said.text, edits, r.quote(said.about), said.files
	in.Album = albumOf(evt.Message)
	if said.about.GetIsForwarded() {
		in.Forwarded = &channels.Forward{}
	}
	got := reading{
		in:    in,
		seen:  seenMessage{chat: i.Chat.ToNonAD(), sender: i.Sender.ToNonAD(), unmarked: edits == "" && !i.IsFromMe},
		about: said.about,
	}
	if i.Chat.Server == types.BroadcastServer {
		got.seen.chat = got.seen.sender
	}
	if !in.Private {
		got.in.Text, got.in.Addressed = r.address(said)
	}
	if edits != "" {
		// WhatsApp knows a change only as a part of what it changes.
		got.in.MessageID = edits
		if ok, err := r.change(evt, &got.in); !ok || err != nil {
			return reading{}, false, err
		}
	}
	got.seen.text = markup.Clip(said.inWords(), mostQuote)
	return got, true, nil
}

// deletedByOwner reports whether the owner, as an admin, deleted what somebody
// else wrote in a group. That is all of theirs that counts there.
func deletedByOwner(evt *events.Message) bool {
	i, p := &evt.Info, evt.Message.GetProtocolMessage()
	return i.IsFromMe && i.Chat.Server == types.GroupServer && i.Edit == types.EditAttributeAdminRevoke &&
		p != nil && p.GetType() == waE2E.ProtocolMessage_REVOKE
}

// change completes a change of an earlier message. Whether that was for us, and
// theirs to change, is known where it is kept. False: nobody can say whose it
// was.
func (r *reader) change(evt *events.Message, in *channels.Inbound) (ok bool, err error) {
	p := evt.Message.GetProtocolMessage()
	if p.GetType() != waE2E.ProtocolMessage_REVOKE {
		return true, nil
	}
	in.Deletes = channels.DeletedBySender
	if in.Private || evt.Info.Edit != types.EditAttributeAdminRevoke {
		return true, nil
	}
	// WhatsApp's servers let only admins send these. It is handed in as a change
	// of the author's, because only the author of a message may change it.
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
	in.Sender, in.Prefix, in.Text, in.Deletes = author, speaker(author)+": ", deletedByAdmin, channels.DeletedByAdmin
	return true, nil
}

// frame is a message without what it says: its conversation and its sender.
func (r *reader) frame(i *types.MessageInfo) (channels.Inbound, error) {
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
		return channels.Inbound{}, &strange{err}
	}
	in := channels.Inbound{
		Key: key, ID: inboundID(i), Private: private, MessageID: i.ID, At: i.Timestamp,
		Sender: channels.Person{IDs: who.ids(), Name: called(i.PushName)},
	}
	if !private {
		in.Prefix = speaker(in.Sender) + ": "
	}
	return in, nil
}

// strange marks a message that no attempt will ever understand.
type strange struct{ error }

// Unwrap returns the cause.
func (s *strange) Unwrap() error { return s.error }

// inboundID names a message within the channel. The sender belongs to it, as
// senders choose the ids: nobody can use up another's. It is the sender as the
// message itself has it, because what else is known about them can change
// between a message and its repetition.
func inboundID(i *types.MessageInfo) string { return i.ID + "/" + i.Sender.User }

// These take the place of a message that was deleted.
const (
	deletedText    = "[this message was deleted by its sender]"
	deletedByAdmin = "[this message was deleted by an admin]"
)

// said is the content of a message, and the id of the one that it changes.
func (r *reader) said(evt *events.Message) (c content, edits string, ok bool) {
	p := evt.Message.GetProtocolMessage()
	switch {
	case p == nil:
		c, ok = contentOf(evt.Message)
		if evt.IsViewOnce && ok {
			c.text = strings.TrimPrefix(c.text+"\n[to be viewed once]", "\n")
		}
		return c, "", ok
	case p.GetType() == waE2E.ProtocolMessage_MESSAGE_EDIT:
		// Only words can be changed. The file that they stand under came with
		// the message, and does not come again. A caption that was taken away leaves
		// its note, so that the change is not one to nothing.
		c, ok = contentOf(p.GetEditedMessage())
		c.text, c.note, c.files = cmp.Or(c.text, c.note), "", nil
		return c, p.GetKey().GetID(), ok && p.GetKey().GetID() != ""
	case p.GetType() == waE2E.ProtocolMessage_REVOKE:
		return content{text: deletedText}, p.GetKey().GetID(), p.GetKey().GetID() != ""
	}
	return content{}, "", false
}

// quote is the message that another one answers.
func (r *reader) quote(about *waE2E.ContextInfo) *channels.Quote {
	if about.GetStanzaID() == "" {
		return nil
	}
	q := &channels.Quote{ID: about.GetStanzaID(), Text: quotedText(about)}
	if author, err := types.ParseJID(about.GetParticipant()); err == nil {
		if who := identify(author); r.self.is(author) {
			q.Name = "you"
		} else {
			q.Name = r.nameOf(who)
		}
	}
	return q
}

// withNames is what was said with people's names where WhatsApp has numbers
// after an @: it mentions them so, and in many groups by the LID, which tells
// nobody anything. Ours stay for address.
func (r *reader) withNames(said content) string {
	text := said.text
	for _, mention := range said.about.GetMentionedJID() {
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

// replaceNumber puts name where number is not the beginning of a longer one.
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

// called is the name that somebody gave themselves. A colon in it would make
// the line look as if another person spoke.
func called(name string) string {
	return markup.Clip(markup.Line(strings.ReplaceAll(name, ":", " ")), 64)
}

// speaker is what the model is told who speaks.
func speaker(p channels.Person) string { return cmp.Or(p.Name, p.ID(), "someone") }

// address finds out whether a message in a group is meant for the assistant
// (it mentions us, answers us, begins with our name or is a command), and takes
// the name off its start.
func (r *reader) address(said content) (text string, addressed bool) {
	text = said.text
	for _, mention := range said.about.GetMentionedJID() {
		jid, err := types.ParseJID(mention)
		if err != nil || !r.self.is(jid) {
			continue
		}
		addressed = true
		// In the text a mention is a number behind an @, not always the same one.
		for _, number := range []string{r.self.pn.User, r.self.lid.User} {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(text), "@"+number); ok && number != "" && !startsWithDigit(rest) {
				text = afterName(rest, text)
			}
		}
	}
	if author, err := types.ParseJID(said.about.GetParticipant()); err == nil && said.about.GetStanzaID() != "" && r.self.is(author) {
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

// afterName is what was said after the name; all of it if that is nothing.
func afterName(rest, whole string) string {
	if rest = strings.TrimLeft(rest, " ,:;\n\t"); rest != "" {
		return rest
	}
	return whole
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return word
}

// understand is read with its panics as errors: a message that trips a bug of
// ours is set aside instead of coming back for ever.
func (r *reader) understand(evt *events.Message) (got reading, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			ok, err = false, &strange{fmt.Errorf("whatsapp: understand message %s: panic of type %T", evt.Info.ID, p)}
		}
	}()
	return r.read(evt)
}
