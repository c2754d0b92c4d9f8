package wasim

import (
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
)

// now is the time as stanzas say it.
func (s *Server) now() int64 { return s.options.Clock().Unix() }

// handle does what one stanza of a client asks for.
func (s *Server) handle(c *conn, n *waBinary.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	s.counts[n.Tag]++
	if n.Tag == "iq" {
		s.handleQuery(c, n)
		return
	}
	if n.Tag == "ack" && c.parts(text(n.Attrs["id"])) {
		c.cut()
		return
	}
	d := c.device
	if d == nil {
		return // only queries are answered before the login
	}
	switch n.Tag {
	case "message":
		s.handleMessage(d, n)
	case "receipt":
		s.handleReceipt(d, n)
	case "ack":
		if n.Attrs["error"] != nil {
			s.counts["ack:error"]++
		}
		if !s.Faults.loseReceipts {
			d.settle(stanzaKey(text(n.Attrs["class"]), n.Attrs, "to"))
		}
	case "chatstate":
		s.handleTyping(n)
	case "presence":
		if kind := text(n.Attrs["type"]); kind != "" {
			s.counts["presence:"+kind]++
		}
	case "ib": // telemetry
	default:
		s.options.Logf("wasim: what is a %s?", n.Tag)
	}
}

// handleReceipt takes a receipt for messages. Any receipt but a retry says
// that the message is kept; it need not be sent again.
func (s *Server) handleReceipt(d *device, n *waBinary.Node) {
	kind, id := text(n.Attrs["type"]), text(n.Attrs["id"])
	s.counts["receipt:"+kind]++
	if s.Faults.loseReceipts {
		return
	}
	d.conn.send(waBinary.Node{Tag: "ack", Attrs: waBinary.Attrs{
		"class": "receipt", "id": id, "from": n.Attrs["to"], "type": n.Attrs["type"], "participant": n.Attrs["participant"],
	}})
	switch kind {
	case "retry":
		p, count := s.posts[id], text(n.GetChildByTag("retry").Attrs["count"])
		if p == nil || p.author == nil {
			return
		}
		again := func() {
			p.author.party.forget(d.lid.SignalAddress())
			s.deliverAgain(p, d, count)
		}
		if s.Faults.ignoreRetries {
			s.Faults.ignored = append(s.Faults.ignored, again)
			return
		}
		again()
	case "read", "read-self", "played":
		ids := []string{id}
		if list, ok := n.GetOptionalChildByTag("list"); ok {
			for _, item := range list.GetChildren() {
				ids = append(ids, text(item.Attrs["id"]))
			}
		}
		for _, id := range ids {
			if p := s.posts[id]; p != nil && p.isFrom(n) {
				p.read = true
			}
		}
	default:
		d.settle(stanzaKey("message", n.Attrs, "to"))
	}
}

// isFrom reports whether a receipt is addressed to where p came from.
func (p *post) isFrom(receipt *waBinary.Node) bool {
	to, _ := receipt.Attrs["to"].(types.JID)
	if p.group != nil {
		author, _ := receipt.Attrs["participant"].(types.JID)
		return to == p.group.jid() && p.author.is(author)
	}
	return p.author.is(to)
}

// is reports whether jid is one of c's names.
func (c *Contact) is(jid types.JID) bool { return c != nil && (jid == c.lid || jid == c.pn) }

// handleTyping shows a sign. One that is not addressed as the chat is, by LID or
// by number, is not shown to anybody.
func (s *Server) handleTyping(n *waBinary.Node) {
	to, _ := n.Attrs["to"].(types.JID)
	typing := false
	for _, child := range n.GetChildren() {
		typing = child.Tag == "composing"
	}
	if g := s.groups[to.User]; g != nil && to.Server == types.GroupServer {
		g.typing = typing
	} else if c := s.contacts[to.User]; c != nil && to == c.address() {
		c.typing = typing
		if typing {
			c.typings++
		}
	}
}

// handleMessage delivers what a device wrote and acknowledges it.
func (s *Server) handleMessage(d *device, n *waBinary.Node) {
	id, to := text(n.Attrs["id"]), text(n.Attrs["to"])
	if s.Faults.dropsBefore() {
		d.conn.cut()
		return
	}
	ack := waBinary.Node{Tag: "ack", Attrs: waBinary.Attrs{"class": "message", "id": id, "from": n.Attrs["to"], "t": s.now()}}
	if s.Faults.refuseSends != 0 {
		ack.Attrs["error"] = s.Faults.refuseSends
		s.Faults.refusals--
		if s.Faults.refusals == 0 {
			s.Faults.refuseSends = 0
		}
		d.conn.send(ack)
		return
	}
	if to == "" || id == "" {
		s.options.Logf("wasim: message without address or id: %s", n)
		return
	}
	s.carry(d, n)
	if s.Faults.dropsAfter() {
		d.conn.cut()
		return
	}
	if s.Faults.holdAcks || s.Faults.holdAcksTo[s.addressee(n)] {
		s.Faults.held = append(s.Faults.held, heldAck{d.conn, ack})
		return
	}
	d.conn.send(ack)
}

// addressee is who gets a private message.
func (s *Server) addressee(n *waBinary.Node) *Contact {
	to, _ := n.Attrs["to"].(types.JID)
	return s.contacts[to.User]
}

// carry brings a message of d to everyone that it was encrypted for.
func (s *Server) carry(d *device, n *waBinary.Node) {
	to, _ := n.Attrs["to"].(types.JID)
	group := s.groups[to.User]
	if to.Server != types.GroupServer {
		group = nil
	}
	var forAll []waBinary.Node // encrypted once for a whole group, or for to alone
	for _, child := range n.GetChildren() {
		if child.Tag == "enc" {
			forAll = append(forAll, child)
		}
	}
	if recipients, ok := n.GetOptionalChildByTag("participants"); ok {
		for _, child := range recipients.GetChildren() {
			jid, _ := child.Attrs["jid"].(types.JID)
			s.bring(d, n, group, jid, append(child.GetChildrenByTag("enc"), forAll...))
		}
		return
	}
	if jid, ok := n.Attrs["participant"].(types.JID); ok {
		to = jid // one member asked for it again
	}
	s.bring(d, n, group, to, forAll)
}

// bring gives one recipient its part of a message.
func (s *Server) bring(d *device, n *waBinary.Node, group *Group, to types.JID, parts []waBinary.Node) {
	person := s.contacts[to.User]
	if person == nil {
		s.options.Logf("wasim: message for unknown %s", to)
		return
	}
	if other := s.devices[to.Device]; person == s.owner && to.Device != 0 {
		if other != nil {
			s.passOn(d, other, n, parts)
		}
		return
	}
	person.receive(d, n, group, parts)
}

// passOn brings a message to another device of the same account.
func (s *Server) passOn(d, other *device, n *waBinary.Node, parts []waBinary.Node) {
	attrs := waBinary.Attrs{"from": d.lid, "id": n.Attrs["id"], "type": n.Attrs["type"], "t": s.now(), "notify": s.owner.name}
	to, _ := n.Attrs["to"].(types.JID)
	if to.Server == types.GroupServer {
		attrs["from"] = to
		attrs["participant"] = d.lid
		attrs["participant_pn"] = d.pn
		attrs["addressing_mode"] = "lid"
	} else {
		attrs["recipient"], attrs["peer_recipient_pn"] = to, n.Attrs["peer_recipient_pn"]
	}
	if n.Attrs["edit"] != nil {
		attrs["edit"] = n.Attrs["edit"]
	}
	content := append([]waBinary.Node(nil), parts...)
	if identity, ok := n.GetOptionalChildByTag("device-identity"); ok {
		content = append(content, identity)
	}
	other.enqueue(waBinary.Node{Tag: "message", Attrs: attrs, Content: content})
}
