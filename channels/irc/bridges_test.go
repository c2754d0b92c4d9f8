package irc_test

import (
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"

	"github.com/google/go-cmp/cmp"
)

// People behind a bridge are people: each is heard under their own name, and is allowed,
// limited and answered as themselves.
func TestPeopleBehindABridge(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: modern})
	o := quick(addr)
	o.Channels = []string{"#go"}
	o.Bridges = []string{"Relay"}
	b := start(t, o)
	b.waitIn("irc:#go")
	relay := ircd.Join(t, addr, "relay", "#go")
	alice := ircd.Join(t, addr, "alice", "#go")
	type heard struct {
		ID, Name, Prefix, Text string
		Addressed              bool
	}
	for name, test := range map[string]struct {
		says *ircd.Person
		line string
		want heard
	}{
		"a question":          {relay, "<carl> dragoman: what is Go?", heard{"bridge:relay/carl", "carl", "carl: ", "what is Go?", true}},
		"talk":                {relay, "<carl> good morning", heard{"bridge:relay/carl", "carl", "carl: ", "good morning", false}},
		"with its network":    {relay, "[tg] <Carl> dragoman: hi", heard{"bridge:relay/carl", "Carl", "Carl: ", "hi", true}},
		"in colours, hidden":  {relay, "<\x0304c\u200barl\x03> dragoman: hi", heard{"bridge:relay/carl", "carl", "carl: ", "hi", true}},
		"a name of two words": {relay, "<@Dora Lee> dragoman: hi", heard{"bridge:relay/dora lee", "Dora Lee", "Dora Lee: ", "hi", true}},
		"a command":           {relay, "<carl> dragoman: !status", heard{"bridge:relay/carl", "carl", "carl: ", "/status", true}},
		"the bridge itself":   {relay, "carl has joined", heard{"mask:relay!~relay@host.test", "relay", "relay: ", "carl has joined", false}},
		"nobody":              {relay, "<\u200b> hi", heard{"mask:relay!~relay@host.test", "relay", "relay: ", "<\u200b> hi", false}},
		"another person":      {alice, "<carl> dragoman: hi", heard{"mask:alice!~alice@host.test", "alice", "alice: ", "<carl> dragoman: hi", false}},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(b.inbox.Messages())
			test.says.Say("#go", test.line)
			m := b.inbox.Wait(t, before+1)[before]
			if diff := cmp.Diff(test.want, heard{m.Sender.ID(), m.Sender.Name, m.Prefix, m.Text, m.Addressed}); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.line, diff)
			}
			if len(m.Sender.IDs) > 1 && strings.HasPrefix(m.Sender.ID(), "bridge:") {
				t.Errorf("%q has the identities %q, of which one is the bridge's", test.line, m.Sender.IDs)
			}
		})
	}

	before := len(b.inbox.Messages())
	relay.Say("#go", "<carl> dragoman: one")
	relay.Say("#go", "<dora> dragoman: two")
	asked := b.inbox.Wait(t, before+2)[before:]
	if b.ch.Asker(asked[0].MessageID) == b.ch.Asker(asked[1].MessageID) {
		t.Error("two people behind a bridge take turns as one")
	}
	if _, err := b.ch.Send(t.Context(), channels.Outbound{ID: "1", Key: asked[0].Key, Text: "an answer", ReplyTo: asked[0].MessageID}); err != nil {
		t.Fatal(err)
	}
	if got := alice.WaitHeard("dragoman", "#go", 1); got[0] != "carl: an answer" {
		t.Errorf("the answer to carl is %q", got)
	}
	relay.Say("dragoman", "<carl> in private") // not in a channel: it is the bridge who writes
	if m := b.inbox.Wait(t, before+3)[before+2]; m.Sender.Name != "relay" {
		t.Errorf("a private line of the bridge is %q's", m.Sender.Name)
	}
	srv.Inject("dragoman", "@bot :relay!r@host.test PRIVMSG #go :<carl> dragoman: from a marked bot")
	if m := b.inbox.Wait(t, before+4)[before+3]; m.Sender.Name != "carl" {
		t.Errorf("a bridge with the mark of a bot is %q", m.Sender.Name)
	}
}
