package whatsapp_test

import (
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
)

// Typing makes us online, which keeps the owner's phone silent; some time after
// the last sign we are not any more, and are again with the next one.
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
			t.Fatalf("after sign %d we were online %d times and offline %d times: %v",
				times, n.Count("presence:available"), n.Count("presence:unavailable"), err)
		}
	}
}

// Two grey ticks are for every message that was taken, also while nobody is
// online: phones do not show those of a device in the background.
func TestDeliveredIsShown(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	_, inbox := connected(t, n, whatsapp.Options{})
	n.ann.Say("hello")
	inbox.Wait(t, 1)
	if err := n.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	if shown, hidden := n.Count("receipt:"), n.Count("receipt:inactive"); shown != 1 || hidden != 0 {
		t.Errorf("%d receipts that phones show and %d that they do not, want one that they do", shown, hidden)
	}
}

// While signs go on we stay online.
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
