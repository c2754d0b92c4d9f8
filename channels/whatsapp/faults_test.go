//go:build !nowhatsapp

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
)

// A message that is sent twice is shown once, also if the first acknowledgement was lost.
func TestSentTwice(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, _ := connected(t, n, whatsapp.Options{})
	m := channels.Outbound{ID: "1", Key: n.Key(), Text: "once", Attempt: 1}
	n.Faults.DropAfter(1)
	if _, err := c.Send(within(t), m); err == nil {
		t.Error("Send whose acknowledgement was lost = nil, want an error")
	} else if notSent := (*channels.NotSent)(nil); errors.As(err, &notSent) {
		t.Errorf("Send = %v, want no NotSent: it was sent", err)
	}
	reach(t, c, channels.StateConnected, "")
	m.Attempt, m.Uncertain = 2, true
	sendSoon(t, c, m)
	seen := n.ann.Received()
	if len(seen) != 1 || seen[0].Text != "once" || seen[0].Copies != 2 {
		t.Errorf("Ann sees %+v, want one message that came twice", seen)
	}
}

// sendSoon calls Send until there is a connection.
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

// A phone that lost its keys asks for a message again, and gets it also after a restart.
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
	c, _ := connected(t, n, whatsapp.Options{})
	for name, k := range map[string]string{
		"no number": "whatsapp:ann", "other channel": "telegram:1", "status": "whatsapp:status@broadcast", "newsletter": "whatsapp:1@newsletter",
		"nobody has it": "whatsapp:+15559999999", "no such group": "whatsapp:120363999999999999@g.us",
	} {
		if _, err := c.Send(within(t), channels.Outbound{ID: name, Key: channels.MustKey(k), Text: "x"}); !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("%s: Send = %v, want a permanent error", name, err)
		}
	}
}

// opener is an inbox that is told when chats take messages again.
type opener struct {
	*channeltest.Inbox
	opened chan channels.Key
}

func (o opener) Opened(_ context.Context, k channels.Key) error {
	o.opened <- k
	return nil
}

// A chat in which we may not write now is no dead end: its messages wait, and go out as
// soon as something there is a reason to try.
func TestChatsThatRefuseUs(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	g := n.Group("friends", n.ann)
	left := n.Group("others", n.ann) // whose members the library has not cached
	group, gone := channels.MustKey("whatsapp:"+g.JID().String()), channels.MustKey("whatsapp:"+left.JID().String())
	in := opener{channeltest.NewInbox(), make(chan channels.Key, 10)}
	c := connectedTo(t, n, whatsapp.Options{Names: []string{"dragoman"}}, in)
	for name, test := range map[string]struct {
		key     channels.Key
		refuses func()
		opens   func()
	}{
		"a stranger (463), who then writes":          {n.Key(), func() { n.Faults.RefuseNext(463, 1) }, func() { n.ann.Say("hello") }},
		"muted (403), then asked":                    {group, func() { n.Faults.RefuseNext(403, 1) }, func() { n.ann.SayIn(g, "dragoman, are you there?") }},
		"removed, then taken back":                   {gone, func() { left.Remove(n.Owner()) }, func() { left.Add(n.Owner()) }},
		"not in the group (420), which then changes": {group, func() { n.Faults.RefuseNext(420, 1) }, func() { g.SetTimer(time.Hour) }},
	} {
		t.Run(name, func(t *testing.T) {
			test.refuses()
			var retry *channels.Retry
			var notSent *channels.NotSent
			for try := range 2 { // the second one does not even ask
				_, err := c.Send(within(t), channels.Outbound{ID: name, Key: test.key, Text: "x"})
				if !errors.As(err, &retry) || !errors.As(err, &notSent) {
					t.Fatalf("Send number %d = %v, want a Retry that was not sent", try+1, err)
				}
			}
			test.opens()
			select {
			case k := <-in.opened:
				if k != test.key {
					t.Errorf("Opened(%s), want %s", k, test.key)
				}
			case <-within(t).Done():
				t.Fatal("nobody is told that the chat takes messages again")
			}
			send(t, c, channels.Outbound{ID: name, Key: test.key, Text: "x"})
		})
	}
}

// What WhatsApp refuses because of its form is sent in another one: without the quotation,
// then as a text instead of a file.
func TestRefusedForms(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, _ := connected(t, n, whatsapp.Options{})
	file := &channels.File{Name: "answer.md", Content: "all of it", Instead: "the file is not taken"}
	for name, test := range map[string]struct {
		refusals int
		file     *channels.File
		want     string // "" if it is given up
	}{
		"the quotation": {1, nil, "the quotation"},
		"the file":      {2, file, "the file is not taken"},
		"everything":    {2, nil, ""},
		"all of that":   {3, file, ""},
	} {
		n.Faults.RefuseNext(479, test.refusals)
		before := len(n.ann.Texts())
		_, err := c.Send(within(t), channels.Outbound{ID: name, Key: n.Key(), Text: name, File: test.file})
		n.Faults.RefuseSends(0)
		if test.want == "" {
			if !errors.Is(err, channels.ErrPermanent) {
				t.Errorf("%s: Send = %v, want a permanent error", name, err)
			}
			continue
		}
		if err != nil || n.ann.WaitText(within(t), test.want) != nil {
			t.Errorf("%s: Send = %v, and Ann sees %q, want %q", name, err, n.ann.Texts()[before:], test.want)
		}
	}
}

// Each refusal of the server leads to the right state, and to a retry or a wait for a
// person.
func TestFailures(t *testing.T) {
	tests := []struct {
		name   string
		fail   func(n *network)
		state  channels.State
		reason string
		detail string // in the status
		next   string
		back   bool
	}{
		{"removed", func(n *network) { n.Faults.Remove() }, channels.StateFailed, "needs_pairing", "needs pairing: the device was removed on the phone; run: dragoman login whatsapp", "run: dragoman login whatsapp", false},
		{"401", func(n *network) { n.Faults.FailLogins(401, -1); n.Faults.Drop() }, channels.StateFailed, "needs_pairing", "needs pairing: WhatsApp refuses this device (401)", "run: dragoman login whatsapp", false},
		{"403", func(n *network) { n.Faults.FailLogins(403, -1); n.Faults.Drop() }, channels.StateFailed, "needs_pairing", "needs pairing: WhatsApp refuses this device (403)", "run: dragoman login whatsapp", false},
		{"406", func(n *network) { n.Faults.FailLogins(406, -1); n.Faults.Drop() }, channels.StateFailed, "needs_pairing", "needs pairing: WhatsApp refuses this device (406)", "run: dragoman login whatsapp", false},
		{"429", func(n *network) { n.Faults.FailLogins(429, -1); n.Faults.Drop() }, channels.StateDown, "refused", "WhatsApp refuses the connection (429)", "trying again in 5 minutes", false},
		{"402", func(n *network) { n.Faults.FailLogins(402, -1); n.Faults.Drop() }, channels.StateDown, "banned", "banned until ", "it will connect again after that", false},
		{"405", func(n *network) { n.Faults.FailLogins(405, -1); n.Faults.Drop() }, channels.StateFailed, "outdated", "outdated: WhatsApp refuses version 2.3000.", "web_version: auto", false},
		{"replaced", func(n *network) { n.Faults.Replace() }, channels.StateFailed, "replaced", "replaced: ", "stop that program, then restart", false},
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
					t.Errorf("Status = %+v, want reason %q and the advice %q", got, tt.reason, tt.next)
				}
				if _, err := c.Send(within(t), channels.Outbound{ID: "x", Key: n.Key(), Text: "x"}); err == nil {
					t.Error("Send = nil, want an error")
				}
				if got := n.Count("dial") - dials; got > 1 {
					t.Errorf("%d further dials, want none", got)
				}
				return
			}
			n.ann.Say("are you back?")
			if err := n.Wait(within(t), func() bool { return n.Logins() > before }); err != nil {
				t.Fatal("the channel did not log in again:", err)
			}
			inbox.Wait(t, 1) // over any of the connections
			reach(t, c, channels.StateConnected, "")
		})
	}
}

// If several nodes share the device, a connection that replaces ours ends Run.
func TestReplacedOnASharedDevice(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c := n.open(t, whatsapp.Options{Shared: true})
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context(), channeltest.NewInbox()) }()
	reach(t, c, channels.StateConnected, "")
	n.Faults.Replace()
	if err := <-ended; !errors.Is(err, channels.ErrElsewhere) {
		t.Errorf("Run = %v, want ErrElsewhere", err)
	}
}

// The device file does not keep the text of messages: the last plaintexts are removed when
// the connection ends.
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
		t.Errorf("%d of %d messages still have their plaintext, want 0 of some", kept, all)
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

// A message whose handler panics is not acknowledged. The library itself would treat the
// panic as success.
func TestPanicLosesNothing(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, in := n.open(t, whatsapp.Options{}), &panicky{Inbox: channeltest.NewInbox()}
	channeltest.Start(t, c, in)
	reach(t, c, channels.StateConnected, "")
	n.ann.Say("one")
	n.ann.Say("two")
	in.Wait(t, 2)
	if got := in.Texts(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("stored %q, want both in order", got)
	}
}

// A message is acknowledged only after the intake has accepted it.
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
	testkit.Poll(soon, func() bool { r := len(inbox.Refused()); return r > 1 || r > 0 && n.Pending() == 0 })
	if n.Pending() == 0 {
		t.Fatal("a refused message was acknowledged")
	}
	inbox.WaitRefused(t, 2)
	inbox.Refuse(false)
	if err := n.WaitDrained(within(t)); err != nil {
		t.Error("an accepted message was not acknowledged")
	}
}

// With "auto" the channel tries again later if WhatsApp refuses its version. It also
// connects if it cannot get the current version, as in this test.
func TestOutdatedWithAuto(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	n.Faults.FailLogins(405, 1)
	c := n.open(t, whatsapp.Options{WebVersion: "auto"})
	channeltest.Start(t, c, channeltest.NewInbox())
	reach(t, c, channels.StateDown, "outdated: WhatsApp refuses version 2.3000.")
	c.Revive()
	reach(t, c, channels.StateConnected, "")
}

// Only the owner of the device file can read it.
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
			t.Errorf("%s has mode %v, want 0600", name, info.Mode())
		}
	}
}
