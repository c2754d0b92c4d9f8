package wasim_test

import (
	"testing"

	"dragoman/channels/channeltest/wasim"

	"github.com/google/go-cmp/cmp"
)

func TestTextEachWay(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)

	id := alice.Say("hello")
	m := awaitMessage(t, c, withText("hello"))
	if m.Info.ID != id || m.Info.Chat != alice.LID() || m.Info.SenderAlt != alice.PN() || m.Info.PushName != "Alice" {
		t.Errorf("message came as %+v", m.Info)
	}
	if err := s.WaitDrained(within(t)); err != nil {
		t.Error(err)
	}
	// The second one goes over the session that the first one started.
	alice.Say("again")
	awaitMessage(t, c, withText("again"))

	say(t, c, alice.PN(), "one")
	say(t, c, alice.LID(), "two")
	got, err := alice.WaitReceived(within(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "two"}, alice.Texts()); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	if got[0].Copies != 1 || got[0].In != nil {
		t.Errorf("first message = %+v", got[0])
	}
}
