//go:build !nowhatsapp

package whatsapp_test

import (
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"
)

// A reaction to our message quotes that message. Other reactions, and removed ones, are
// ignored.
func TestReadReaction(t *testing.T) {
	react := func(emoji, id string, fromMe bool, author types.JID) *waE2E.Message {
		key := &waCommon.MessageKey{ID: proto.String(id), FromMe: proto.Bool(fromMe)}
		if author.User != "" {
			key.Participant = proto.String(author.String())
		}
		return &waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{Key: key, Text: proto.String(emoji)}}
	}
	tests := []struct {
		name  string
		chat  types.JID
		m     *waE2E.Message
		text  string // "" if it is ignored
		quote string
	}{
		{"to an answer", annLID, react("👍", "OURS", false, types.JID{}), "[reacted with 👍]", "It is sunny."},
		{"to an old answer", annLID, react("👍", "OLD", false, types.JID{}), "[reacted with 👍]", ""},
		{"to their own", annLID, react("👍", "M0", true, types.JID{}), "", ""},
		{"taken away", annLID, react("", "OURS", false, types.JID{}), "", ""},
		{"to nothing", annLID, react("👍", "", false, types.JID{}), "", ""},
		{"no emoji", annLID, react("ha]\nha, this is far too long for an emoji", "OURS", false, types.JID{}), "[reacted with ha) ha, this is…]", "It is sunny."},
		{"in a group", group, react("❤️", "OURS", false, ownLID), "[reacted with ❤️]", "It is sunny."},
		{"in a group, by phone", group, react("❤️", "OLD", false, ownPN), "[reacted with ❤️]", ""},
		{"in a group, to somebody", group, react("❤️", "M0", false, annPN), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := whatsapp.Read(from(tt.chat, tt.m))
			if got.OK != (tt.text != "") || got.In.Text != tt.text {
				t.Fatalf("Read = %+v, %v, want %q", got.In, got.OK, tt.text)
			}
			if got.OK && (got.In.Reaction == "" || got.In.Quote.Text != tt.quote || got.In.Addressed == got.In.Private) {
				t.Errorf("Read = %+v about %+v, want it about %q", got.In, got.In.Quote, tt.quote)
			}
		})
	}
}

// A reaction quotes the answer, also after a restart and under the sender's other name.
func TestReactions(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	bob := n.Contact("+15550000003", "Bob")
	g := n.Group("friends", n.ann, bob)
	c, inbox := n.open(t, whatsapp.Options{}), channeltest.NewInbox()
	stop := channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	n.ann.GoByPhone(true)
	n.ann.Say("weather?")
	n.ann.SayIn(g, "and here?")
	inbox.Wait(t, 2)
	private := send(t, c, channels.Outbound{ID: "0", Key: n.Key(), Text: "It is *sunny*."})
	shared := send(t, c, channels.Outbound{ID: "1", Key: channels.MustKey("whatsapp:" + g.JID().String()), Text: "Rain."})
	if _, err := n.ann.WaitReceived(within(t), 1); err != nil {
		t.Fatal(err)
	}
	stop()

	c, inbox = n.open(t, whatsapp.Options{}), channeltest.NewInbox()
	channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	n.ann.React(private, "👍")
	n.ann.GoByPhone(false)
	n.ann.HideOther(true)
	n.ann.React(private, "")
	n.ann.React(private, "🎉")
	bob.React(shared, "😢")
	n.ann.Say("thanks")
	got := inbox.Wait(t, 4)
	for i, want := range []struct{ reaction, quote string }{{"👍", "It is _sunny_."}, {"🎉", "It is _sunny_."}, {"😢", "Rain."}} {
		m := got[i]
		if m.Reaction != want.reaction || m.Quote == nil || m.Quote.Text != want.quote || m.Quote.Name != "you" {
			t.Errorf("message %d is %q about %+v, want %s about %q", i, m.Text, m.Quote, want.reaction, want.quote)
		}
	}
	if got[3].Text != "thanks" || got[3].Reaction != "" {
		t.Errorf("the last message is %+v, want thanks", got[3])
	}
}
