package wasim_test

import (
	"testing"

	"dragoman/channels/channeltest/wasim"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types/events"
)

// A version that is too old is refused to who logs in and to who pairs; the
// front page names the one that is not.
func TestDemand(t *testing.T) {
	s := start(t, wasim.Options{})
	if _, err := whatsmeow.GetLatestVersion(within(t), s.HTTPClient()); err == nil {
		t.Error("a current version is named without a demand")
	}
	want := store.WAVersionContainer{2, 3000, 4_000_000_000}
	s.Faults.Demand(want)
	for _, c := range []*client{paired(t, s), newClient(t, s, newStore(t).NewDevice())} {
		if err := c.Connect(); err != nil {
			t.Fatal(err)
		}
		await[*events.ClientOutdated](t, c)
	}
	if got, err := whatsmeow.GetLatestVersion(within(t), s.HTTPClient()); err != nil || *got != want {
		t.Errorf("the front page names %v, %v, want %v", got, err, want)
	}
	s.Faults.Demand([3]uint32{})
	login(t, s)
	for _, got := range s.Claimed() {
		if got != store.GetWAVersion() {
			t.Errorf("a client claimed %v, want %v", got, store.GetWAVersion())
		}
	}
	if claims, dials := len(s.Claimed()), s.Count("dial"); claims != 3 || dials != 3 {
		t.Errorf("%d claims at %d dials, want 3 each", claims, dials)
	}
}

// A client whose greeting is held is neither in nor out.
func TestHoldGreetings(t *testing.T) {
	s := start(t, wasim.Options{})
	c := paired(t, s)
	s.Faults.HoldGreetings(true)
	connected := make(chan error, 1)
	go func() { connected <- c.Connect() }()
	if err := s.Wait(within(t), func() bool { return s.Count("dial") == 1 }); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-connected:
		t.Errorf("Connect = %v while greetings are held", err)
		return
	default:
	}
	if n := len(s.Claimed()); n != 0 {
		t.Errorf("%d clients said who they are, want none", n)
	}
	s.Faults.HoldGreetings(false)
	if err := <-connected; err != nil {
		t.Fatal(err)
	}
	await[*events.Connected](t, c)
}
