package wasim

import (
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// receive is c's phone getting a message of d. The lock is held, as in all of
// this file.
func (c *Contact) receive(d *device, n *waBinary.Node, g *Group, parts []waBinary.Node) {
	id := text(n.Attrs["id"])
	if m := c.seen[id]; m != nil {
		m.Copies++ // its keys are used up; a phone knows it by its id
		return
	}
	var message *waE2E.Message
	for _, part := range parts {
		plain, err := c.open(d, g, part)
		if err != nil {
			c.s.options.Logf("%v", err)
			c.askAgain(d, n, g)
			return
		}
		m := &waE2E.Message{}
		if err := proto.Unmarshal(plain, m); err != nil {
			c.s.options.Logf("wasim: read message %s: %v", id, err)
			return
		}
		if skdm := m.GetSenderKeyDistributionMessage(); skdm != nil && g != nil {
			if err := c.party.learn(g.jid().String(), d.lid.SignalAddress(), skdm.GetAxolotlSenderKeyDistributionMessage()); err != nil {
				c.s.options.Logf("%v", err)
			}
		}
		message = m
	}
	if message == nil {
		return
	}
	if text(n.Attrs["category"]) == "peer" {
		c.s.counts["peer"]++
		return
	}
	d.enqueue(c.receipt(id, g, ""))
	c.show(d, id, g, message)
}

// open decrypts one part of a message.
func (c *Contact) open(d *device, g *Group, part waBinary.Node) ([]byte, error) {
	data, _ := part.Content.([]byte)
	if kind := text(part.Attrs["type"]); kind != "skmsg" || g == nil {
		return c.party.decrypt(d.lid.SignalAddress(), kind, data)
	}
	return c.party.decryptGroup(g.jid().String(), d.lid.SignalAddress(), data)
}

// askAgain tells d that c's phone cannot read a message, with keys for a new
// session.
func (c *Contact) askAgain(d *device, n *waBinary.Node, g *Group) {
	id := text(n.Attrs["id"])
	c.s.counts["unreadable"]++
	receipt := c.receipt(id, g, "retry")
	if c == c.s.owner && g == nil {
		receipt.Attrs = waBinary.Attrs{"id": id, "type": "retry", "t": c.s.now(), "from": c.lid, "recipient": n.Attrs["to"]}
	}
	receipt.Content = []waBinary.Node{
		{Tag: "retry", Attrs: waBinary.Attrs{"id": id, "count": 1, "t": c.s.now(), "v": 1}},
		c.party.registration(),
		{Tag: "keys", Content: c.party.offer()},
	}
	d.enqueue(receipt)
}

// show puts a message where c's phone shows it.
func (c *Contact) show(d *device, id string, g *Group, message *waE2E.Message) {
	chat := ""
	if g != nil {
		chat = g.id
	}
	m := &Message{ID: id, In: g, Copies: 1, Time: c.s.options.Clock()}
	c.seen[id] = m
	if sent := message.GetDeviceSentMessage(); sent != nil {
		to, _ := types.ParseJID(sent.GetDestinationJID())
		if other := c.s.contacts[to.User]; other != nil && other != c.s.owner {
			chat = other.number
		}
		message = sent.GetMessage()
	}
	message, m.ViewOnce = unwrap(message)
	switch {
	case message.GetProtocolMessage() != nil:
		c.change(chat, message.GetProtocolMessage())
	case message.GetReactionMessage() != nil:
		r := message.GetReactionMessage()
		c.s.react(r.GetKey().GetID(), c.s.owner.number, r.GetText())
	default:
		c.fill(m, message)
		if m.Text == "" && m.Media == nil {
			return // a key for a group and nothing else
		}
		c.s.remember(&post{id: id, group: g, device: d})
		c.chats[chat] = append(c.chats[chat], m)
	}
}

// change does an edit or takes a message back.
func (c *Contact) change(chat string, p *waE2E.ProtocolMessage) {
	for _, m := range c.chats[chat] {
		if m.ID != p.GetKey().GetID() {
			continue
		}
		switch p.GetType() {
		case waE2E.ProtocolMessage_REVOKE:
			m.Deleted = true
		case waE2E.ProtocolMessage_MESSAGE_EDIT:
			edited, _ := unwrap(p.GetEditedMessage())
			m.Text, _ = words(edited)
			m.Edits++
			m.Time = c.s.options.Clock()
		}
	}
}

// unwrap takes off what a message may be wrapped in.
func unwrap(m *waE2E.Message) (inner *waE2E.Message, viewOnce bool) {
	for {
		switch {
		case m.GetEphemeralMessage() != nil:
			m = m.GetEphemeralMessage().GetMessage()
		case m.GetEditedMessage() != nil:
			m = m.GetEditedMessage().GetMessage()
		case m.GetDocumentWithCaptionMessage() != nil:
			m = m.GetDocumentWithCaptionMessage().GetMessage()
		case m.GetViewOnceMessage() != nil:
			m, viewOnce = m.GetViewOnceMessage().GetMessage(), true
		case m.GetViewOnceMessageV2() != nil:
			m, viewOnce = m.GetViewOnceMessageV2().GetMessage(), true
		default:
			return m, viewOnce
		}
	}
}

// words are the text of a message and what it refers to.
func words(m *waE2E.Message) (string, *waE2E.ContextInfo) {
	switch {
	case m.GetExtendedTextMessage() != nil:
		return m.GetExtendedTextMessage().GetText(), m.GetExtendedTextMessage().GetContextInfo()
	case m.GetImageMessage() != nil:
		return m.GetImageMessage().GetCaption(), m.GetImageMessage().GetContextInfo()
	case m.GetVideoMessage() != nil:
		return m.GetVideoMessage().GetCaption(), m.GetVideoMessage().GetContextInfo()
	case m.GetDocumentMessage() != nil:
		return m.GetDocumentMessage().GetCaption(), m.GetDocumentMessage().GetContextInfo()
	case m.GetAudioMessage() != nil:
		return "", m.GetAudioMessage().GetContextInfo()
	}
	return m.GetConversation(), nil
}

// fill takes over what a message says.
func (c *Contact) fill(m *Message, message *waE2E.Message) {
	said, info := words(message)
	m.Text, m.Quote = said, info.GetStanzaID()
	m.Expires = time.Duration(info.GetExpiration()) * time.Second
	for _, mentioned := range info.GetMentionedJID() {
		jid, err := types.ParseJID(mentioned)
		if person := c.s.contacts[jid.User]; err == nil && person != nil {
			m.Mentions = append(m.Mentions, person.Number())
		}
	}
	m.Media = c.s.fetch(message)
}

// react notes a reaction; an empty one takes the last one away.
func (s *Server) react(id, who, emoji string) {
	p := s.posts[id]
	switch {
	case p == nil:
	case emoji == "":
		delete(p.reactions, who)
	default:
		p.reactions[who] = emoji
	}
}

// remember keeps a message that others may refer to.
func (s *Server) remember(p *post) {
	if s.posts[p.id] == nil {
		p.reactions = map[string]string{}
		s.posts[p.id] = p
	}
}
