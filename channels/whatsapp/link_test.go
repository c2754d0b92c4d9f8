package whatsapp_test

import (
	"context"
	"errors"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
)

// Being unlinked is no crash loop: the device is gone, nothing dials any more,
// and a new one is taken up without a restart.
func TestUnlinkedAndLinkedAgain(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := connected(t, n, whatsapp.Options{})
	n.Faults.Remove()
	reach(t, c, channels.StateFailed, "needs pairing")
	logins := n.Logins()
	account, err := c.Link(within(t), "", scan(t, n))
	if err != nil || account != n.Owner().Number() {
		t.Fatalf("Link = %q, %v, want %s", account, err, n.Owner().Number())
	}
	reach(t, c, channels.StateConnected, "")
	if got := n.Logins() - logins; got != 2 { // one to settle, one by Run
		t.Errorf("%d logins, want 2", got)
	}
	n.ann.Say("welcome back")
	if got := inbox.Wait(t, 1)[0].Text; got != "welcome back" {
		t.Errorf("got %q", got)
	}
}

// scan is a phone that scans the first code it is shown.
func scan(t *testing.T, n *network) func(whatsapp.Invitation) {
	scanned := false
	return func(i whatsapp.Invitation) {
		if i.QR == "" || i.Code != "" {
			t.Errorf("invitation = %+v, want a QR code", i)
		}
		if !scanned {
			scanned = true
			if err := n.Scan(within(t), i.QR); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestLink(t *testing.T) {
	n := unlinked(t, wasim.Options{})
	c := n.open(t, whatsapp.Options{})
	inbox := channeltest.NewInbox()
	stop := run(t, c, inbox)
	reach(t, c, channels.StateFailed, "needs pairing: this device is not linked to a phone; run: dragoman login whatsapp")
	stop()
	code := func(i whatsapp.Invitation) {
		if len(i.Code) != 9 || i.QR != "" {
			t.Errorf("invitation = %+v, want a code", i)
		}
		if err := n.EnterCode(within(t), i.Code); err != nil {
			t.Error(err)
		}
	}
	n.ann.Say("sent while nobody was there")
	account, err := c.Link(within(t), n.Owner().Number(), code)
	if err != nil || account != n.Owner().Number() {
		t.Fatalf("Link = %q, %v, want %s", account, err, n.Owner().Number())
	}
	if _, err := c.Link(within(t), "", code); !errors.Is(err, whatsapp.ErrLinked) {
		t.Errorf("Link again = %v, want ErrLinked", err)
	}
	run(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	n.ann.Say("hello")
	inbox.Wait(t, 1)
	send(t, c, channels.Outbound{ID: "1", Key: n.Key(), Text: "hello yourself"})
}

func TestLinkFails(t *testing.T) {
	n := unlinked(t, wasim.Options{})
	c := n.open(t, whatsapp.Options{})
	if _, err := c.Link(within(t), "12", func(whatsapp.Invitation) {}); err == nil {
		t.Error("Link with a number that is none = nil, want an error")
	}
	ctx, cancel := context.WithCancel(within(t))
	if _, err := c.Link(ctx, "", func(whatsapp.Invitation) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("Link that was given up = %v, want its context's error", err)
	}
	n.Faults.RefuseDials(-1)
	if _, err := c.Link(within(t), "", func(whatsapp.Invitation) {}); err == nil {
		t.Error("Link without a network = nil, want an error")
	}
}

func TestUnlink(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c := n.open(t, whatsapp.Options{})
	if err := c.Unlink(within(t)); err != nil {
		t.Fatal(err)
	}
	run(t, c, channeltest.NewInbox())
	reach(t, c, channels.StateFailed, "needs pairing: this device is not linked")
}
