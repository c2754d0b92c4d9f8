package telegram_test

import (
	"strconv"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Network { return newNetwork(t) })
}

// network is the test Bot API with a private chat with Ann.
type network struct {
	*botapi.Server
	ann  botapi.User
	chat *botapi.Chat
}

func newNetwork(t *testing.T) *network { return newNetworkWith(t, botapi.Options{}) }

func newNetworkWith(t *testing.T, o botapi.Options) *network {
	t.Helper()
	s, err := botapi.Start("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ann := botapi.Person(7_000_000_007, "Ann")
	return &network{Server: s, ann: ann, chat: s.Private(ann)}
}

// open returns a channel on the network.
func (n *network) open(t *testing.T, o telegram.Options) *telegram.Channel {
	t.Helper()
	o.Token, o.APIURL = n.Token(), n.URL()
	if o.PreviewEvery == 0 {
		o.PreviewEvery = 5 * time.Millisecond
	}
	c, err := telegram.New("telegram", o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (n *network) Open(t *testing.T) channels.Channel { return n.open(t, telegram.Options{}) }
func (n *network) Key() channels.Key                  { return keyOf(n.chat) }
func (n *network) Say(_ *testing.T, text string)      { n.chat.Say(n.ann, text) }
func (n *network) Seen(*testing.T) []string           { return n.FromBot(n.chat.ID()) }
func (n *network) Cut(*testing.T)                     { n.Server.Cut() }
func (n *network) KeepsUndelivered() bool             { return true }
func (n *network) SenderIDs() []string                { return []string{"7000000007"} }

func (n *network) RefuseSends(_ *testing.T, on bool) {
	n.Heal()
	if on {
		n.Break(botapi.Fault{Method: "sendMessage", Status: 500, Description: "Internal Server Error"})
	}
}

func (n *network) More(_ *testing.T, count int) []channels.Key {
	var keys []channels.Key
	for i := range count {
		keys = append(keys, keyOf(n.Private(botapi.Person(int64(100+i), "More"))))
	}
	return keys
}

func (n *network) SeenIn(_ *testing.T, k channels.Key) []string {
	id, _ := strconv.ParseInt(k.Chat(), 10, 64)
	return n.FromBot(id)
}

func keyOf(c *botapi.Chat) channels.Key {
	return channels.MustKey("telegram:" + strconv.FormatInt(c.ID(), 10))
}

func itoa(id int64) string { return strconv.FormatInt(id, 10) }
