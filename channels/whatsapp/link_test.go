//go:build !nowhatsapp

package whatsapp_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
)

// After the phone has unlinked the device, the channel no longer dials. It continues with a
// new device without a restart.
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
	if got := n.Logins() - logins; got != 2 { // one by Link, one by Run
		t.Errorf("%d logins, want 2", got)
	}
	n.ann.Say("welcome back")
	if got := inbox.Wait(t, 1)[0].Text; got != "welcome back" {
		t.Errorf("got %q", got)
	}
}

// scan returns a function that scans the first code with the owner's phone.
func scan(t *testing.T, n *network) func(channels.Invitation) {
	scanned := false
	return func(i channels.Invitation) {
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
	stop := channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateFailed, "needs pairing: this device is not linked to a phone; run: dragoman login whatsapp")
	stop()
	code := func(i channels.Invitation) {
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
	channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	n.ann.Say("hello")
	inbox.Wait(t, 1)
	send(t, c, channels.Outbound{ID: "1", Key: n.Key(), Text: "hello yourself"})
}

func TestLinkFails(t *testing.T) {
	n := unlinked(t, wasim.Options{})
	c := n.open(t, whatsapp.Options{})
	if _, err := c.Link(within(t), "12", func(channels.Invitation) {}); err == nil {
		t.Error("Link with an invalid number = nil, want an error")
	}
	ctx, cancel := context.WithCancel(within(t))
	if _, err := c.Link(ctx, "", func(channels.Invitation) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Link = %v, want the context's error", err)
	}
	n.Faults.RefuseDials(-1)
	if _, err := c.Link(within(t), "", func(channels.Invitation) {}); err == nil {
		t.Error("Link without a network = nil, want an error")
	}
}

// Link pauses between connections if the server ends each one at once.
func TestLinkPauses(t *testing.T) {
	n := unlinked(t, wasim.Options{})
	c := n.open(t, whatsapp.Options{})
	n.Faults.FailLogins(503, -1)
	ctx, cancel := context.WithTimeout(within(t), time.Second)
	defer cancel()
	if _, err := c.Link(ctx, "", func(channels.Invitation) {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Link = %v, want attempts until the context ends", err)
	}
	if got := n.Count("dial"); got > 6 { // 100 ms before the second, 200 before the third
		t.Errorf("%d dials in a second, want at most 6", got)
	}
}

// Unlink works while Run is connected: WhatsApp is told, the device is deleted, the channel
// no longer dials, and it continues with a new device without a restart.
func TestUnlinkWhileConnected(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := connected(t, n, whatsapp.Options{})
	logins := n.Logins()
	if told, err := c.Unlink(within(t)); err != nil || !told {
		t.Fatalf("Unlink = %v, %v, want true, nil", told, err)
	}
	n.ann.Say("anybody there?")
	if got := n.Pending(); got != 0 {
		t.Errorf("WhatsApp keeps %d messages for the device, want none", got)
	}
	reach(t, c, channels.StateFailed, "needs pairing: this device is not linked")
	if _, err := c.Send(within(t), channels.Outbound{ID: "x", Key: n.Key(), Text: "x", Attempt: 1}); err == nil {
		t.Error("Send without a device = nil, want an error")
	}
	if told, err := c.Unlink(within(t)); err != nil || !told {
		t.Errorf("Unlink without a device = %v, %v, want true, nil", told, err)
	}
	if got := n.Logins() - logins; got != 1 { // to tell WhatsApp
		t.Errorf("%d logins, want 1", got)
	}
	if _, err := c.Link(within(t), "", scan(t, n)); err != nil {
		t.Fatal(err)
	}
	reach(t, c, channels.StateConnected, "")
	n.ann.Say("welcome back")
	inbox.Wait(t, 1)
}

// If WhatsApp cannot be reached, Unlink deletes the device and returns false.
func TestUnlinkUnreachable(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, _ := connected(t, n, whatsapp.Options{})
	n.Faults.RefuseDials(-1)
	n.Faults.Drop()
	reach(t, c, channels.StateDown, "WhatsApp cannot be reached")
	if told, err := c.Unlink(within(t)); err != nil || told {
		t.Errorf("Unlink = %v, %v, want false, nil", told, err)
	}
	reach(t, c, channels.StateFailed, "needs pairing: this device is not linked")
}

// If its context ends first, Unlink keeps the device.
func TestUnlinkCancelled(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, _ := connected(t, n, whatsapp.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Unlink(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Unlink = %v, want the context's error", err)
	}
	reach(t, c, channels.StateConnected, "")
}

// Unlink works without Run, also if the phone has already removed the device.
func TestUnlink(t *testing.T) {
	for _, removed := range []bool{false, true} {
		n := newNetwork(t, wasim.Options{})
		if removed {
			n.Faults.Remove()
		}
		c := n.open(t, whatsapp.Options{})
		if told, err := c.Unlink(within(t)); err != nil || !told {
			t.Fatalf("Unlink without Run = %v, %v, want true, nil", told, err)
		}
		channeltest.Start(t, c, channeltest.NewInbox())
		reach(t, c, channels.StateFailed, "needs pairing: this device is not linked")
	}
}

// Without a network the error is one sentence, and does not list every step of the
// library.
func TestLinkUnreachable(t *testing.T) {
	n := unlinked(t, wasim.Options{})
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = nobody.Close()
	c, err := whatsapp.New("whatsapp", whatsapp.Options{Device: n.file, Proxy: func(*http.Request) (*url.URL, error) {
		return &url.URL{Scheme: "http", Host: nobody.Addr().String()}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Link(within(t), "", func(channels.Invitation) {})
	if want := "whatsapp: link: WhatsApp cannot be reached: connection refused"; err == nil || err.Error() != want {
		t.Errorf("Link = %v, want %s", err, want)
	}
}
