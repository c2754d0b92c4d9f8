package wasim

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/libsignal/groups"
	"go.mau.fi/libsignal/keys/prekey"
	"go.mau.fi/libsignal/protocol"
	"go.mau.fi/libsignal/session"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/util/keys"
)

var serializer = store.SignalProtobufSerializer

// party is one end of Signal sessions: a phone with its keys, all in memory.
type party struct {
	device *store.Device
	keys   *keyring
}

// keyring keeps what Signal wants to have kept. What it does not override is
// not used by a phone.
type keyring struct {
	store.NoopStore
	sessions, senders map[string][]byte
	prekeys           map[uint32]*keys.PreKey
	last              uint32 // the newest one-time key's number; none is used twice
}

func newParty() *party {
	p := &party{}
	p.renew()
	return p
}

// renew makes everything new, as on a phone that was set up again.
func (p *party) renew() {
	var registration [4]byte
	_, _ = rand.Read(registration[:])
	p.keys = &keyring{sessions: map[string][]byte{}, senders: map[string][]byte{}, prekeys: map[uint32]*keys.PreKey{}}
	p.device = &store.Device{
		IdentityKey:    keys.NewKeyPair(),
		RegistrationID: binary.BigEndian.Uint32(registration[:]) & 0x3fff,
	}
	p.device.SignedPreKey = p.device.IdentityKey.CreateSignedPreKey(1)
	p.device.SetAllStores(p.keys)
}

func (k *keyring) PutIdentity(context.Context, string, [32]byte) error { return nil }

func (k *keyring) IsTrustedIdentity(context.Context, string, [32]byte) (bool, error) {
	return true, nil
}

func (k *keyring) GetSession(_ context.Context, address string) ([]byte, error) {
	return k.sessions[address], nil
}

func (k *keyring) HasSession(_ context.Context, address string) (bool, error) {
	return k.sessions[address] != nil, nil
}

func (k *keyring) PutSession(_ context.Context, address string, session []byte) error {
	k.sessions[address] = session
	return nil
}

func (k *keyring) GetPreKey(_ context.Context, id uint32) (*keys.PreKey, error) {
	return k.prekeys[id], nil
}

func (k *keyring) RemovePreKey(_ context.Context, id uint32) error {
	delete(k.prekeys, id)
	return nil
}

func (k *keyring) PutSenderKey(_ context.Context, group, user string, key []byte) error {
	k.senders[group+" "+user] = key
	return nil
}

func (k *keyring) GetSenderKey(_ context.Context, group, user string) ([]byte, error) {
	return k.senders[group+" "+user], nil
}

// encrypt encrypts for one device. Where there is no session yet, bundle gives
// the keys to start one with.
func (p *party) encrypt(to *protocol.SignalAddress, bundle func() *prekey.Bundle, plain []byte) (kind string, data []byte, err error) {
	ctx := context.Background()
	builder := session.NewBuilderFromSignal(p.device, to, serializer)
	if p.keys.sessions[to.String()] == nil {
		if err := builder.ProcessBundle(ctx, bundle()); err != nil {
			return "", nil, fmt.Errorf("wasim: start session with %s: %w", to, err)
		}
	}
	message, err := session.NewCipher(builder, to).Encrypt(ctx, pad(plain))
	if err != nil {
		return "", nil, fmt.Errorf("wasim: encrypt for %s: %w", to, err)
	}
	if message.Type() == protocol.PREKEY_TYPE {
		return "pkmsg", message.Serialize(), nil
	}
	return "msg", message.Serialize(), nil
}

// forget ends the session with one device; the next message starts another.
func (p *party) forget(other *protocol.SignalAddress) { delete(p.keys.sessions, other.String()) }

func (p *party) decrypt(from *protocol.SignalAddress, kind string, data []byte) ([]byte, error) {
	ctx := context.Background()
	cipher := session.NewCipher(session.NewBuilderFromSignal(p.device, from, serializer), from)
	var plain []byte
	switch kind {
	case "pkmsg":
		message, err := protocol.NewPreKeySignalMessageFromBytes(data, serializer.PreKeySignalMessage, serializer.SignalMessage)
		if err != nil {
			return nil, fmt.Errorf("wasim: read first message of %s: %w", from, err)
		}
		if plain, err = cipher.DecryptMessage(ctx, message); err != nil {
			return nil, fmt.Errorf("wasim: decrypt first message of %s: %w", from, err)
		}
	case "msg":
		message, err := protocol.NewSignalMessageFromBytes(data, serializer.SignalMessage)
		if err != nil {
			return nil, fmt.Errorf("wasim: read message of %s: %w", from, err)
		}
		if plain, err = cipher.Decrypt(ctx, message); err != nil {
			return nil, fmt.Errorf("wasim: decrypt message of %s: %w", from, err)
		}
	default:
		return nil, fmt.Errorf("wasim: decrypt message of %s: unknown kind %q", from, kind)
	}
	return unpad(plain)
}

// distribution is the key with which others can read what p writes in group.
func (p *party) distribution(group string, self *protocol.SignalAddress) ([]byte, error) {
	builder := groups.NewGroupSessionBuilder(p.device, serializer)
	message, err := builder.Create(context.Background(), protocol.NewSenderKeyName(group, self))
	if err != nil {
		return nil, fmt.Errorf("wasim: make key for %s: %w", group, err)
	}
	return message.Serialize(), nil
}

// learn takes another's distribution in.
func (p *party) learn(group string, from *protocol.SignalAddress, distribution []byte) error {
	message, err := protocol.NewSenderKeyDistributionMessageFromBytes(distribution, serializer.SenderKeyDistributionMessage)
	if err != nil {
		return fmt.Errorf("wasim: read key of %s for %s: %w", from, group, err)
	}
	builder := groups.NewGroupSessionBuilder(p.device, serializer)
	if err := builder.Process(context.Background(), protocol.NewSenderKeyName(group, from), message); err != nil {
		return fmt.Errorf("wasim: take key of %s for %s: %w", from, group, err)
	}
	return nil
}

func (p *party) encryptGroup(group string, self *protocol.SignalAddress, plain []byte) ([]byte, error) {
	builder := groups.NewGroupSessionBuilder(p.device, serializer)
	cipher := groups.NewGroupCipher(builder, protocol.NewSenderKeyName(group, self), p.device)
	message, err := cipher.Encrypt(context.Background(), pad(plain))
	if err != nil {
		return nil, fmt.Errorf("wasim: encrypt for %s: %w", group, err)
	}
	return message.SignedSerialize(), nil
}

func (p *party) decryptGroup(group string, from *protocol.SignalAddress, data []byte) ([]byte, error) {
	message, err := protocol.NewSenderKeyMessageFromBytes(data, serializer.SenderKeyMessage)
	if err != nil {
		return nil, fmt.Errorf("wasim: read message of %s in %s: %w", from, group, err)
	}
	builder := groups.NewGroupSessionBuilder(p.device, serializer)
	cipher := groups.NewGroupCipher(builder, protocol.NewSenderKeyName(group, from), p.device)
	plain, err := cipher.Decrypt(context.Background(), message)
	if err != nil {
		return nil, fmt.Errorf("wasim: decrypt message of %s in %s: %w", from, group, err)
	}
	return unpad(plain)
}

// offer is p's bundle as stanzas carry it, with a one-time key made for it.
func (p *party) offer() []waBinary.Node {
	p.keys.last++
	once := keys.NewPreKey(p.keys.last)
	p.keys.prekeys[once.KeyID] = once
	return []waBinary.Node{
		{Tag: "type", Content: []byte{ecc.DjbType}},
		{Tag: "identity", Content: p.device.IdentityKey.Pub[:]},
		keyNode("key", once),
		keyNode("skey", p.device.SignedPreKey),
	}
}

func (p *party) registration() waBinary.Node {
	return waBinary.Node{Tag: "registration", Content: binary.BigEndian.AppendUint32(nil, p.device.RegistrationID)}
}

func keyNode(tag string, key *keys.PreKey) waBinary.Node {
	content := []waBinary.Node{
		{Tag: "id", Content: binary.BigEndian.AppendUint32(nil, key.KeyID)[1:]},
		{Tag: "value", Content: key.Pub[:]},
	}
	if key.Signature != nil {
		content = append(content, waBinary.Node{Tag: "signature", Content: key.Signature[:]})
	}
	return waBinary.Node{Tag: tag, Content: content}
}

// pad adds 1 to 15 bytes that each say how many they are. The number changes
// with the length, so that tests meet all of them.
func pad(plain []byte) []byte {
	n := len(plain)%15 + 1
	padded := append([]byte(nil), plain...)
	for range n {
		padded = append(padded, byte(n))
	}
	return padded
}

func unpad(padded []byte) ([]byte, error) {
	if len(padded) == 0 {
		return nil, errors.New("wasim: unpad: nothing there")
	}
	n := int(padded[len(padded)-1])
	if n == 0 || n > len(padded) {
		return nil, errors.New("wasim: unpad: padding is wrong")
	}
	return padded[:len(padded)-n], nil
}
