package wasim

import (
	"context"
	"fmt"
	"slices"
	"time"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// Group is a group chat. The owner is always made a member.
type Group struct {
	s       *Server // its lock guards the rest
	id      string
	name    string
	members []*Contact
	byPhone bool
	typing  bool
}

// Group makes a group of the owner and members.
func (s *Server) Group(name string, members ...*Contact) *Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &Group{
		s: s, id: fmt.Sprintf("1203630000000%05d", len(s.groups)+1), name: name, byPhone: s.options.ByPhone,
		members: append([]*Contact{s.owner}, members...),
	}
	s.groups[g.id] = g
	return g
}

// JID is the group's address.
func (g *Group) JID() types.JID { return g.jid() }

// Name is the group's subject.
func (g *Group) Name() string { return g.name }

// GoByPhone makes the group one whose members go by phone numbers, or not.
func (g *Group) GoByPhone(on bool) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.byPhone = on
}

// Received is what devices wrote, as the first member but the owner sees it.
func (g *Group) Received() []Message {
	for _, m := range g.people() {
		if m != g.s.owner {
			return m.ReceivedIn(g)
		}
	}
	return nil
}

// Texts is Received without what was taken back, and only the texts.
func (g *Group) Texts() []string { return texts(g.Received()) }

// WaitReceived waits until every member has n messages of devices.
func (g *Group) WaitReceived(ctx context.Context, n int) ([]Message, error) {
	err := g.s.Wait(ctx, func() bool {
		return !slices.ContainsFunc(g.people(), func(m *Contact) bool { return len(m.ReceivedIn(g)) < n })
	})
	return g.Received(), err
}

// Typing reports whether a device is writing in the group right now.
func (g *Group) Typing() bool {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	return g.typing
}

// Add makes people members and tells the devices.
func (g *Group) Add(people ...*Contact) { g.change("add", people) }

// Remove takes people out and tells the devices. The owner may be among them.
func (g *Group) Remove(people ...*Contact) { g.change("remove", people) }

// SetTimer changes how long messages live, and tells the devices; 0: for ever.
func (g *Group) SetTimer(d time.Duration) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	word := waBinary.Node{Tag: "not_ephemeral"}
	if d > 0 {
		word = waBinary.Node{Tag: "ephemeral", Attrs: waBinary.Attrs{"expiration": int(d.Seconds())}}
	}
	g.notify(word)
}

func (g *Group) change(what string, people []*Contact) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	var changed []waBinary.Node
	for _, person := range people {
		g.members = slices.DeleteFunc(g.members, func(m *Contact) bool { return m == person })
		if what == "add" {
			g.members = append(g.members, person)
		}
		changed = append(changed, g.participant(person))
	}
	g.notify(waBinary.Node{Tag: what, Content: changed})
}

// notify tells the devices of a change of the group. The lock is held.
func (g *Group) notify(change waBinary.Node) {
	for _, d := range g.s.sortedDevices() {
		d.enqueue(waBinary.Node{
			Tag: "notification",
			Attrs: waBinary.Attrs{
				"from": g.jid(), "type": "w:gp2", "id": newID(), "t": g.s.now(), "participant": g.addressOf(g.s.owner),
			},
			Content: []waBinary.Node{change},
		})
	}
	g.s.notify()
}

func (g *Group) people() []*Contact {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	return slices.Clone(g.members)
}

// The lock is held in everything below.

func (g *Group) jid() types.JID { return types.NewJID(g.id, types.GroupServer) }

// addressOf is how a person is called in the group; where there is no group,
// how they go themselves.
func (g *Group) addressOf(c *Contact) types.JID {
	switch {
	case g == nil:
		return c.address()
	case g.byPhone:
		return c.pn
	}
	return c.lid
}

// sender is who c is in the group, as attributes of a stanza.
func (g *Group) sender(c *Contact) waBinary.Attrs {
	attrs := waBinary.Attrs{"from": g.jid(), "participant": c.lid, "participant_pn": c.pn, "addressing_mode": "lid"}
	if g.byPhone {
		attrs = waBinary.Attrs{"from": g.jid(), "participant": c.pn, "participant_lid": c.lid, "addressing_mode": "pn"}
	}
	if c.hideAlt {
		delete(attrs, "participant_pn")
		delete(attrs, "participant_lid")
	}
	return attrs
}

func (g *Group) participant(c *Contact) waBinary.Node {
	attrs := waBinary.Attrs{"jid": c.lid, "phone_number": c.pn}
	if g.byPhone {
		attrs = waBinary.Attrs{"jid": c.pn, "lid": c.lid}
	}
	return waBinary.Node{Tag: "participant", Attrs: attrs}
}

func (g *Group) describe() waBinary.Node {
	mode := "lid"
	if g.byPhone {
		mode = "pn"
	}
	var people []waBinary.Node
	for _, m := range g.members {
		people = append(people, g.participant(m))
	}
	return waBinary.Node{
		Tag: "group",
		Attrs: waBinary.Attrs{
			"id": g.id, "subject": g.name, "creation": g.s.now(), "creator": g.addressOf(g.members[0]),
			"s_t": g.s.now(), "s_o": g.addressOf(g.members[0]), "addressing_mode": mode, "size": len(g.members),
		},
		Content: people,
	}
}
