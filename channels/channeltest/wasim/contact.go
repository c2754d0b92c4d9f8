package wasim

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// Contact is a person with a phone. The [Server.Owner] is one too: what the
// owner writes reaches the linked devices as the account's own messages.
type Contact struct {
	s      *Server // its lock guards the rest
	number string
	name   string
	pn     types.JID
	lid    types.JID
	party  *party

	byPhone bool
	hideAlt bool
	typing  bool
	typings int
	seen    map[string]*Message   // by id, to know what comes twice
	chats   map[string][]*Message // what the phone shows, by chat
}

// Message is what a phone shows of one message that a device wrote.
type Message struct {
	ID       string
	In       *Group // nil in a private chat
	Text     string // or the caption
	Quote    string // the id of the message that is answered
	Mentions []string
	Media    *Media
	Edits    int  // how often the text was changed
	Deleted  bool // taken back
	ViewOnce bool
	Expires  time.Duration // it goes away after this; 0: never
	// Copies is how often the message came, which is more than once if it was
	// sent again under the same id. A phone shows it once.
	Copies int
	Time   time.Time // of the newest text
}

// Contact returns the person with that phone number and makes one if there is
// none.
func (s *Server) Contact(number, name string) *Contact {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.contacts[digits(number)]; c != nil {
		return c
	}
	return s.newContact(digits(number), name)
}

// Owner is the person whose account the devices are linked to.
func (s *Server) Owner() *Contact { return s.owner }

func (s *Server) newContact(number, name string) *Contact {
	// The hidden id follows from the number, so that it is the same after the
	// server was started anew with an old device.
	h := fnv.New64a()
	_, _ = h.Write([]byte(number))
	lid := fmt.Sprint(100_000_000_000_000 + h.Sum64()%900_000_000_000_000)
	c := &Contact{
		s: s, number: number, name: name, party: newParty(), byPhone: s.options.ByPhone,
		pn: types.NewJID(number, types.DefaultUserServer), lid: types.NewJID(lid, types.HiddenUserServer),
		seen: map[string]*Message{}, chats: map[string][]*Message{},
	}
	s.contacts[number], s.contacts[lid] = c, c
	return c
}

// Number is the phone number, "+" and digits.
func (c *Contact) Number() string { return "+" + c.number }

// Name is what the person goes by.
func (c *Contact) Name() string { return c.name }

// PN is the address by phone number.
func (c *Contact) PN() types.JID { return c.pn }

// LID is the hidden address.
func (c *Contact) LID() types.JID { return c.lid }

// GoByPhone makes what c writes come from the phone number's address instead
// of the hidden one, or the other way round.
func (c *Contact) GoByPhone(on bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.byPhone = on
}

// HideOther leaves out the other one of c's addresses from what c writes, so
// that a client cannot tell from it who that is.
func (c *Contact) HideOther(on bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.hideAlt = on
}

// Reinstall makes all keys of c's phone new. What devices encrypt for the old
// keys cannot be read and is asked for again.
func (c *Contact) Reinstall() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.party.renew()
	for _, d := range c.s.devices {
		for key := range d.told {
			if strings.HasSuffix(key, toldKey("", c)) {
				delete(d.told, key)
			}
		}
	}
}

// Received is what devices wrote in the private chat, as c's phone shows it
// now, oldest first. For the owner it is the chat with oneself.
func (c *Contact) Received() []Message { return c.shown("") }

// ReceivedIn is what devices wrote in a group, as c's phone shows it.
func (c *Contact) ReceivedIn(g *Group) []Message { return c.shown(g.id) }

// CopiesTo is what the owner's phone shows of what devices wrote to another.
func (c *Contact) CopiesTo(other *Contact) []Message { return c.shown(other.number) }

func (c *Contact) shown(chat string) []Message {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	var all []Message
	for _, m := range c.chats[chat] {
		all = append(all, *m)
	}
	return all
}

// Texts is Received without what was taken back, and only the texts.
func (c *Contact) Texts() []string { return texts(c.Received()) }

func texts(messages []Message) []string {
	var all []string
	for _, m := range messages {
		if !m.Deleted {
			all = append(all, m.Text)
		}
	}
	return all
}

// WaitReceived waits until n messages are in the private chat.
func (c *Contact) WaitReceived(ctx context.Context, n int) ([]Message, error) {
	err := c.s.Wait(ctx, func() bool { return len(c.Received()) >= n })
	return c.Received(), err
}

// WaitText waits until the private chat shows that text.
func (c *Contact) WaitText(ctx context.Context, text string) error {
	return c.s.Wait(ctx, func() bool { return slices.Contains(c.Texts(), text) })
}

// Typing reports whether a device is writing to c right now, and how often it
// said so since the server was started.
func (c *Contact) Typing() (now bool, times int) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.typing, c.typings
}

// HasRead reports whether a device has marked that message as read.
func (s *Server) HasRead(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.posts[id]
	return p != nil && p.read
}

// Reactions are the emojis that a message has, by the number of who reacted.
// Those of the linked devices stand under the owner's number.
func (s *Server) Reactions(id string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	if p := s.posts[id]; p != nil {
		for who, emoji := range p.reactions {
			all[who] = emoji
		}
	}
	return all
}

// SayTyping shows the linked devices that are there that c is writing, or has
// stopped.
func (c *Contact) SayTyping(on bool) {
	tag := "paused"
	if on {
		tag = "composing"
	}
	c.s.Faults.each(func(_ *device, l *conn) {
		l.send(waBinary.Node{Tag: "chatstate", Attrs: c.sender(), Content: []waBinary.Node{{Tag: tag}}})
	})
}

// MarkRead tells the linked devices that c has read what they wrote.
func (c *Contact) MarkRead(ids ...string) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for _, d := range c.s.sortedDevices() {
		for _, id := range ids {
			d.enqueue(c.receipt(id, nil, "read"))
		}
	}
	c.s.notify()
}

// sender is who c is in a private chat, as attributes of a stanza.
func (c *Contact) sender() waBinary.Attrs {
	attrs := waBinary.Attrs{"from": c.lid, "sender_pn": c.pn, "addressing_mode": "lid"}
	if c.byPhone {
		attrs = waBinary.Attrs{"from": c.pn, "sender_lid": c.lid, "addressing_mode": "pn"}
	}
	if c.hideAlt {
		delete(attrs, "sender_pn")
		delete(attrs, "sender_lid")
	}
	return attrs
}

// receipt is a receipt of c for a device's message.
func (c *Contact) receipt(id string, g *Group, kind string) waBinary.Node {
	attrs := c.sender()
	if g != nil {
		attrs = g.sender(c)
	}
	attrs["id"], attrs["t"] = id, c.s.now()
	if kind != "" {
		attrs["type"] = kind
	}
	return waBinary.Node{Tag: "receipt", Attrs: attrs}
}
