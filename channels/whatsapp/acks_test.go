package whatsapp_test

import (
	"errors"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
	"dragoman/internal/testkit"
)

// sending sends beside the test and returns the error when it has ended.
func sending(t *testing.T, c *whatsapp.Channel, id string, to *wasim.Contact) <-chan error {
	t.Helper()
	ctx, ended := within(t), make(chan error, 1)
	go func() {
		_, err := c.Send(ctx, channels.Outbound{ID: id, Key: keyOf(to), Text: id, Attempt: 1})
		ended <- err
	}()
	return ended
}

// A chat without acknowledgements costs one new connection and delays another
// chat by one attempt; from then on it comes last.
func TestOneChatWithoutAcks(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	bob, carl := n.Contact("+15550000003", "Bob"), n.Contact("+15550000004", "Carl")
	c, _ := connected(t, n, whatsapp.Options{})
	for _, to := range []*wasim.Contact{n.ann, bob, carl} { // keys and devices are known
		send(t, c, channels.Outbound{ID: "0 " + to.Name(), Key: keyOf(to), Text: "x"})
	}
	whatsapp.SetSendLimit(c, time.Second)
	n.Faults.HoldAcksTo(n.ann, carl)
	logins := n.Logins()
	for i, to := range []*wasim.Contact{n.ann, carl} {
		began := time.Now()
		if err := <-sending(t, c, "1 "+to.Name(), to); err == nil || errors.As(err, new(*channels.NotSent)) {
			t.Errorf("Send without an acknowledgement = %v, want an error that leaves it open", err)
		}
		if took := time.Since(began); took < time.Second/2 || took > 8*time.Second {
			t.Errorf("Send gave up after %s, want a second", took)
		}
		if err := n.Wait(within(t), func() bool { return n.Logins() == logins+1+i }); err != nil {
			t.Errorf("%d logins after a missed acknowledgement, want one more", n.Logins()-logins)
		}
		reach(t, c, channels.StateConnected, "")
	}

	out := n.Count("message")
	first := sending(t, c, "2 Carl", carl)
	if err := n.Wait(within(t), func() bool { return n.Count("message") > out }); err != nil {
		t.Fatal(err)
	}
	last := sending(t, c, "2 Ann", n.ann)
	if !testkit.Poll(soon, func() bool { return whatsapp.Waiting(c) == 1 }) {
		t.Fatal("the message to Ann does not wait")
	}
	healthy := sending(t, c, "2 Bob", bob)
	if err := <-first; err == nil {
		t.Error("Send to Carl = nil, want an error")
	}
	if err := <-healthy; err != nil {
		t.Errorf("Send to Bob = %v", err)
	}
	select {
	case err := <-last:
		t.Fatalf("Send to Ann ended (%v) before the one to Bob, who came later and whose chat works", err)
	default:
	}
	if err := <-last; err == nil {
		t.Error("Send to Ann = nil, want an error")
	}
	if got := n.Logins() - logins; got != 2 {
		t.Errorf("%d logins in all, want one for each chat", got)
	}
	n.Faults.HoldAcks(false)
	send(t, c, channels.Outbound{ID: "3", Key: n.Key(), Text: "x"})
}

// A chat whose devices WhatsApp does not tell delays others no longer.
func TestOneChatWithoutDevices(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, _ := connected(t, n, whatsapp.Options{})
	send(t, c, channels.Outbound{ID: "0", Key: n.Key(), Text: "x"})
	whatsapp.SetSendLimit(c, time.Second)
	n.Faults.FailQueries("usync", -1)
	before, began := n.Count("iq:usync"), time.Now()
	stuck := sending(t, c, "1", n.Contact("+15550000003", "Bob"))
	if err := n.Wait(within(t), func() bool { return n.Count("iq:usync") > before }); err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended && time.Since(began) < 20*time.Second; {
		_, err := c.Send(within(t), channels.Outbound{ID: "2", Key: n.Key(), Text: "x", Attempt: 1})
		if ended = err == nil; !ended {
			n.Faults.FailQueries("usync", 0) // the new connection has to ask for Ann's too
			reach(t, c, channels.StateConnected, "")
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the other chat was served after %s", took)
	}
	if err := <-stuck; err == nil {
		t.Error("Send without devices = nil, want an error")
	}
}

// A link that is dead is seen to be at once, also while a message waits for its
// acknowledgement.
func TestDeadWhileSending(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, _ := connected(t, n, whatsapp.Options{})
	send(t, c, channels.Outbound{ID: "0", Key: n.Key(), Text: "x"})
	n.Faults.HoldAcks(true)
	out := n.Count("message")
	sent := sending(t, c, "1", n.ann)
	if err := n.Wait(within(t), func() bool { return n.Count("message") > out }); err != nil {
		t.Fatal(err)
	}
	n.Faults.HoldGreetings(true)
	began := time.Now()
	n.Faults.Drop()
	reach(t, c, channels.StateDown, "the connection to WhatsApp was lost")
	<-sent
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s to see that the link is dead, want less than the library waits for another one", took)
	}
}
