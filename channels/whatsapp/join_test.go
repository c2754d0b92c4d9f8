//go:build !nowhatsapp

package whatsapp_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
)

// joining is an intake that joins conversations, and records all calls in order.
type joining struct {
	*channeltest.Inbox
	mu    sync.Mutex
	err   error
	calls []string
}

func (j *joining) Join(_ context.Context, from, to channels.Key) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		j.calls = append(j.calls, "refused")
		return j.err
	}
	j.calls = append(j.calls, from.String()+" into "+to.String())
	return nil
}

func (j *joining) Accept(ctx context.Context, m channels.Inbound) error {
	err := j.Inbox.Accept(ctx, m)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = append(j.calls, m.Text+" in "+m.Key.String())
	return err
}

func (j *joining) refuse(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = err
}

// A conversation under a LID is joined with the one under the number before the first
// message there, once while the program runs. Until that works, it continues under the
// LID.
func TestJoin(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	lid := "whatsapp:" + n.ann.LID().String()
	key := n.Key().String()
	in := &joining{Inbox: channeltest.NewInbox(), err: errors.New("not now")}
	c := n.open(t, whatsapp.Options{})
	stop := channeltest.Start(t, c, in)
	reach(t, c, channels.StateConnected, "")
	n.ann.HideOther(true)
	n.ann.Say("one")
	in.Wait(t, 1)
	n.ann.HideOther(false)
	n.ann.Say("two")
	in.Wait(t, 2)
	in.refuse(nil)
	n.ann.Say("three")
	in.Wait(t, 3)
	n.ann.HideOther(true) // The number is known from here on.
	n.ann.Say("four")
	in.Wait(t, 4)
	stop()
	channeltest.Start(t, c, in)
	reach(t, c, channels.StateConnected, "")
	n.ann.Say("five")
	in.Wait(t, 5)
	join := lid + " into " + key
	want := []string{"one in " + lid, "refused", "two in " + lid, join, "three in " + key, "four in " + key, "five in " + key}
	settle := func() []string {
		in.mu.Lock()
		defer in.mu.Unlock()
		return slices.Clone(in.calls)
	}
	if err := n.WaitDrained(within(t)); err != nil { // until Accept has returned
		t.Fatal(err)
	}
	if got := settle(); !slices.Equal(got, want) {
		t.Errorf("calls = %q\nwant %q", got, want)
	}
}

// After a restart the conversations are joined once more, because the device file may be
// newer than they are.
func TestJoinAfterRestart(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	in := &joining{Inbox: channeltest.NewInbox()}
	want := []string{}
	for _, text := range []string{"first", "second"} {
		c := n.open(t, whatsapp.Options{})
		stop := channeltest.Start(t, c, in)
		reach(t, c, channels.StateConnected, "")
		n.ann.Say(text)
		n.ann.Say(text + " again")
		want = append(want, "whatsapp:"+n.ann.LID().String()+" into "+n.Key().String(), text+" in "+n.Key().String(), text+" again in "+n.Key().String())
		in.Wait(t, len(want)/3*2)
		if err := n.WaitDrained(within(t)); err != nil {
			t.Fatal(err)
		}
		stop()
	}
	if !slices.Equal(in.calls, want) {
		t.Errorf("calls = %q\nwant %q", in.calls, want)
	}
}
