//go:build !nowhatsapp

package whatsapp_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
	"dragoman/internal/testkit"

	"go.mau.fi/whatsmeow/store"
)

// sending calls Send on a goroutine and returns a channel with its error.
func sending(t *testing.T, c *whatsapp.Channel, id string, to *wasim.Contact) <-chan error {
	t.Helper()
	ctx, ended := within(t), make(chan error, 1)
	go func() {
		_, err := c.Send(ctx, channels.Outbound{ID: id, Key: keyOf(to), Text: id, Attempt: 1})
		ended <- err
	}()
	return ended
}

// A chat without acknowledgements causes one reconnect and delays another chat by one
// attempt. After that its messages go last.
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
			t.Errorf("Send gave up after %s, want about a second", took)
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
		t.Errorf("Send to Bob = %v, want nil", err)
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

// If WhatsApp does not list the devices of one chat, others are not delayed longer than by
// a missing acknowledgement.
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
		ended = err == nil
		if !ended {
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

// If WhatsApp does not answer a query about a group, others are not delayed longer than by
// a missing acknowledgement.
func TestOneGroupWithoutAnswers(t *testing.T) {
	for about, space := range map[string]string{"its members": "w:g2", "their devices": "usync", "their keys": "encrypt"} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, wasim.Options{})
			bob := n.Contact("+15550000003", "Bob")
			g := n.Group("friends", n.ann, bob)
			c, _ := connected(t, n, whatsapp.Options{})
			send(t, c, channels.Outbound{ID: "0", Key: n.Key(), Text: "x"})
			whatsapp.SetSendLimit(c, 3*time.Second)
			if !whatsapp.Watched(c) {
				t.Error("a key that is stored does not count for the limit of a message; see TestManyNewKeys")
			}
			n.Faults.FailQueries(space, -1)
			before, began := n.Count("iq:"+space), time.Now()
			stuck := make(chan error, 1)
			go func() {
				_, err := c.Send(t.Context(), channels.Outbound{ID: "1", Key: channels.MustKey("whatsapp:" + g.JID().String()), Text: "x", Attempt: 1})
				stuck <- err
			}()
			if err := n.Wait(within(t), func() bool { return n.Count("iq:"+space) > before }); err != nil {
				t.Fatal(err)
			}
			ended := sending(t, c, "2", n.ann)
			if err := <-stuck; err == nil {
				t.Errorf("Send to the group = nil though WhatsApp does not tell %s", about)
			}
			n.Faults.FailQueries(space, 0) // the new connection has to ask for Ann's too
			if err := <-ended; err != nil {
				reach(t, c, channels.StateConnected, "")
				send(t, c, channels.Outbound{ID: "2", Key: n.Key(), Text: "x", Attempt: 2})
			}
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("the other chat was served after %s", took)
			}
		})
	}
}

// storing takes a second to store a key.
type storing struct{ store.IdentityStore }

func (storing) PutIdentity(context.Context, string, [32]byte) error {
	time.Sleep(time.Second)
	return nil
}

// The first message to a large group gets enough time even if the disk is slow.
func TestManyNewKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := whatsapp.StallTimeout(t.Context(), 10*time.Second)
		defer cancel()
		keys := whatsapp.Identities(storing{})
		for range 1000 {
			if err := keys.PutIdentity(ctx, "", [32]byte{}); err != nil || ctx.Err() != nil {
				t.Fatal(err, ctx.Err())
			}
		}
		began := time.Now()
		<-ctx.Done()
		if took := time.Since(began); took != 10*time.Second || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("given up %s after the last key (%v), want 10s", took, context.Cause(ctx))
		}
	})
}

// A dead connection is noticed at once, also while a message waits for its
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
		t.Errorf("it took %s to notice the dead connection, want less than the library's own wait", took)
	}
}
