//go:build !nowhatsapp

package whatsapp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// soon is how long a test waits for something that should happen at once.
const soon = time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

// reach waits until the channel is in that state and its detail contains want.
func reach(t *testing.T, c *whatsapp.Channel, state channels.State, want string) channels.Status {
	t.Helper()
	var got channels.Status
	if !testkit.Poll(soon, func() bool {
		got = c.Status()
		return got.State == state && strings.Contains(got.Detail, want)
	}) {
		t.Fatalf("Status = %s %q, want %s %q", got.State, got.Detail, state, want)
	}
	return got
}

func connected(t *testing.T, n *network, o whatsapp.Options) (*whatsapp.Channel, *channeltest.Inbox) {
	t.Helper()
	inbox := channeltest.NewInbox()
	return connectedTo(t, n, o, inbox), inbox
}

func connectedTo(t *testing.T, n *network, o whatsapp.Options, in channels.Intake) *whatsapp.Channel {
	t.Helper()
	c := n.open(t, o)
	channeltest.Start(t, c, in)
	reach(t, c, channels.StateConnected, "")
	return c
}

func send(t *testing.T, c *whatsapp.Channel, m channels.Outbound) string {
	t.Helper()
	m.Attempt = max(m.Attempt, 1)
	r, err := c.Send(within(t), m)
	if err != nil {
		t.Fatalf("Send(%s) = %v, want nil", m.ID, err)
	}
	return r.MessageID
}

// A person has one conversation, whichever name WhatsApp uses.
func TestOnePersonOneKey(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := connected(t, n, whatsapp.Options{})
	n.ann.Say("by LID")
	n.ann.GoByPhone(true)
	n.ann.Say("by phone")
	n.ann.HideOther(true)
	n.ann.Say("by phone alone")
	n.ann.GoByPhone(false)
	n.ann.Say("by LID alone")
	for _, m := range inbox.Wait(t, 4) {
		if m.Key != n.Key() || !slices.Equal(m.Sender.IDs, n.SenderIDs()) {
			t.Errorf("%q has key %s and sender %v, want %s and %v", m.Text, m.Key, m.Sender.IDs, n.Key(), n.SenderIDs())
		}
	}
	send(t, c, channels.Outbound{ID: "1", Key: n.Key(), Text: "one answer"})
	if got := n.ann.Texts(); !slices.Equal(got, []string{"one answer"}) {
		t.Errorf("Ann sees %q", got)
	}
}

// A conversation that began before the number was known is not split.
func TestUnknownNumber(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := connected(t, n, whatsapp.Options{})
	n.ann.HideOther(true)
	n.ann.Say("who am I?")
	key := channels.MustKey("whatsapp:" + n.ann.LID().String())
	if got := inbox.Wait(t, 1)[0]; got.Key != key || !slices.Equal(got.Sender.IDs, []string{n.ann.LID().String()}) {
		t.Errorf("key %s, sender %v; want %s", got.Key, got.Sender.IDs, key)
	}
	send(t, c, channels.Outbound{ID: "1", Key: key, Text: "you tell me"})
	n.ann.HideOther(false)
	n.ann.Say("now you know")
	if got := inbox.Wait(t, 2)[1]; got.Key != key || !slices.Equal(got.Sender.IDs, n.SenderIDs()) {
		t.Errorf("key %s, sender %v; want %s and both ids", got.Key, got.Sender.IDs, key)
	}
	send(t, c, channels.Outbound{ID: "2", Key: key, Text: "so I do"})
	if got := n.ann.Texts(); !slices.Equal(got, []string{"you tell me", "so I do"}) {
		t.Errorf("Ann sees %q", got)
	}
}

func TestGroup(t *testing.T) {
	for _, byPhone := range []bool{false, true} {
		t.Run(fmt.Sprintf("by phone %v", byPhone), func(t *testing.T) {
			n := newNetwork(t, wasim.Options{ByPhone: byPhone})
			bob := n.Contact("+15550000003", "Bob")
			g := n.Group("friends", n.ann, bob)
			c, inbox := connected(t, n, whatsapp.Options{Names: []string{"dragoman"}})
			own := strings.TrimPrefix(n.Owner().Number(), "+")
			n.ann.SayIn(g, "just talking")
			asked := bob.Send(wasim.Note{In: g, Text: "@" + own + " what is Go?", Mention: []string{own}})
			n.ann.SayIn(g, "dragoman: and Rust?")
			got := inbox.Wait(t, 3)
			key := channels.MustKey("whatsapp:" + g.JID().String())
			for i, want := range []struct {
				text, prefix string
				addressed    bool
			}{{"just talking", "Ann: ", false}, {"what is Go?", "Bob: ", true}, {"and Rust?", "Ann: ", true}} {
				m := got[i]
				if m.Text != want.text || m.Prefix != want.prefix || m.Addressed != want.addressed || m.Private || m.Key != key {
					t.Errorf("message %d = %q, prefix %q, addressed %v, key %s; want %+v in %s", i, m.Text, m.Prefix, m.Addressed, m.Key, want, key)
				}
			}
			id := send(t, c, channels.Outbound{ID: "1", Key: key, Text: "a language", ReplyTo: got[1].MessageID})
			seen, err := g.WaitReceived(within(t), 1)
			if err != nil || seen[0].Text != "a language" || seen[0].Quote != asked {
				t.Errorf("the group sees %+v, %v, want the answer to quote %s", seen, err, asked)
			}
			bob.Send(wasim.Note{In: g, Text: "thanks", Quote: id})
			m := inbox.Wait(t, 4)[3]
			if !m.Addressed || m.Quote == nil || m.Quote.Name != "you" || m.Quote.Text != "a language" || m.Quote.ID != id {
				t.Errorf("an answer to ours = %+v, quote %+v", m, m.Quote)
			}
			ann := n.ann.LID().User
			if byPhone {
				ann = n.ann.PN().User
			}
			said := n.ann.SayIn(g, "over there")
			bob.Send(wasim.Note{In: g, Text: "@" + ann + " where?", Quote: said, Mention: []string{n.ann.Number()}})
			m = inbox.Wait(t, 6)[5]
			if m.Text != "@Ann where?" || m.Quote == nil || m.Quote.Name != "Ann" {
				t.Errorf("a message about Ann's, with her mentioned = %q, quote %+v, want her name", m.Text, m.Quote)
			}
			if err := c.Typing(within(t), key); err != nil {
				t.Error(err)
			}
			if err := n.Wait(within(t), g.Typing); err != nil {
				t.Error("the group sees no typing")
			}
		})
	}
}

func TestChanges(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	_, inbox := connected(t, n, whatsapp.Options{})
	id := n.ann.Say("wrnog")
	n.ann.Edit(id, "wrong")
	n.ann.React(id, "👍")
	n.ann.Revoke(id)
	n.ann.Send(wasim.Note{Text: "once", ViewOnce: true})
	n.ann.Send(wasim.Note{Text: "gone in a day", Ephemeral: 24 * time.Hour})
	type change struct{ Text, Edits string }
	var got []change
	for _, m := range inbox.Wait(t, 5) {
		got = append(got, change{m.Text, m.Edits})
	}
	want := []change{
		{"wrnog", ""},
		{"wrong", id},
		{"[this message was deleted by its sender]", id},
		{"once\n[to be viewed once]", ""},
		{"gone in a day", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// The owner can talk to the assistant in the chat with themselves. Everything else that the
// owner writes is ignored.
func TestOwner(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := connected(t, n, whatsapp.Options{})
	n.Owner().Send(wasim.Note{To: n.ann, Text: "private"})
	n.Owner().Say("note to self")
	m := inbox.Wait(t, 1)[0]
	if m.Text != "note to self" || m.Key != keyOf(n.Owner()) || !m.Private {
		t.Errorf("stored %q in %s, want the note in the owner's chat", m.Text, m.Key)
	}
	send(t, c, channels.Outbound{ID: "1", Key: m.Key, Text: "noted", ReplyTo: m.MessageID})
	if got := n.Owner().Texts(); !slices.Equal(got, []string{"noted"}) {
		t.Errorf("the owner sees %q", got)
	}
	n.ann.Say("hello")
	if got := inbox.Wait(t, 2)[1].Text; got != "hello" {
		t.Errorf("the second message is %q, want hello", got)
	}
}

func TestNoSelfChat(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	_, inbox := connected(t, n, whatsapp.Options{NoSelfChat: true})
	n.Owner().Say("note to self")
	n.ann.Say("hello")
	if got := inbox.Wait(t, 1)[0].Text; got != "hello" {
		t.Errorf("the first message is %q, want hello", got)
	}
}

// Messages are marked as read when their answer begins. Strangers get no answer, so they
// see no marks.
func TestTypingAndReadMarks(t *testing.T) {
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprintf("off %v", off), func(t *testing.T) {
			n := newNetwork(t, wasim.Options{})
			c, inbox := connected(t, n, whatsapp.Options{NoTyping: off, NoReadMarks: off})
			first, second := n.ann.Say("one"), n.ann.Say("two")
			inbox.Wait(t, 2)
			if n.HasRead(first) || n.HasRead(second) {
				t.Error("a message is marked as read before its answer began")
			}
			if err := c.Typing(within(t), n.Key()); err != nil {
				t.Fatal(err)
			}
			// The server handles one connection in order. When it has the answer, it
			// has had the typing indicator and the read marks before it.
			send(t, c, channels.Outbound{ID: "1", Key: n.Key(), Text: "answer"})
			_, times := n.ann.Typing()
			for i, id := range []string{first, second} {
				if n.HasRead(id) == off {
					t.Errorf("message %d is marked as read: %v, want %v", i+1, off, !off)
				}
			}
			if (times > 0) == off || n.Count("receipt:read") > 0 == off {
				t.Errorf("%d typing indicators and %d read marks, want some: %v", times, n.Count("receipt:read"), !off)
			}
		})
	}
}

// begins answers a message before Accept has returned, as a fast model can.
type begins struct {
	*channeltest.Inbox
	answer func(channels.Inbound)
}

func (b *begins) Accept(ctx context.Context, m channels.Inbound) error {
	b.answer(m)
	return b.Inbox.Accept(ctx, m)
}

// An answer can begin, and be sent, before Accept has returned for its message.
func TestAnswerBeginsAtOnce(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	g := n.Group("friends", n.ann)
	c := n.open(t, whatsapp.Options{})
	var answered []string
	in := &begins{Inbox: channeltest.NewInbox(), answer: func(m channels.Inbound) {
		if err := c.Typing(within(t), m.Key); err != nil {
			t.Error(err)
		}
		send(t, c, channels.Outbound{ID: m.MessageID, Key: m.Key, Text: "answer", ReplyTo: m.MessageID})
		answered = append(answered, m.MessageID)
	}}
	channeltest.Start(t, c, in)
	reach(t, c, channels.StateConnected, "")
	id := n.ann.SayIn(g, "hello")
	in.Wait(t, 1)
	seen, err := g.WaitReceived(within(t), 1)
	if err != nil || seen[0].Quote != id || !n.HasRead(id) || !slices.Equal(answered, []string{id}) {
		t.Errorf("the group sees %+v, %v, read %v; want an answer that quotes %s, and a read mark", seen, err, n.HasRead(id), id)
	}
}

// A message is never quoted in another chat.
func TestQuoteStaysInItsChat(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	one, two := n.Group("one", n.ann), n.Group("two", n.ann)
	c, inbox := connected(t, n, whatsapp.Options{})
	id := n.ann.SayIn(one, "a secret of one")
	alone := n.ann.Say("a secret of Ann's")
	inbox.Wait(t, 2)
	for i, answered := range []string{id, alone} {
		send(t, c, channels.Outbound{ID: fmt.Sprint(i), Key: channels.MustKey("whatsapp:" + two.JID().String()), Text: "answer", ReplyTo: answered})
	}
	seen, err := two.WaitReceived(within(t), 2)
	if err != nil || seen[0].Quote != "" || seen[1].Quote != "" {
		t.Errorf("the other group sees %+v, %v, want answers that quote nothing", seen, err)
	}
}
