package wasim_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"dragoman/channels/channeltest/wasim"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"
)

// What is said before the first login and between two comes as backlog.
func TestBacklog(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	d, err := s.PairedDevice(t.Context(), newStore(t))
	if err != nil {
		t.Fatal(err)
	}
	alice.Say("one")
	alice.Say("two")
	c := newClient(t, s, d)
	if err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	if p := await[*events.OfflineSyncPreview](t, c); p.Messages != 2 {
		t.Errorf("preview = %+v", p)
	}
	if e := await[*events.OfflineSyncCompleted](t, c); e.Count != 2 {
		t.Errorf("completed = %+v", e)
	}
	if err := s.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	c.Disconnect()
	if err := s.Wait(within(t), func() bool { return s.Online() == 0 }); err != nil {
		t.Fatal(err)
	}
	alice.Say("three")
	again := newClient(t, s, d)
	if err := again.Connect(); err != nil {
		t.Fatal(err)
	}
	awaitMessage(t, again, withText("three"))
	if diff := cmp.Diff([]string{"one", "two"}, c.texts()); diff != "" {
		t.Errorf("first login (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"three"}, again.texts()); diff != "" {
		t.Errorf("second login (-want +got):\n%s", diff)
	}
}

// What a client did not acknowledge comes again, at the next login and not
// before.
func TestRedelivery(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)
	c.mu.Lock()
	c.refuse = true
	c.mu.Unlock()
	id := alice.Say("take this")
	awaitMessage(t, c, withText("take this"))
	if n := s.Pending(); n != 1 {
		t.Errorf("%d stanzas are pending", n)
	}
	c.mu.Lock()
	c.refuse = false
	c.mu.Unlock()
	s.Faults.Drop()
	if err := s.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"take this", "take this"}, c.texts()); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	if m := awaitMessage(t, c, withText("take this")); m.Info.ID != id {
		t.Errorf("the id is %s, want %s", m.Info.ID, id)
	}
}

// A receipt that is lost makes the server send again; the client knows the
// message and does not show it twice.
func TestLostReceipts(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)
	s.Faults.LoseReceipts(true)
	alice.Say("once")
	awaitMessage(t, c, withText("once"))
	if err := s.Wait(within(t), func() bool { return s.Count("receipt") > 0 }); err != nil {
		t.Fatal(err)
	}
	if n := s.Pending(); n != 1 {
		t.Fatalf("%d stanzas are pending", n)
	}
	s.Faults.LoseReceipts(false)
	s.Faults.Drop()
	if err := s.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"once"}, c.texts()); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

// A message whose acknowledgement is lost with the connection is sent again
// under its id, and shown once.
func TestLostAck(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)
	reconnectByHand(t, c)
	s.Faults.DropAfter(1)
	say(t, c, alice.LID(), "twice on the wire")
	got := alice.Received()
	if len(got) != 1 || got[0].Copies != 2 {
		t.Errorf("received %+v", got)
	}
	s.Faults.DropBefore(1)
	say(t, c, alice.LID(), "once on the wire")
	if got := alice.Received(); len(got) != 2 || got[1].Copies != 1 {
		t.Errorf("received %+v", got)
	}
	if n := s.Logins(); n != 3 {
		t.Errorf("%d logins, want one and one for each cut", n)
	}
	if n := s.Count("unreadable"); n != 0 {
		t.Errorf("%d messages could not be read", n)
	}
}

func TestHeldAcks(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)
	s.Faults.HoldAcks(true)
	sent := make(chan error, 1)
	go func() {
		_, err := c.SendMessage(within(t), alice.LID(), &waE2E.Message{Conversation: proto.String("hold on")})
		sent <- err
	}()
	if err := alice.WaitText(within(t), "hold on"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-sent:
		t.Errorf("the send came back without an ack: %v", err)
	default:
	}
	s.Faults.HoldAcks(false)
	if err := <-sent; err != nil {
		t.Error(err)
	}
	// The sender's patience may end first; the message has arrived all the same.
	s.Faults.HoldAcks(true)
	extra := whatsmeow.SendRequestExtra{ID: "3EB0AAAA", Timeout: 50 * time.Millisecond}
	message := &waE2E.Message{Conversation: proto.String("did it arrive?")}
	if _, err := c.SendMessage(within(t), alice.LID(), message, extra); !errors.Is(err, whatsmeow.ErrMessageTimedOut) {
		t.Errorf("SendMessage: %v", err)
	}
	s.Faults.HoldAcks(false)
	extra.Timeout = 0
	if _, err := c.SendMessage(within(t), alice.LID(), message, extra); err != nil {
		t.Error(err)
	}
	// The late ack of the first may have come before the second arrived.
	twice := func() bool {
		got := alice.Received()
		return len(got) == 2 && got[1].Copies == 2 && got[1].ID == extra.ID
	}
	if err := s.Wait(within(t), twice); err != nil {
		t.Errorf("received %+v: %v", alice.Received(), err)
	}
}

func TestRefusedSends(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)
	s.Faults.RefuseSends(463)
	if _, err := c.SendMessage(within(t), alice.LID(), &waE2E.Message{Conversation: proto.String("no")}); !errors.Is(err, whatsmeow.ErrServerReturnedError) {
		t.Errorf("SendMessage: %v", err)
	}
	s.Faults.RefuseSends(0)
	say(t, c, alice.LID(), "yes")
	if diff := cmp.Diff([]string{"yes"}, alice.Texts()); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

// Two devices of one account see each other's messages.
func TestTwoDevices(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	one, two := login(t, s), login(t, s)
	alice.Say("to both")
	awaitMessage(t, one, withText("to both"))
	awaitMessage(t, two, withText("to both"))
	say(t, one, alice.LID(), "from one")
	m := awaitMessage(t, two, withText("from one"))
	if !m.Info.IsFromMe || m.Info.Chat != alice.LID() || m.Info.Sender.Device != one.Store.GetJID().Device {
		t.Errorf("message came as %+v", m.Info.MessageSource)
	}
	if diff := cmp.Diff([]string{"from one"}, alice.Texts()); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

// Cuts at any moment lose nothing. whatsmeow may hand a message over twice:
// what it was handling when the connection broke it goes on handling, while the
// next connection brings the same message again. So only what is lost counts.
func TestCutsInBetween(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)
	var want []string
	for round := range 5 {
		for i := range 6 {
			text := fmt.Sprintf("%d.%d", round, i)
			alice.Say(text)
			want = append(want, text)
		}
		s.Faults.Drop()
		await[*events.Connected](t, c, round+2)
	}
	if err := s.WaitDrained(within(t)); err != nil {
		t.Fatal(err)
	}
	for _, text := range want {
		awaitMessage(t, c, withText(text)) // the last ones may be acknowledged and not handed over yet
	}
	got := c.texts()
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}
