package wasim

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"go.mau.fi/libsignal/ecc"
	"go.mau.fi/libsignal/keys/identity"
	"go.mau.fi/libsignal/keys/prekey"
	"go.mau.fi/libsignal/util/optional"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// device is one that is linked to the owner's account: a client under test.
type device struct {
	pn, lid      types.JID // its addresses, with its number
	noise        [32]byte
	identity     [32]byte
	registration uint32
	signed       signedKey
	once         []onceKey // keys that were uploaded and not given out
	conn         *conn     // nil while it is away
	queue        []*stanza // what it has not acknowledged, in order
	told         map[string]bool
}

// onceKey is the public half of a device's one-time key. The server gives it to
// one sender, who begins a session with it.
type onceKey struct {
	id  uint32
	pub [32]byte
}

// signedKey is the key for senders who come when a device has no one-time keys
// left. Its signature proves that it is the device's.
type signedKey struct {
	onceKey
	signature [64]byte
}

// stanza waits for an acknowledgement.
type stanza struct {
	key  string
	node waBinary.Node
}

// Maker makes the store of a new device. A sqlstore.Container is one.
type Maker interface {
	NewDevice() *store.Device
}

// onceKeys is how many one-time keys a paired device has uploaded already:
// enough that the client does not make 812 of them at its first login, which
// takes longer than most tests.
const onceKeys = 20

// PairedDevice makes a device in the container that is linked to the owner's
// account as if it had been paired a while ago, and saves it. The client may
// log in with it at once, in this process or another.
func (s *Server) PairedDevice(ctx context.Context, container Maker) (*store.Device, error) {
	d := container.NewDevice()
	s.mu.Lock()
	s.lastID++
	pn, lid := s.owner.pn, s.owner.lid
	pn.Device, lid.Device = s.lastID, s.lastID
	details := s.deviceDetails(s.lastID)
	account := s.owner.vouch(details, *d.IdentityKey.Pub)
	s.mu.Unlock()

	account.DeviceSignature = sign(d.IdentityKey, join([]byte{6, 1}, details, d.IdentityKey.Pub[:], account.GetAccountSignatureKey()))
	d.ID = &pn
	d.LID = lid
	d.Account = account
	d.PushName = s.options.Name
	d.Platform = "android"
	if err := d.Save(ctx); err != nil {
		return nil, fmt.Errorf("wasim: save device: %w", err)
	}
	if err := d.LIDs.PutLIDMapping(ctx, lid, pn); err != nil {
		return nil, fmt.Errorf("wasim: save device: %w", err)
	}
	made, err := d.PreKeys.GetOrGenPreKeys(ctx, onceKeys)
	if err == nil {
		err = d.PreKeys.MarkPreKeysAsUploaded(ctx, made[len(made)-1].KeyID)
	}
	if err != nil {
		return nil, fmt.Errorf("wasim: make keys for device: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var once []onceKey
	for _, key := range made {
		once = append(once, onceKey{key.KeyID, *key.Pub})
	}
	s.link(&device{
		once: once, pn: pn, lid: lid, noise: *d.NoiseKey.Pub, identity: *d.IdentityKey.Pub, registration: d.RegistrationID,
		signed: signedKey{onceKey{d.SignedPreKey.KeyID, *d.SignedPreKey.Pub}, *d.SignedPreKey.Signature},
	})
	return d, nil
}

// link takes a device in. The lock is held.
func (s *Server) link(d *device) {
	d.told = map[string]bool{}
	s.devices[d.pn.Device] = d
	s.notify()
}

// deviceDetails is what the account's owner signs about a device.
func (s *Server) deviceDetails(number uint16) []byte {
	details, err := proto.Marshal(&waAdv.ADVDeviceIdentity{
		RawID: proto.Uint32(1), Timestamp: proto.Uint64(uint64(s.options.Clock().Unix())), KeyIndex: proto.Uint32(uint32(number)),
	})
	if err != nil {
		panic(fmt.Sprintf("wasim: describe device: %v", err))
	}
	return details
}

// vouch signs that the device with that identity belongs to c's account.
func (c *Contact) vouch(details []byte, device [32]byte) *waAdv.ADVSignedDeviceIdentity {
	key := c.party.device.IdentityKey
	return &waAdv.ADVSignedDeviceIdentity{
		Details: details, AccountSignatureKey: key.Pub[:],
		AccountSignature: sign(key, join([]byte{6, 0}, details, device[:])),
	}
}

// bundle are the keys with which a session with d starts. A one-time key is
// used up, if there is one.
func (d *device) bundle() *prekey.Bundle {
	id, key := optional.NewEmptyUint32(), ecc.ECPublicKeyable(nil)
	if len(d.once) > 0 {
		id, key = optional.NewOptionalUint32(d.once[0].id), ecc.NewDjbECPublicKey(d.once[0].pub)
		d.once = d.once[1:]
	}
	return prekey.NewBundle(d.registration, uint32(d.pn.Device), id, d.signed.id, key,
		ecc.NewDjbECPublicKey(d.signed.pub), d.signed.signature, identity.NewKey(ecc.NewDjbECPublicKey(d.identity)))
}

// enqueue keeps a stanza for d until it is acknowledged, and sends it if d is
// there. The lock is held.
func (d *device) enqueue(node waBinary.Node) {
	d.queue = append(d.queue, &stanza{key: stanzaKey(node.Tag, node.Attrs, "from"), node: node})
	if d.conn != nil {
		d.conn.send(node)
	}
}

// settle takes the oldest stanza with that key out of the queue.
func (d *device) settle(key string) bool {
	for i, waiting := range d.queue {
		if waiting.key == key {
			d.queue = append(d.queue[:i:i], d.queue[i+1:]...)
			return true
		}
	}
	return false
}

// stanzaKey is what a stanza and its acknowledgement have in common. The
// other side is in from on the way out and in to on the way back.
func stanzaKey(class string, attrs waBinary.Attrs, side string) string {
	kind := ""
	if class == "receipt" {
		kind = text(attrs["type"])
	}
	return class + " " + text(attrs["id"]) + " " + text(attrs[side]) + " " + text(attrs["participant"]) + " " + kind
}

// text is an attribute as a string.
func text(attr any) string {
	switch v := attr.(type) {
	case string:
		return v
	case types.JID:
		return v.String()
	case nil:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// greetLocked answers what the client said about itself when it connected.
func (s *Server) greetLocked(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	if s.Faults.ignoreLogins {
		return
	}
	if failure, failed := s.outdated(c); failed {
		c.end(failure)
		return
	}
	if failure, failed := s.Faults.failsLogin(); failed {
		c.end(failure)
		return
	}
	if c.payload.GetDevicePairingData() != nil {
		s.offerPairing(c)
		return
	}
	d := s.devices[uint16(c.payload.GetDevice())]
	number := strconv.FormatUint(c.payload.GetUsername(), 10)
	if d == nil || number != s.owner.number || d.noise != c.static {
		c.end(loginFailure(401))
		return
	}
	s.login(c, d)
}

// login lets d in and sends what waited for it.
func (s *Server) login(c *conn, d *device) {
	if d.conn != nil {
		d.conn.end(conflict("", "replaced"))
		d.conn.device = nil
	}
	c.device, d.conn = d, c
	s.logins++
	c.send(waBinary.Node{Tag: "success", Attrs: waBinary.Attrs{
		"t": s.now(), "lid": d.lid, "location": "sim", "props": "1",
	}})
	if len(d.queue) == 0 {
		c.send(offline(0, "offline"))
		return
	}
	c.send(offline(len(d.queue), "offline_preview"))
	for _, waiting := range d.queue {
		again := waiting.node
		again.Attrs = waBinary.Attrs{"offline": "0"}
		for k, v := range waiting.node.Attrs {
			again.Attrs[k] = v
		}
		c.send(again)
	}
	c.send(offline(len(d.queue), "offline"))
}

// offline frames the backlog.
func offline(count int, tag string) waBinary.Node {
	return waBinary.Node{
		Tag: "ib", Attrs: waBinary.Attrs{"from": types.ServerJID},
		Content: []waBinary.Node{{Tag: tag, Attrs: waBinary.Attrs{
			"count": count, "message": count, "appdata": 0, "notification": 0, "receipt": 0,
		}}},
	}
}

// readOnceKey reads what keyNode writes.
func readOnceKey(n waBinary.Node) (onceKey, error) {
	id, ok1 := n.GetChildByTag("id").Content.([]byte)
	pub, ok2 := n.GetChildByTag("value").Content.([]byte)
	if !ok1 || !ok2 || len(id) != 3 || len(pub) != 32 {
		return onceKey{}, fmt.Errorf("wasim: read key: malformed %s", n.Tag)
	}
	return onceKey{binary.BigEndian.Uint32(append([]byte{0}, id...)), [32]byte(pub)}, nil
}

func join(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
