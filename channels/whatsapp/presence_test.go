//go:build !nowhatsapp

package whatsapp_test

import (
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
)

// Typing makes us online, which silences the owner's phone. Some time after the last call
// we go offline, and the next call makes us online again.
func TestGoesOffline(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := n.open(t, whatsapp.Options{}), channeltest.NewInbox()
	whatsapp.SetOnlineFor(c, 50*time.Millisecond, 10*time.Millisecond)
	channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	for times := 1; times <= 2; times++ {
		n.ann.Say("hello")
		inbox.Wait(t, times)
		if err := c.Typing(within(t), n.Key()); err != nil {
			t.Fatal(err)
		}
		err := n.Wait(within(t), func() bool { return n.Count("presence:unavailable") == times })
		if err != nil || n.Count("presence:available") != times {
			t.Fatalf("after call %d we were online %d times and offline %d times: %v",
				times, n.Count("presence:available"), n.Count("presence:unavailable"), err)
		}
	}
}

// Every stored message gets two grey ticks, also while we are offline. Phones do not show
// the receipts of an inactive device.
func TestDeliveredIsShown(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	_, inbox := connected(t, n, whatsapp.Options{})
	n.ann.Say("hello")
	inbox.Wait(t, 1)
	if err := n.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	if shown, hidden := n.Count("receipt:"), n.Count("receipt:inactive"); shown != 1 || hidden != 0 {
		t.Errorf("%d visible and %d hidden receipts, want 1 and 0", shown, hidden)
	}
}

// While Typing is called again and again, we stay online.
func TestStaysOnline(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := n.open(t, whatsapp.Options{}), channeltest.NewInbox()
	whatsapp.SetOnlineFor(c, time.Hour, time.Millisecond)
	channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	n.ann.Say("hello")
	inbox.Wait(t, 1)
	for began := time.Now(); time.Since(began) < 100*time.Millisecond; {
		if err := c.Typing(within(t), n.Key()); err != nil {
			t.Fatal(err)
		}
	}
	if off := n.Count("presence:unavailable"); off != 0 {
		t.Errorf("offline %d times, want never", off)
	}
}
