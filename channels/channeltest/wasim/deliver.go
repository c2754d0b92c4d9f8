package wasim

import (
	"fmt"

	"go.mau.fi/libsignal/protocol"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

// deliver encrypts a post for d and queues it. Errors here can only come from
// the simulator's own keys, so they are bugs. The lock is held, as in all of
// this file.
func (s *Server) deliver(p *post, d *device) {
	var content []waBinary.Node
	if p.group == nil {
		content = append(content, s.seal(p, d, p.plain))
	} else {
		if told := toldKey(p.group.id, p.author); !d.told[told] {
			d.told[told] = true
			content = append(content, s.seal(p, d, s.groupKey(p)))
		}
		content = append(content, enc(p, "skmsg", p.sealed))
	}
	if s.Faults.garbles() {
		last := &content[len(content)-1]
		*last = garble(*last)
		if p.group != nil {
			content = content[len(content)-1:]
			delete(d.told, toldKey(p.group.id, p.author))
		}
	}
	d.enqueue(waBinary.Node{Tag: "message", Attrs: p.attrs, Content: content})
}

// deliverAgain answers a device that could not decrypt a post.
func (s *Server) deliverAgain(p *post, d *device, count string) {
	plain := p.plain
	if p.group != nil {
		both := &waE2E.Message{}
		if err := proto.Unmarshal(plain, both); err != nil {
			panic(fmt.Sprintf("wasim: write message again: %v", err))
		}
		key := &waE2E.Message{}
		if err := proto.Unmarshal(s.groupKey(p), key); err != nil {
			panic(fmt.Sprintf("wasim: write message again: %v", err))
		}
		both.SenderKeyDistributionMessage = key.GetSenderKeyDistributionMessage()
		var err error
		if plain, err = proto.Marshal(both); err != nil {
			panic(fmt.Sprintf("wasim: write message again: %v", err))
		}
	}
	sealed := s.seal(p, d, plain)
	sealed.Attrs["count"] = count
	d.enqueue(waBinary.Node{Tag: "message", Attrs: p.attrs, Content: []waBinary.Node{sealed}})
}

// seal encrypts for one device.
func (s *Server) seal(p *post, d *device, plain []byte) waBinary.Node {
	kind, data, err := p.author.party.encrypt(d.lid.SignalAddress(), d.bundle, plain)
	if err != nil {
		panic(err.Error())
	}
	return enc(p, kind, data)
}

// sealForGroup encrypts once for everybody.
func (s *Server) sealForGroup(p *post) {
	group, self := p.group.jid().String(), p.author.lid.SignalAddress()
	// Creating the key has to come first; later it only reads it.
	if _, err := p.author.party.distribution(group, self); err != nil {
		panic(err.Error())
	}
	p.keyBefore = s.groupKeyNow(p)
	sealed, err := p.author.party.encryptGroup(group, self, p.plain)
	if err != nil {
		panic(err.Error())
	}
	p.sealed = sealed
}

// groupKeyNow is the message that carries the author's key for the group, as
// it stands: whoever has it can read what is encrypted from now on.
func (s *Server) groupKeyNow(p *post) []byte {
	group := p.group.jid().String()
	key, err := p.author.party.distribution(group, p.author.lid.SignalAddress())
	if err != nil {
		panic(err.Error())
	}
	plain, err := proto.Marshal(&waE2E.Message{SenderKeyDistributionMessage: &waE2E.SenderKeyDistributionMessage{
		GroupID: &group, AxolotlSenderKeyDistributionMessage: key,
	}})
	if err != nil {
		panic(fmt.Sprintf("wasim: write key: %v", err))
	}
	return plain
}

// groupKey is the key as it stood before p was encrypted, so that p can be
// read with it.
func (s *Server) groupKey(p *post) []byte { return p.keyBefore }

func enc(p *post, kind string, data []byte) waBinary.Node {
	attrs := waBinary.Attrs{"type": kind}
	for k, v := range p.enc {
		attrs[k] = v
	}
	return waBinary.Node{Tag: "enc", Attrs: attrs, Content: data}
}

// garble makes of a sealed part what a device gets whose session is lost: a
// message of a session that it does not have, or a wrong signature.
func garble(n waBinary.Node) waBinary.Node {
	data, _ := n.Content.([]byte)
	if n.Attrs["type"] == "pkmsg" {
		first, err := protocol.NewPreKeySignalMessageFromBytes(data, serializer.PreKeySignalMessage, serializer.SignalMessage)
		if err != nil {
			panic(err.Error())
		}
		data = first.WhisperMessage().Serialize()
		n.Attrs["type"] = "msg"
	}
	data = append([]byte(nil), data...)
	data[len(data)-1] ^= 0x40
	n.Content = data
	return n
}

// toldKey says that a device has been given author's key for a group.
func toldKey(group string, author *Contact) string { return group + " " + author.number }
