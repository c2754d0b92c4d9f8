//go:build !nowhatsapp

package whatsapp_test

import (
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
	"dragoman/internal/testkit"
)

// A message that cannot be stored for too long ends the connection, and comes again on the
// next one.
func TestNotStoredForTooLong(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := n.open(t, whatsapp.Options{}), channeltest.NewInbox()
	whatsapp.SetLimits(c, time.Minute, 10*time.Millisecond)
	channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	inbox.Refuse(true)
	n.ann.Say("one")
	testkit.Poll(soon, func() bool { r := len(inbox.Refused()); return n.Logins() > 1 || r > 4 || r > 0 && n.Pending() == 0 })
	if n.Logins() < 2 {
		t.Fatalf("the connection still exists after %d attempts to store a message", len(inbox.Refused()))
	}
	inbox.Refuse(false)
	if got := inbox.Wait(t, 1)[0].Text; got != "one" {
		t.Errorf("stored %q after the reconnect", got)
	}
}

// If the login takes too long, the channel connects again.
func TestLoginTakesTooLong(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	n.Faults.IgnoreLogins(true)
	c, inbox := n.open(t, whatsapp.Options{}), channeltest.NewInbox()
	whatsapp.SetLimits(c, 20*time.Millisecond, time.Minute)
	channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateDown, "WhatsApp did not answer the login")
}
