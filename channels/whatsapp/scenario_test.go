package whatsapp_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// soon is how long a test waits for what should happen at once.
const soon = time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

// reach waits until the channel is in a state and says want about it.
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

// A person is one conversation, however WhatsApp addresses them.
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

// A conversation that began before the number was known stays one.
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

// The owner may talk to the assistant in the chat with themselves, and is not
// listened to anywhere else.
func TestOwner(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := connected(t, n, whatsapp.Options{})
	n.Owner().Send(wasim.Note{To: n.ann, Text: "private"})
	n.Owner().Say("note to self")
	m := inbox.Wait(t, 1)[0]
	if m.Text != "note to self" || m.Key != keyOf(n.Owner()) || !m.Private {
		t.Errorf("got %q in %s", m.Text, m.Key)
	}
	send(t, c, channels.Outbound{ID: "1", Key: m.Key, Text: "noted", ReplyTo: m.MessageID})
	if got := n.Owner().Texts(); !slices.Equal(got, []string{"noted"}) {
		t.Errorf("the owner sees %q", got)
	}
	n.ann.Say("hello")
	if got := inbox.Wait(t, 2)[1].Text; got != "hello" {
		t.Errorf("then came %q", got)
	}
}

func TestNoSelfChat(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	_, inbox := connected(t, n, whatsapp.Options{NoSelfChat: true})
	n.Owner().Say("note to self")
	n.ann.Say("hello")
	if got := inbox.Wait(t, 1)[0].Text; got != "hello" {
		t.Errorf("first came %q", got)
	}
}

// What is read is marked when an answer begins, so that strangers, who get
// none, see nothing.
func TestSigns(t *testing.T) {
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprintf("off %v", off), func(t *testing.T) {
			n := newNetwork(t, wasim.Options{})
			c, inbox := connected(t, n, whatsapp.Options{NoTyping: off, NoReadMarks: off})
			first, second := n.ann.Say("one"), n.ann.Say("two")
			inbox.Wait(t, 2)
			if n.HasRead(first) || n.HasRead(second) {
				t.Error("a message is marked as read before an answer was begun")
			}
			if err := c.Typing(within(t), n.Key()); err != nil {
				t.Fatal(err)
			}
			// The server takes what comes over one connection in its order, so
			// once it has the answer it has had the signs before it, or there
			// were none.
			send(t, c, channels.Outbound{ID: "1", Key: n.Key(), Text: "answer"})
			_, times := n.ann.Typing()
			for i, id := range []string{first, second} {
				if n.HasRead(id) == off {
					t.Errorf("message %d is marked as read: %v, want %v", i+1, off, !off)
				}
			}
			if (times > 0) == off || n.Count("receipt:read") > 0 == off {
				t.Errorf("%d signs of typing and %d of reading, want some: %v", times, n.Count("receipt:read"), !off)
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

// An answer can begin, and be sent, while its message is still being taken.
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
		t.Errorf("the group sees %+v, %v, read %v; want an answer that quotes %s, and that read", seen, err, n.HasRead(id), id)
	}
}

// What was said in one chat is never quoted into another.
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

// WhatsApp takes the same message twice and shows it once, also when the first
// acknowledgement was lost.
func TestSentTwice(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, _ := connected(t, n, whatsapp.Options{})
	m := channels.Outbound{ID: "1", Key: n.Key(), Text: "once", Attempt: 1}
	n.Faults.DropAfter(1)
	if _, err := c.Send(within(t), m); err == nil {
		t.Error("Send whose acknowledgement was lost = nil, want an error")
	} else if notSent := (*channels.NotSent)(nil); errors.As(err, &notSent) {
		t.Errorf("Send = %v, but it was sent", err)
	}
	reach(t, c, channels.StateConnected, "")
	m.Attempt, m.Uncertain = 2, true
	sendSoon(t, c, m)
	seen := n.ann.Received()
	if len(seen) != 1 || seen[0].Text != "once" || seen[0].Copies != 2 {
		t.Errorf("Ann sees %+v, want one message that came twice", seen)
	}
}

// sendSoon sends until there is a connection.
func sendSoon(t *testing.T, c *whatsapp.Channel, m channels.Outbound) {
	t.Helper()
	ctx := within(t)
	for {
		_, err := c.Send(ctx, m)
		if err == nil {
			return
		}
		reach(t, c, channels.StateConnected, "")
		if ctx.Err() != nil {
			t.Fatalf("Send(%s) = %v", m.ID, err)
		}
	}
}

// A phone that lost its keys asks for a message again; a restart in between
// must not matter.
func TestAskedForAgainAfterRestart(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := n.open(t, whatsapp.Options{}), channeltest.NewInbox()
	stop := channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	send(t, c, channels.Outbound{ID: "0", Key: n.Key(), Text: "before"})
	n.Faults.IgnoreRetries(false)
	n.ann.Reinstall()
	send(t, c, channels.Outbound{ID: "1", Key: n.Key(), Text: "asked for"})
	stop()
	connected(t, n, whatsapp.Options{})
	if err := n.ann.WaitText(within(t), "asked for"); err != nil {
		t.Errorf("Ann sees %q: %v", n.ann.Texts(), err)
	}
}

func TestSendErrors(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	g := n.Group("left", n.ann)
	c, _ := connected(t, n, whatsapp.Options{})
	for name, k := range map[string]string{
		"no number": "whatsapp:ann", "other channel": "telegram:1", "status": "whatsapp:status@broadcast", "newsletter": "whatsapp:1@newsletter",
		"nobody has it": "whatsapp:+15559999999", "no such group": "whatsapp:120363999999999999@g.us",
	} {
		if _, err := c.Send(within(t), channels.Outbound{ID: name, Key: channels.MustKey(k), Text: "x"}); !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("%s: Send = %v, want a permanent error", name, err)
		}
	}
	n.Faults.RefuseSends(463)
	if _, err := c.Send(within(t), channels.Outbound{ID: "463", Key: n.Key(), Text: "x"}); !errors.Is(err, channels.ErrPermanent) || !strings.Contains(err.Error(), "463") {
		t.Errorf("refused with 463: Send = %v, want a permanent error that names it", err)
	}
	n.Faults.RefuseSends(0)
	g.Remove(n.Owner())
	if _, err := c.Send(within(t), channels.Outbound{ID: "left", Key: channels.MustKey("whatsapp:" + g.JID().String()), Text: "x"}); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("after leaving the group: Send = %v, want a permanent error", err)
	}
}

// What the server has against us, in which state that ends, and whether it
// goes away by itself.
func TestFailures(t *testing.T) {
	tests := []struct {
		name   string
		fail   func(n *network)
		state  channels.State
		reason string
		detail string // why, and what to do
		next   string
		back   bool
	}{
		{"removed", func(n *network) { n.Faults.Remove() }, channels.StateFailed, "needs_pairing", "needs pairing: the device was removed on the phone; run: dragoman login whatsapp", "run: dragoman login whatsapp", false},
		{"401", func(n *network) { n.Faults.FailLogins(401, -1); n.Faults.Drop() }, channels.StateFailed, "needs_pairing", "needs pairing: WhatsApp refuses this device (401)", "run: dragoman login whatsapp", false},
		{"403", func(n *network) { n.Faults.FailLogins(403, -1); n.Faults.Drop() }, channels.StateFailed, "needs_pairing", "needs pairing: WhatsApp refuses this device (403)", "run: dragoman login whatsapp", false},
		{"406", func(n *network) { n.Faults.FailLogins(406, -1); n.Faults.Drop() }, channels.StateFailed, "needs_pairing", "needs pairing: WhatsApp refuses this device (406)", "run: dragoman login whatsapp", false},
		{"429", func(n *network) { n.Faults.FailLogins(429, -1); n.Faults.Drop() }, channels.StateDown, "refused", "WhatsApp refuses the connection (429)", "trying again in 5 minutes", false},
		{"402", func(n *network) { n.Faults.FailLogins(402, -1); n.Faults.Drop() }, channels.StateDown, "banned", "banned until ", "it will connect again then", false},
		{"405", func(n *network) { n.Faults.FailLogins(405, -1); n.Faults.Drop() }, channels.StateFailed, "outdated", "outdated: WhatsApp refuses version 2.3000.", "web_version: auto", false},
		{"replaced", func(n *network) { n.Faults.Replace() }, channels.StateFailed, "replaced", "replaced: ", "stop that one, then restart", false},
		{"500", func(n *network) { n.Faults.FailLogins(500, 2); n.Faults.Drop() }, channels.StateConnected, "", "", "", true},
		{"503", func(n *network) { n.Faults.FailLogins(503, 2); n.Faults.Drop() }, channels.StateConnected, "", "", "", true},
		{"stream 503", func(n *network) { n.Faults.StreamError(503) }, channels.StateConnected, "", "", "", true},
		{"stream 500", func(n *network) { n.Faults.StreamError(500) }, channels.StateConnected, "", "", "", true},
		{"stream 515", func(n *network) { n.Faults.StreamError(515) }, channels.StateConnected, "", "", "", true},
		{"dial", func(n *network) { n.Faults.RefuseDials(3); n.Faults.Drop() }, channels.StateConnected, "", "", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNetwork(t, wasim.Options{})
			c, inbox := connected(t, n, whatsapp.Options{})
			before, dials := n.Logins(), n.Count("dial")
			tt.fail(n)
			if !tt.back {
				if got := reach(t, c, tt.state, tt.detail); got.Reason != tt.reason || !strings.Contains(got.Detail, tt.next) {
					t.Errorf("Status = %+v, want reason %q and what to do: %q", got, tt.reason, tt.next)
				}
				if _, err := c.Send(within(t), channels.Outbound{ID: "x", Key: n.Key(), Text: "x"}); err == nil {
					t.Error("Send = nil, want an error")
				}
				if got := n.Count("dial") - dials; got > 1 {
					t.Errorf("WhatsApp was dialled %d times, want that it is left alone", got)
				}
				return
			}
			n.ann.Say("are you back?")
			if err := n.Wait(within(t), func() bool { return n.Logins() > before }); err != nil {
				t.Fatal("it did not log in again:", err)
			}
			inbox.Wait(t, 1) // whichever of the connections brought it
			reach(t, c, channels.StateConnected, "")
		})
	}
}

// What was said does not stay in the device file: the plaintext of the last
// messages goes at the latest when the connection ends.
func TestPlaintextIsRemoved(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := n.open(t, whatsapp.Options{}), channeltest.NewInbox()
	stop := channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	for i := range 5 {
		n.ann.Say(fmt.Sprint("secret ", i))
	}
	inbox.Wait(t, 5)
	if err := n.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	stop()
	db, err := sql.Open("sqlite", "file:"+n.file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var all, kept int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*), count(plaintext) FROM whatsmeow_event_buffer").Scan(&all, &kept); err != nil {
		t.Fatal(err)
	}
	if all < 5 || kept != 0 {
		t.Errorf("of %d messages %d still have their plaintext", all, kept)
	}
}

// panicky panics at the first message.
type panicky struct {
	*channeltest.Inbox
	done atomic.Bool
}

func (p *panicky) Accept(ctx context.Context, m channels.Inbound) error {
	if !p.done.Swap(true) {
		panic("a bug")
	}
	return p.Inbox.Accept(ctx, m)
}

// The library takes a handler that panics for one that succeeded, and would
// acknowledge the message.
func TestPanicLosesNothing(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, in := n.open(t, whatsapp.Options{}), &panicky{Inbox: channeltest.NewInbox()}
	channeltest.Start(t, c, in)
	reach(t, c, channels.StateConnected, "")
	n.ann.Say("one")
	n.ann.Say("two")
	in.Wait(t, 2)
	if got := in.Texts(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("accepted %q, want both in order", got)
	}
}

// Every message is acknowledged after it was accepted, and not before.
func TestAcknowledgedAfter(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := n.open(t, whatsapp.Options{}), channeltest.NewInbox()
	channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	if err := n.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	inbox.Refuse(true)
	n.ann.Say("hold on")
	inbox.WaitRefused(t, 2)
	if n.Pending() == 0 {
		t.Error("a message that was refused is acknowledged")
	}
	inbox.Refuse(false)
	if err := n.WaitDrained(within(t)); err != nil {
		t.Error("a message that was accepted is not acknowledged")
	}
}

// With "auto" a version that is refused is not the end: it asks again later. That
// no version can be found out, as here, keeps nobody from connecting.
func TestOutdatedWithAuto(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	n.Faults.FailLogins(405, 1)
	c := n.open(t, whatsapp.Options{WebVersion: "auto"})
	channeltest.Start(t, c, channeltest.NewInbox())
	reach(t, c, channels.StateDown, "outdated: WhatsApp refuses version 2.3000.")
}

// The device file is for its owner only.
func TestDeviceFileIsPrivate(t *testing.T) {
	n := unlinked(t, wasim.Options{})
	if err := os.WriteFile(n.file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c := n.open(t, whatsapp.Options{})
	channeltest.Start(t, c, channeltest.NewInbox())
	reach(t, c, channels.StateFailed, "needs pairing")
	for _, name := range []string{n.file, n.file + "-wal", n.file + "-shm"} {
		info, err := os.Stat(name)
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}
