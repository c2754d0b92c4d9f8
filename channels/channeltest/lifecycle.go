package channeltest

import (
	"testing"

	"dragoman/channels"
)

func runEnds(t *testing.T, net Network) {
	ch := net.Open(t)
	check := leakCheck(net)
	inbox := NewInbox()
	s := run(t, net, ch, inbox)
	net.Say(t, "hello")
	inbox.Wait(t, 1)
	s.mustSend(t, "out", "hello yourself")
	s.stop(t)
	check(t)
}

func runEndsBlocked(t *testing.T, net Network) {
	ch := net.Open(t)
	check := leakCheck(net)
	inbox := NewInbox()
	s := run(t, net, ch, inbox)
	release := inbox.Block()
	defer release()
	net.Say(t, "never accepted")
	eventually(t, "Accept to be called", func() bool { return inbox.Entered() > 0 })
	s.stop(t)
	check(t)
	if got := inbox.Messages(); len(got) != 0 {
		t.Errorf("%d messages were stored, want none", len(got))
	}
}

func runAgain(t *testing.T, net Network) {
	ch := net.Open(t)
	inbox := NewInbox()
	for i, text := range []string{"the first run", "the second run", "the third run"} {
		s := run(t, net, ch, inbox)
		net.Say(t, text)
		inbox.Wait(t, i+1)
		before := len(net.Seen(t))
		s.mustSend(t, "run"+text, "answer")
		if got := newlySeen(t, net, before); len(got) != 1 {
			t.Errorf("in %s the person saw %q, want one answer", text, got)
		}
		s.stop(t)
	}
}

func runStatus(t *testing.T, net Network) {
	ch := net.Open(t)
	reporter, ok := ch.(channels.Reporter)
	if !ok {
		t.Skip("this channel does not report")
	}
	if got := reporter.Status(); got.State == channels.StateConnected {
		t.Error("Status before Run says connected")
	}
	s := run(t, net, ch, NewInbox())
	if got := reporter.Status(); got.Since.IsZero() {
		t.Error("Status.Since is zero while connected")
	}
	if cutter, ok := net.(Cutter); ok {
		cutter.Cut(t)
		connected(t, ch)
	}
	s.stop(t)
	if got := reporter.Status(); got.State == channels.StateConnected {
		t.Error("Status after Run says connected")
	}
}
