package wasim

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"

	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/hkdfutil"
	"go.mau.fi/whatsmeow/util/keys"
	"golang.org/x/crypto/curve25519"
)

// codePairing is a pairing by a code that the owner types into the phone.
type codePairing struct {
	conn      *conn
	ref       string
	companion []byte // the client's ephemeral key, locked with the code
	shared    []byte // what both phones' ephemeral keys make, once the code was entered

	err     error
	wedding *wedding
}

// pairByCode takes the client's two steps.
func pairByCode(s *Server, c *conn, n *waBinary.Node) ([]waBinary.Node, int) {
	reg := n.GetChildByTag("link_code_companion_reg")
	switch text(reg.Attrs["stage"]) {
	case "companion_hello":
		jid, _ := reg.Attrs["jid"].(types.JID)
		key, _ := reg.GetChildByTag("link_code_pairing_wrapped_companion_ephemeral_pub").Content.([]byte)
		if jid.User != s.owner.number || len(key) != 80 {
			return nil, 400
		}
		s.code = &codePairing{conn: c, ref: newID(), companion: append([]byte(nil), key...)}
		return []waBinary.Node{{Tag: "link_code_companion_reg", Content: []waBinary.Node{
			{Tag: "link_code_pairing_ref", Content: []byte(s.code.ref)},
		}}}, 0
	case "companion_finish":
		return nil, s.finishCode(c, reg)
	}
	return nil, 400
}

// unlock derives the key that a code stands for. It is slow on purpose.
func unlock(code string, salt []byte) cipher.Block {
	key, err := pbkdf2.Key(sha256.New, code, salt, 2<<16, 32)
	if err != nil {
		panic(fmt.Sprintf("wasim: derive key: %v", err))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(fmt.Sprintf("wasim: derive key: %v", err))
	}
	return block
}

// EnterCode is the owner typing a code into the phone. It returns when the
// device has agreed and is linked.
func (s *Server) EnterCode(ctx context.Context, code string) error {
	s.mu.Lock()
	p := s.code
	s.code = nil
	s.mu.Unlock()
	if p == nil {
		return fmt.Errorf("%w: nobody asked for a code", ErrPairing)
	}
	code = strings.ToUpper(strings.ReplaceAll(code, "-", ""))
	theirs := make([]byte, 32)
	cipher.NewCTR(unlock(code, p.companion[:32]), p.companion[32:48]).XORKeyStream(theirs, p.companion[48:])
	ours := keys.NewKeyPair()
	shared, err := curve25519.X25519(ours.Priv[:], theirs)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPairing, err)
	}
	locked := make([]byte, 80)
	_, _ = rand.Read(locked[:48])
	cipher.NewCTR(unlock(code, locked[:32]), locked[32:48]).XORKeyStream(locked[48:], ours.Pub[:])

	s.mu.Lock()
	p.shared = shared
	p.conn.code = p
	p.conn.send(waBinary.Node{
		Tag:   "notification",
		Attrs: waBinary.Attrs{"from": types.ServerJID, "id": newID(), "type": "link_code_companion_reg", "t": s.now()},
		Content: []waBinary.Node{{
			Tag: "link_code_companion_reg", Attrs: waBinary.Attrs{"stage": "primary_hello"},
			Content: []waBinary.Node{
				{Tag: "link_code_pairing_wrapped_primary_ephemeral_pub", Content: locked},
				{Tag: "primary_identity_pub", Content: s.owner.party.device.IdentityKey.Pub[:]},
				{Tag: "link_code_pairing_ref", Content: []byte(p.ref)},
			},
		}},
	})
	s.mu.Unlock()
	return s.waitCode(ctx, p)
}

func (s *Server) waitCode(ctx context.Context, p *codePairing) error {
	gone := false
	waited := s.Wait(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		gone = !s.conns[p.conn]
		return gone || p.err != nil || p.wedding != nil
	})
	s.mu.Lock()
	err, w := p.err, p.wedding
	s.mu.Unlock()
	switch {
	case waited != nil:
		return waited
	case err != nil:
		return err
	case w == nil:
		return fmt.Errorf("%w: the client has gone", ErrPairing)
	}
	return s.waitPaired(ctx, p.conn, w)
}

// finishCode opens the bundle that the client made with the shared key. The
// lock is held.
func (s *Server) finishCode(c *conn, reg waBinary.Node) int {
	p := c.code
	if p == nil || string(bytesOf(reg.GetChildByTag("link_code_pairing_ref"))) != p.ref {
		return 400
	}
	bundle := bytesOf(reg.GetChildByTag("link_code_pairing_wrapped_key_bundle"))
	if len(bundle) < 44 {
		return 400
	}
	key := hkdfutil.SHA256(p.shared, bundle[:32], []byte("link_code_pairing_key_bundle_encryption_key"), 32)
	plain, err := newAEAD(key).Open(nil, bundle[32:44], bundle[44:], nil)
	if err != nil || len(plain) != 96 {
		p.err = fmt.Errorf("%w: the code is wrong", ErrPairing)
		return 400
	}
	owner := s.owner.party.device.IdentityKey
	if [32]byte(plain[32:64]) != *owner.Pub {
		p.err = fmt.Errorf("%w: the client means another phone", ErrPairing)
		return 400
	}
	both, err := curve25519.X25519(owner.Priv[:], plain[:32])
	if err != nil {
		p.err = fmt.Errorf("%w: %w", ErrPairing, err)
		return 400
	}
	secret := hkdfutil.SHA256(join(p.shared, both, plain[64:]), nil, []byte("adv_secret"), 32)
	if p.wedding, err = s.proposePairing(c, secret); err != nil {
		p.err = err
		return 400
	}
	return 0
}

func bytesOf(n waBinary.Node) []byte {
	data, _ := n.Content.([]byte)
	return data
}
