//go:build !nowhatsapp

package whatsapp_test

import (
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
)

// reads waits until all these messages are marked as read.
func (n *network) reads(t *testing.T, ids ...string) {
	t.Helper()
	err := n.Wait(within(t), func() bool {
		for _, id := range ids {
			if !n.HasRead(id) {
				return false
			}
		}
		return true
	})
	if err != nil {
		t.Fatalf("waiting until %v are marked as read: %v", ids, err)
	}
}

// An answer without a call of Typing marks its message and those before it as read. Later
// messages wait for their own answer.
func TestAnswerMarksRead(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	g := n.Group("friends", n.ann)
	c, inbox := connected(t, n, whatsapp.Options{})
	first := n.ann.Say("one")
	second := n.ann.Say("two")
	third := n.ann.Say("three")
	asked := n.ann.SayIn(g, "and here?")
	inbox.Wait(t, 4)
	send(t, c, channels.Outbound{ID: "1", Key: n.Key(), Text: "good morning"}) // It answers no message.
	send(t, c, channels.Outbound{ID: "2", Key: n.Key(), Text: "answer", ReplyTo: second})
	n.reads(t, first, second)
	if n.HasRead(third) || n.HasRead(asked) {
		t.Error("a message without an answer is marked as read")
	}
	send(t, c, channels.Outbound{ID: "3", Key: n.Key(), Text: "answer", ReplyTo: third})
	send(t, c, channels.Outbound{ID: "4", Key: channels.MustKey("whatsapp:" + g.JID().String()), Text: "answer", ReplyTo: asked})
	n.reads(t, third, asked)
	send(t, c, channels.Outbound{ID: "5", Key: n.Key(), Text: "more of it", ReplyTo: third})
	send(t, c, channels.Outbound{ID: "6", Key: n.Key(), Text: "next", ReplyTo: n.ann.Say("four")})
	if got := n.Count("receipt:read"); got > 4 {
		t.Errorf("%d marks for four answered messages, want one for each answer", got)
	}
}

// After a restart people see the typing indicator, whichever name WhatsApp uses for them.
func TestTypingAfterRestart(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	in := channeltest.NewInbox()
	c := n.open(t, whatsapp.Options{})
	stop := channeltest.Start(t, c, in)
	reach(t, c, channels.StateConnected, "")
	n.ann.Say("hello")
	in.Wait(t, 1)
	if err := n.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	stop()
	c, _ = connected(t, n, whatsapp.Options{})
	if err := c.Typing(within(t), n.Key()); err != nil {
		t.Fatal(err)
	}
	if err := n.Wait(within(t), func() bool { _, times := n.ann.Typing(); return times == 1 }); err != nil {
		t.Error("after a restart Ann sees no typing indicator:", err)
	}
}

// The typing indicator also works in a chat that is addressed by number.
func TestTypingByPhone(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := connected(t, n, whatsapp.Options{})
	for i, byPhone := range []bool{false, true, false} {
		n.ann.GoByPhone(byPhone)
		id := n.ann.Say("hello")
		inbox.Wait(t, i+1)
		if err := c.Typing(within(t), n.Key()); err != nil {
			t.Fatal(err)
		}
		if err := n.Wait(within(t), func() bool { _, times := n.ann.Typing(); return times == i+1 }); err != nil {
			t.Errorf("by phone %v: Ann sees no typing indicator: %v", byPhone, err)
		}
		n.reads(t, id)
	}
}
