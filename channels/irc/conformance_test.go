package irc_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/ircd"

	"go.uber.org/goleak"
)

// net is a private chat with alice on a server.
type net struct {
	addr    string
	alice   *ircd.Person
	crowd   map[string]*ircd.Person
	cut     func(t *testing.T)
	refuse  func(on bool)
	ids     []string
	longest int
}

func newNet(t *testing.T, addr string) *net {
	return &net{addr: addr, alice: ircd.Join(t, addr, "alice"), crowd: map[string]*ircd.Person{}, longest: 20_000}
}

func (n *net) Open(t *testing.T) channels.Channel { return open(t, quick(n.addr)) }
func (n *net) Key() channels.Key                  { return channels.MustKey("irc:alice") }

func (n *net) Say(t *testing.T, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		n.alice.Say("dragoman", line)
	}
}

func (n *net) Seen(*testing.T) []string {
	n.alice.Sync()
	return n.alice.Heard("dragoman", "alice")
}

func (n *net) Cut(t *testing.T)    { n.cut(t) }
func (n *net) LongText() int       { return n.longest }
func (n *net) SenderIDs() []string { return n.ids }

func (n *net) More(t *testing.T, count int) []channels.Key {
	var keys []channels.Key
	for i := range count {
		nick := fmt.Sprintf("person%d", i)
		n.crowd[nick] = ircd.Join(t, n.addr, nick)
		keys = append(keys, channels.MustKey("irc:"+nick))
	}
	return keys
}

func (n *net) SeenIn(_ *testing.T, k channels.Key) []string {
	p := n.crowd[k.Chat()]
	p.Sync()
	return p.Heard("dragoman", k.Chat())
}

// IgnoreGoroutines are those of the server in this process.
func (n *net) IgnoreGoroutines() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("dragoman/channels/channeltest/ircd.(*client).read"),
		goleak.IgnoreAnyFunction("dragoman/channels/channeltest/ircd.(*client).write"),
	}
}

// refusingNet is a net that can also refuse messages.
type refusingNet struct{ *net }

func (n refusingNet) RefuseSends(_ *testing.T, on bool) { n.refuse(on) }

func TestConformanceNgircd(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Network {
		srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
		n := newNet(t, srv.Addr())
		n.ids = []string{"mask:alice!~alice@127.0.0.1"}
		n.cut = func(t *testing.T) { kill(t, srv.Addr(), "dragoman") }
		return n
	})
}

// kill disconnects nick, as an operator does.
func kill(t *testing.T, addr, nick string) {
	oper := ircd.Join(t, addr, "theoper")
	oper.Raw("OPER " + ircd.OperName + " " + ircd.OperPassword)
	oper.WaitLine("operator rights", func(l string) bool { return strings.Contains(l, " 381 ") })
	oper.Raw("KILL " + nick + " :test")
	oper.Sync()
	oper.Close()
}

func TestConformanceServer(t *testing.T) {
	for name, conf := range map[string]ircd.Config{
		"plain": {},
		"modern": {
			Caps:        []string{"message-tags", "server-time", "account-tag", "echo-message", "extended-join", "account-notify", "batch"},
			CaseMapping: "ascii",
		},
	} {
		t.Run(name, func(t *testing.T) {
			channeltest.Run(t, func(t *testing.T) channeltest.Network {
				srv, addr := serve(t, conf)
				n := newNet(t, addr)
				n.ids = []string{"mask:alice!~alice@host.test"}
				if name == "modern" {
					srv.SetAccount("alice", "Alice")
					n.ids = append([]string{"account:alice"}, n.ids...)
				}
				n.cut = func(*testing.T) { srv.CutNick("dragoman") }
				n.refuse = srv.RefuseMessages
				return refusingNet{n}
			})
		})
	}
}
