//go:build !nowhatsapp

package whatsapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"
)

// A message that cannot be decrypted is quarantined with its id, chat and sender, requested
// again, and resolved when it arrives.
func TestUndecryptable(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	_, inbox := connected(t, n, whatsapp.Options{})
	n.Faults.Garble(1)
	id := n.ann.Say("garbled at first")
	m := inbox.Wait(t, 1)[0]
	if m.Text != "garbled at first" || m.MessageID != id || m.Key != n.Key() {
		t.Errorf("stored %+v", m)
	}
	inbox.Until(t, "what came again to be resolved", func() bool { return len(inbox.Resolved()) == 1 })
	quarantined := inbox.Quarantined()
	if len(quarantined) != 1 || quarantined[0].ID != m.ID || quarantined[0].Channel != "whatsapp" || inbox.Resolved()[0] != m.ID {
		t.Fatalf("quarantined %+v, resolved %q, want %s", quarantined, inbox.Resolved(), m.ID)
	}
	var known struct {
		ID, Chat, Sender string
		Time             time.Time
	}
	if err := json.Unmarshal(quarantined[0].Raw, &known); err != nil {
		t.Fatal(err)
	}
	if lid := n.ann.LID().String(); known.ID != id || known.Chat != lid || known.Sender != lid || known.Time.IsZero() {
		t.Errorf("quarantined %+v, want message %s of %s", known, id, lid)
	}
	if why := quarantined[0].Why.Error(); strings.Contains(why, n.ann.Number()[1:]) || !strings.Contains(why, "send it again") {
		t.Errorf("why = %q", why)
	}
	if n.Count("receipt:retry") == 0 {
		t.Error("the message was not requested again")
	}
}

// Copies of such a message, under its sender's number and under their LID, are one message.
func TestCopyUnderTheOtherAddress(t *testing.T) {
	for _, first := range []bool{false, true} {
		for _, order := range [][]bool{{true, false}, {false, true}} {
			t.Run(fmt.Sprint("by phone ", first, ", then ", order), func(t *testing.T) { copies(t, first, order) })
		}
	}
}

// copies sends an unreadable message, by the person's phone number or not, and then
// readable copies of it.
func copies(t *testing.T, byPhone bool, then []bool) {
	n := newNetwork(t, wasim.Options{})
	n.ann.GoByPhone(byPhone)
	n.Faults.IgnoreRetries(true)
	_, inbox := connected(t, n, whatsapp.Options{Patience: time.Hour})
	n.Faults.Garble(1)
	id := n.ann.Say("garbled at first")
	inbox.Until(t, "it to be quarantined", func() bool { return len(inbox.Quarantined()) == 1 })
	first := inbox.Quarantined()[0].ID
	for i, byPhone := range then {
		n.ann.GoByPhone(byPhone)
		n.ann.Send(wasim.Note{ID: id, Text: "readable now"})
		n.ann.Say("and then")
		for _, m := range inbox.Wait(t, 2+i)[:1] {
			if m.ID != first || m.MessageID != id {
				t.Errorf("a copy, by phone: %t, came as %s, and the message was quarantined as %s", byPhone, m.ID, first)
			}
		}
	}
	if got := inbox.Texts(); !slices.Equal(got, []string{"readable now", "and then", "and then"}) {
		t.Errorf("accepted %q, want the message once", got)
	}
}

// The operator's list gets at most twenty messages an hour from one sender.
func TestUndecryptableFlood(t *testing.T) {
	const most = 20
	n := newNetwork(t, wasim.Options{})
	_, inbox := connected(t, n, whatsapp.Options{})
	n.Faults.IgnoreRetries(true)
	bob := n.Contact("+15550000003", "Bob")
	for range most + 5 {
		n.Faults.Garble(1)
		n.ann.Say("again and again")
		if err := n.WaitDrained(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	n.Faults.Garble(1)
	bob.Say("and another")
	inbox.Until(t, "the message of another sender to be quarantined", func() bool { return len(inbox.Quarantined()) > most })
	if got := len(inbox.Quarantined()); got != most+1 {
		t.Errorf("quarantined %d messages, want %d of Ann and one of Bob", got, most)
	}
}

const lost = "[a message came that could not be decrypted; it was asked for again and has not come. Please ask for it to be sent once more]"

// A message that does not arrive in time is reported to its conversation. If it arrives
// later, also after a restart, it is stored like any other.
func TestUndecryptableIsReported(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	n.Faults.IgnoreRetries(true)
	c, inbox := n.open(t, whatsapp.Options{Patience: 20 * time.Millisecond}), channeltest.NewInbox()
	stop := channeltest.Start(t, c, inbox)
	reach(t, c, channels.StateConnected, "")
	n.Faults.Garble(1)
	id := n.ann.Say("late")
	m := inbox.Wait(t, 1)[0]
	if m.Text != lost || m.MessageID != id || m.Key != n.Key() || !m.Private || !slices.Equal(m.Sender.IDs, n.SenderIDs()) {
		t.Errorf("reported %+v, want that message %s was lost", m, id)
	}
	n.ann.Say("another")
	inbox.Wait(t, 2)
	if err := n.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	if got := inbox.Resolved(); len(got) != 0 {
		t.Errorf("resolved %q before the message arrived", got)
	}
	stop()
	connectedTo(t, n, whatsapp.Options{Patience: 20 * time.Millisecond}, inbox)
	n.Faults.IgnoreRetries(false)
	inbox.Wait(t, 3)
	inbox.Until(t, "what came again to be resolved", func() bool { return len(inbox.Resolved()) == 1 })
	if got := inbox.Texts(); !slices.Equal(got, []string{lost, "another", "late"}) {
		t.Errorf("stored %q", got)
	}
	if again := inbox.Repeated(); len(again) != 0 {
		t.Errorf("repeated: %+v", again)
	}
	if got := inbox.Messages()[2]; got.MessageID != id || got.Edits != "" || got.ID != inbox.Quarantined()[0].ID {
		t.Errorf("the late message is %+v", got)
	}
}

// noQuarantine is an intake that cannot quarantine.
type noQuarantine struct {
	*channeltest.Inbox
	tried chan string
}

func (n *noQuarantine) Quarantine(_ context.Context, _, id string, _ []byte, _ error) error {
	n.tried <- id
	return errors.New("no room")
}

// If the store fails when the message comes, nothing is lost: the device file keeps it until
// it can be quarantined, also after a restart.
func TestUndecryptableIsKept(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	n.Faults.IgnoreRetries(true)
	c, inbox := n.open(t, whatsapp.Options{Patience: time.Hour}), channeltest.NewInbox()
	broken := &noQuarantine{inbox, make(chan string, 100)}
	stop := channeltest.Start(t, c, broken)
	reach(t, c, channels.StateConnected, "")
	n.Faults.Garble(2)
	first, second := n.ann.Say("one"), n.ann.Say("two")
	for tried := 0; tried < 2; tried++ {
		select {
		case <-broken.tried:
		case <-within(t).Done():
			t.Fatalf("%d attempts to quarantine, want several for %s and %s", tried, first, second)
		}
	}
	if err := n.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	stop()
	connectedTo(t, n, whatsapp.Options{Patience: time.Millisecond}, inbox)
	told := inbox.Wait(t, 2)
	if len(inbox.Quarantined()) != 2 || !slices.Equal(inbox.Texts(), []string{lost, lost}) || told[0].Album == "" || told[0].Album != told[1].Album {
		t.Errorf("quarantined %+v, reported %+v, want both messages at once", inbox.Quarantined(), told)
	}
}

// A report in a group does not count as addressed to us, because we do not know whom the
// message addressed. A lost reaction or edit is not reported.
func TestUndecryptableInGroup(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	n.Faults.IgnoreRetries(true)
	g := n.Group("friends", n.ann)
	_, inbox := connected(t, n, whatsapp.Options{Patience: 20 * time.Millisecond})
	n.Faults.Garble(2)
	n.ann.React(n.ann.Say("first"), "👍")
	inbox.Wait(t, 1)
	n.Faults.Garble(1)
	n.ann.SayIn(g, "hello all")
	m := inbox.Wait(t, 2)[1]
	if m.Addressed || m.Private || m.Prefix != "Ann: " || m.Text != lost || m.Key.Chat() != g.JID().String() {
		t.Errorf("reported %+v, want it not addressed", m)
	}
	n.Faults.IgnoreRetries(false)
	inbox.Until(t, "all three to be resolved", func() bool { return len(inbox.Resolved()) == 3 })
	if got := inbox.Texts(); !slices.Equal(got, []string{lost, lost, "first", "hello all"}) {
		t.Errorf("accepted %q", got)
	}
}

// A view-once message never comes to a linked device, so it is reported at once.
func TestViewOnceThatPhonesKeep(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	_, inbox := connected(t, n, whatsapp.Options{})
	n.Faults.Unavailable("view_once", 1)
	id := n.ann.Send(wasim.Note{ViewOnce: true, Media: &wasim.Media{Kind: wasim.Image, Mime: "image/png", Data: noise(9)}})
	m := inbox.Wait(t, 1)[0]
	if !strings.HasPrefix(m.Text, "[something to be viewed once was sent;") || m.MessageID != id || len(inbox.Quarantined()) != 0 {
		t.Errorf("reported %+v, quarantined %+v, want a report only", m, inbox.Quarantined())
	}
}
