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
	if nothing, is := s.Faults.withholds(); is {
		d.enqueue(waBinary.Node{Tag: "message", Attrs: p.attrs, Content: []waBinary.Node{nothing}})
		return
	}
	var content []waBinary.Node
	if p.group == nil {
		content = append(content, s.seal(p, d, p.plain))
	} else {
		if told := toldKey(p.group.id, p.author); !d.told[told] {
			d.told[told] = true
			content = append(content, s.seal(p, d, marshal(&waE2E.Message{SenderKeyDistributionMessage: p.key})))
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
		both.SenderKeyDistributionMessage = p.key
		plain = marshal(both)
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

// sealForGroup encrypts once for everybody, and keeps the author's key as it
// stood just before: whoever has that can read what is encrypted from then on.
func (s *Server) sealForGroup(p *post) {
	group, self := p.group.jid().String(), p.author.lid.SignalAddress()
	key, err := p.author.party.distribution(group, self)
	if err != nil {
		panic(err.Error())
	}
	p.key = &waE2E.SenderKeyDistributionMessage{GroupID: &group, AxolotlSenderKeyDistributionMessage: key}
	if p.sealed, err = p.author.party.encryptGroup(group, self, p.plain); err != nil {
		panic(err.Error())
	}
}

// marshal is for messages of our own making, which are always sound.
func marshal(m *waE2E.Message) []byte {
	plain, err := proto.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("wasim: write message: %v", err))
	}
	return plain
}

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
