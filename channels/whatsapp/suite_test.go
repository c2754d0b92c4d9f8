//go:build !nowhatsapp

package whatsapp_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Network { return newNetwork(t, wasim.Options{}) })
}

// network is the simulated WhatsApp with Ann, and a file with the owner's linked device.
type network struct {
	*wasim.Server
	ann  *wasim.Contact
	file string
}

func newNetwork(t *testing.T, o wasim.Options) *network {
	t.Helper()
	n := unlinked(t, o)
	n.link(t)
	return n
}

// unlinked returns a network without a linked device.
func unlinked(t *testing.T, o wasim.Options) *network {
	t.Helper()
	o.Logf = t.Logf
	s := wasim.Start(t, o)
	wasim.TrustRoot(wasim.RootKey())
	return &network{Server: s, ann: s.Contact("+15550000002", "Ann"), file: filepath.Join(t.TempDir(), "whatsapp.db")}
}

// link writes a linked device into the file.
func (n *network) link(t *testing.T) {
	t.Helper()
	container, err := sqlstore.New(t.Context(), "sqlite", "file:"+n.file+"?_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = container.Close() }()
	if _, err := n.PairedDevice(t.Context(), container); err != nil {
		t.Fatal(err)
	}
}

// open returns a channel on the network.
func (n *network) open(t *testing.T, o whatsapp.Options) *whatsapp.Channel {
	t.Helper()
	o.Device, o.HTTP = n.file, n.HTTPClient()
	if testing.Verbose() && o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	c, err := whatsapp.New("whatsapp", o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (n *network) Open(t *testing.T) channels.Channel {
	return n.open(t, whatsapp.Options{Names: []string{"Dragoman"}})
}
func (n *network) Key() channels.Key             { return keyOf(n.ann) }
func (n *network) Say(_ *testing.T, text string) { n.ann.Say(text) }
func (n *network) Seen(*testing.T) []string      { return n.ann.Texts() }
func (n *network) Cut(*testing.T)                { n.Faults.Drop() }
func (n *network) KeepsUndelivered() bool        { return true }
func (n *network) Deduplicates() bool            { return true }

func (n *network) SenderIDs() []string {
	return []string{n.ann.Number(), n.ann.LID().String()}
}

func (n *network) RefuseSends(_ *testing.T, on bool) {
	code := 0
	if on {
		code = 500
	}
	n.Faults.RefuseSends(code)
}

func (n *network) More(_ *testing.T, count int) []channels.Key {
	var keys []channels.Key
	for i := range count {
		keys = append(keys, keyOf(n.Contact("+1555000010"+string(rune('0'+i)), "More")))
	}
	return keys
}

func (n *network) SeenIn(_ *testing.T, k channels.Key) []string {
	return n.Contact(k.Chat(), "More").Texts()
}

func keyOf(c *wasim.Contact) channels.Key { return channels.MustKey("whatsapp:" + c.Number()) }
