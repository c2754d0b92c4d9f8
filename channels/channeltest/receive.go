package channeltest

import (
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"dragoman/channels"

	"github.com/google/go-cmp/cmp"
)

func receiveInOrder(t *testing.T, net Network) {
	inbox := NewInbox()
	start(t, net, inbox)
	var want []string
	for i := range 10 {
		text := fmt.Sprintf("message number %d", i)
		want = append(want, text)
		net.Say(t, text)
	}
	got := inbox.Wait(t, len(want))
	if diff := cmp.Diff(want, inbox.Texts()); diff != "" {
		t.Errorf("texts in the inbox (-want +got):\n%s", diff)
	}
	for _, m := range got {
		checkInbound(t, net, m)
	}
	if again := inbox.Repeated(); len(again) > 0 {
		t.Errorf("%d accepted messages were handed in again while the channel ran", len(again))
	}
}

// checkInbound checks what is the same for every message of the private chat.
func checkInbound(t *testing.T, net Network, m channels.Inbound) {
	t.Helper()
	if m.Key != net.Key() {
		t.Errorf("Inbound.Key = %s, want %s", m.Key, net.Key())
	}
	if m.ID == "" {
		t.Error("Inbound.ID is empty")
	}
	if !m.Private {
		t.Error("Inbound.Private = false in a private chat, want true")
	}
	if m.Prefix != "" {
		t.Errorf("Inbound.Prefix = %q in a private chat, want none", m.Prefix)
	}
	if m.At.IsZero() {
		t.Error("Inbound.At is zero")
	}
	for _, id := range m.Sender.IDs {
		if id == "" {
			t.Error("Inbound.Sender.IDs has an empty id")
		}
	}
	if who, ok := net.(Identified); ok {
		if diff := cmp.Diff(who.SenderIDs(), m.Sender.IDs); diff != "" {
			t.Errorf("Inbound.Sender.IDs (-want +got):\n%s", diff)
		}
	}
}

func receiveSameText(t *testing.T, net Network) {
	inbox := NewInbox()
	start(t, net, inbox)
	net.Say(t, "yes")
	net.Say(t, "yes")
	got := inbox.Wait(t, 2)
	if got[0].ID == got[1].ID {
		t.Errorf("two messages with the same text have the same ID %q", got[0].ID)
	}
}

func receiveRefused(t *testing.T, net Network) {
	inbox := NewInbox()
	start(t, net, inbox)
	inbox.Refuse(true)
	net.Say(t, "the first")
	net.Say(t, "the second")
	inbox.WaitRefused(t, 2)
	inbox.Refuse(false)
	net.Say(t, "the third") // once it is here, nothing of the others is to come
	inbox.Until(t, "the third message", func() bool { return slices.Contains(inbox.Texts(), "the third") })
	if diff := cmp.Diff([]string{"the first", "the second", "the third"}, inbox.Texts()); diff != "" {
		t.Errorf("texts in the inbox (-want +got):\n%s", diff)
	}
	first := inbox.Messages()[0]
	for _, m := range inbox.Refused() {
		if m.Text != "the first" {
			t.Errorf("%q was handed in while the message before it had not been accepted", m.Text)
		} else if m.ID != first.ID {
			t.Errorf("the same message was handed in as ID %q and %q", m.ID, first.ID)
		}
	}
}

func receiveOddText(t *testing.T, net Network) {
	inbox := NewInbox()
	start(t, net, inbox)
	said := []string{
		"тест ünïcödé 漢字 עברית العربية",
		"👨‍👩‍👧‍👦 family and flag 🇮🇹 end",
		"html <b>&amp;</b> *stars* _under_ `code` [link](x) end",
		"tab\there, bell\a, escape\x1b[31m end",
	}
	for _, text := range said {
		net.Say(t, text)
	}
	for i, m := range inbox.Wait(t, len(said)) {
		if !utf8.ValidString(m.Text) {
			t.Errorf("Text = %q, which is not UTF-8", m.Text)
		}
		if i < 3 && m.Text != said[i] {
			t.Errorf("Text = %q, want %q", m.Text, said[i])
		}
		if w := words(m.Text); len(w) == 0 || w[0] != words(said[i])[0] {
			t.Errorf("Text = %q, want it to begin as %q", m.Text, said[i])
		}
	}
}

func receiveAcrossRestart(t *testing.T, net Network) {
	inbox := NewInbox()
	s := start(t, net, inbox)
	net.Say(t, "before the restart")
	inbox.Wait(t, 1)
	s.stop(t)
	start(t, net, inbox)
	net.Say(t, "after the restart")
	inbox.Wait(t, 2)
	if diff := cmp.Diff([]string{"before the restart", "after the restart"}, inbox.Texts()); diff != "" {
		t.Errorf("texts in the inbox (-want +got); a repeat here means that a redelivery got a new ID:\n%s", diff)
	}
}

func receiveRefusedRestart(t *testing.T, net Network) {
	if !keeps(net) {
		t.Skip("this network does not hand out again what was not acknowledged")
	}
	inbox := NewInbox()
	s := start(t, net, inbox)
	inbox.Refuse(true)
	net.Say(t, "first")
	net.Say(t, "second")
	refused := inbox.WaitRefused(t, 1)
	s.stop(t)
	inbox.Refuse(false)
	start(t, net, inbox)
	inbox.Wait(t, 2)
	if diff := cmp.Diff([]string{"first", "second"}, inbox.Texts()); diff != "" {
		t.Errorf("texts in the inbox (-want +got):\n%s", diff)
	}
	if got := inbox.Messages()[0].ID; got != refused[0].ID {
		t.Errorf("redelivered as ID %q, was %q", got, refused[0].ID)
	}
}

func receiveSaidWhileDown(t *testing.T, net Network) {
	if !keeps(net) {
		t.Skip("this network does not keep what is said while the channel is down")
	}
	inbox := NewInbox()
	s := start(t, net, inbox)
	s.stop(t)
	net.Say(t, "is anybody there?")
	net.Say(t, "hello?")
	start(t, net, inbox)
	inbox.Wait(t, 2)
	if diff := cmp.Diff([]string{"is anybody there?", "hello?"}, inbox.Texts()); diff != "" {
		t.Errorf("texts in the inbox (-want +got):\n%s", diff)
	}
}

func receiveAfterCut(t *testing.T, net Network) {
	cutter, ok := net.(Cutter)
	if !ok {
		t.Skip("this network's connections cannot be cut")
	}
	inbox := NewInbox()
	s := start(t, net, inbox)
	net.Say(t, "before the cut")
	inbox.Wait(t, 1)
	cutter.Cut(t)
	if keeps(net) {
		net.Say(t, "after the cut")
		inbox.Wait(t, 2)
	} else {
		// The network drops what is said while the channel is away, so the
		// person repeats it, and the last one heard counts.
		said := 0
		eventually(t, "a message after the cut", func() bool {
			said++
			if said%20 == 1 {
				connected(t, s.ch)
				net.Say(t, "after the cut")
			}
			return len(inbox.Messages()) > 1
		})
	}
	if got := inbox.Texts(); got[0] != "before the cut" || got[1] != "after the cut" {
		t.Errorf("texts in the inbox = %q", got)
	}
}
