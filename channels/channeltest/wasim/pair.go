package wasim

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"go.mau.fi/libsignal/ecc"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// ErrPairing says that a pairing did not come about.
var ErrPairing = errors.New("wasim: pairing failed")

// codesOffered is how many QR codes a client gets to show one after another.
const codesOffered = 6

// offerPairing lets a client without an account show QR codes.
func (s *Server) offerPairing(c *conn) {
	var refs []waBinary.Node
	for range codesOffered {
		ref := "2@" + newID()
		s.pairing[ref] = c
		refs = append(refs, waBinary.Node{Tag: "ref", Content: []byte(ref)})
	}
	c.send(waBinary.Node{
		Tag: "iq", Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "set", "id": newID(), "xmlns": "md"},
		Content: []waBinary.Node{{Tag: "pair-device", Content: refs}},
	})
}

// Scan is the owner's phone scanning a QR code. It returns when the device has
// agreed and is linked.
func (s *Server) Scan(ctx context.Context, qr string) error {
	if _, after, ok := strings.Cut(qr, "#"); ok {
		qr = after
	}
	parts := strings.Split(qr, ",")
	if len(parts) < 4 {
		return fmt.Errorf("%w: the code has %d parts", ErrPairing, len(parts))
	}
	var raw [3][]byte
	for i := range raw {
		var err error
		if raw[i], err = base64.StdEncoding.DecodeString(parts[i+1]); err != nil || len(raw[i]) != 32 {
			return fmt.Errorf("%w: part %d of the code is not a key", ErrPairing, i+2)
		}
	}
	s.mu.Lock()
	c := s.pairing[parts[0]]
	if c == nil {
		s.mu.Unlock()
		return fmt.Errorf("%w: the code is not, or no longer, valid", ErrPairing)
	}
	known := c.payload.GetDevicePairingData().GetEIdent()
	if c.static != [32]byte(raw[0]) || [32]byte(known) != [32]byte(raw[1]) {
		s.mu.Unlock()
		return fmt.Errorf("%w: the code has other keys than the connection", ErrPairing)
	}
	w, err := s.proposePairing(c, raw[2])
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.waitPaired(ctx, c, w)
}

// wedding is a pairing that waits for the device's yes.
type wedding struct {
	id      string
	device  *device
	details []byte
	done    bool
	err     error
}

// proposePairing sends the owner's signature over the device. The lock is held.
func (s *Server) proposePairing(c *conn, secret []byte) (*wedding, error) {
	data := c.payload.GetDevicePairingData()
	if len(data.GetEIdent()) != 32 || len(data.GetESkeyVal()) != 32 || len(data.GetESkeySig()) != 64 ||
		len(data.GetERegid()) != 4 || len(data.GetESkeyID()) != 3 {
		return nil, fmt.Errorf("%w: the client's keys are malformed", ErrPairing)
	}
	s.lastID++
	d := deviceOf(data, c.static)
	d.pn, d.lid = s.owner.pn, s.owner.lid
	d.pn.Device, d.lid.Device = s.lastID, s.lastID
	w := &wedding{id: newID(), device: d, details: s.deviceDetails(s.lastID)}
	identity, err := proto.Marshal(s.owner.vouch(w.details, d.identity))
	if err != nil {
		panic(fmt.Sprintf("wasim: vouch for device: %v", err))
	}
	h := hmac.New(sha256.New, secret)
	h.Write(identity)
	signed, err := proto.Marshal(&waAdv.ADVSignedDeviceIdentityHMAC{Details: identity, HMAC: h.Sum(nil)})
	if err != nil {
		panic(fmt.Sprintf("wasim: vouch for device: %v", err))
	}
	c.wedding = w
	c.send(waBinary.Node{
		Tag: "iq", Attrs: waBinary.Attrs{"from": types.ServerJID, "type": "set", "id": w.id, "t": s.now(), "xmlns": "md"},
		Content: []waBinary.Node{{Tag: "pair-success", Content: []waBinary.Node{
			{Tag: "device-identity", Content: signed},
			{Tag: "device", Attrs: waBinary.Attrs{"jid": d.pn, "lid": d.lid}},
			{Tag: "platform", Attrs: waBinary.Attrs{"name": "android"}},
		}}},
	})
	return w, nil
}

func deviceOf(data *waWa6.ClientPayload_DevicePairingRegistrationData, noise [32]byte) *device {
	return &device{
		noise: noise, identity: [32]byte(data.GetEIdent()), registration: binary.BigEndian.Uint32(data.GetERegid()),
		signed: signedKey{
			onceKey{binary.BigEndian.Uint32(append([]byte{0}, data.GetESkeyID()...)), [32]byte(data.GetESkeyVal())},
			[64]byte(data.GetESkeySig()),
		},
	}
}

// pairAnswer takes the device's yes or no and, at a yes, asks it to connect
// again with its new account. The lock is held.
func (s *Server) pairAnswer(c *conn, n *waBinary.Node) {
	w := c.wedding
	if w == nil || w.done || text(n.Attrs["id"]) != w.id {
		return
	}
	w.done = true
	if w.err = s.checkYes(w, n); w.err != nil {
		return
	}
	for ref, waiting := range s.pairing {
		if waiting == c {
			delete(s.pairing, ref)
		}
	}
	s.link(w.device)
	c.end(streamError(515))
}

// checkYes checks that the device signed what it was to sign.
func (s *Server) checkYes(w *wedding, n *waBinary.Node) error {
	if text(n.Attrs["type"]) != "result" {
		return fmt.Errorf("%w: the device refused", ErrPairing)
	}
	raw, _ := n.GetChildByTag("pair-device-sign", "device-identity").Content.([]byte)
	var identity waAdv.ADVSignedDeviceIdentity
	if err := proto.Unmarshal(raw, &identity); err != nil {
		return fmt.Errorf("%w: the device's answer: %w", ErrPairing, err)
	}
	owner := s.owner.party.device.IdentityKey.Pub[:]
	message := join([]byte{6, 1}, w.details, w.device.identity[:], owner)
	if len(identity.GetDeviceSignature()) != 64 ||
		!ecc.VerifySignature(ecc.NewDjbECPublicKey(w.device.identity), message, [64]byte(identity.GetDeviceSignature())) {
		return fmt.Errorf("%w: the device's signature is wrong", ErrPairing)
	}
	return nil
}

// waitPaired waits for the answer, or for the connection to go away.
func (s *Server) waitPaired(ctx context.Context, c *conn, w *wedding) error {
	var err error
	gone := false
	waited := s.Wait(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		err, gone = w.err, !s.conns[c] && !w.done
		return w.done || gone
	})
	switch {
	case waited != nil:
		return waited
	case gone:
		return fmt.Errorf("%w: the client has gone", ErrPairing)
	}
	return err
}
