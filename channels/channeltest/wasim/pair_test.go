package wasim_test

import (
	"errors"
	"strings"
	"testing"

	"dragoman/channels/channeltest/wasim"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"
)

// unpaired connects a client without an account and returns its first code.
func unpaired(t *testing.T, s *wasim.Server) (*client, string) {
	t.Helper()
	c := newClient(t, s, newStore(t).NewDevice())
	if err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	codes := await[*events.QR](t, c).Codes
	if len(codes) != 6 {
		t.Errorf("%d codes", len(codes))
	}
	return c, codes[2] // any of them will do
}

// chats checks that a paired client is of use.
func chats(t *testing.T, s *wasim.Server, c *client) {
	t.Helper()
	await[*events.PairSuccess](t, c)
	await[*events.Connected](t, c)
	alice := s.Contact("+4915700000001", "Alice")
	alice.Say("welcome")
	awaitMessage(t, c, withText("welcome"))
	say(t, c, alice.PN(), "thanks")
	if err := alice.WaitText(within(t), "thanks"); err != nil {
		t.Error(err)
	}
}

func TestScan(t *testing.T) {
	s := start(t, wasim.Options{})
	c, code := unpaired(t, s)
	swapped := strings.Split(code, ",")
	swapped[1], swapped[2] = swapped[2], swapped[1]
	for _, bad := range []string{"", "nonsense", strings.Join(swapped, ","), strings.Replace(code, "2@", "3@", 1), code[:len(code)/2], strings.Replace(code, ",", ",A", 1)} {
		if err := s.Scan(within(t), bad); !errors.Is(err, wasim.ErrPairing) {
			t.Errorf("Scan(%q): %v", bad, err)
		}
	}
	if err := s.Scan(within(t), code); err != nil {
		t.Fatal(err)
	}
	chats(t, s, c)
	if err := s.Scan(within(t), code); !errors.Is(err, wasim.ErrPairing) {
		t.Errorf("Scan of a used code: %v", err)
	}
	if got := c.Store.GetJID().User; got != "15550000001" {
		t.Errorf("paired with %s", got)
	}
}

// A device whose secret is another than the one in the code must not pair.
func TestScanRefused(t *testing.T) {
	s := start(t, wasim.Options{})
	c, code := unpaired(t, s)
	parts := strings.Split(code, ",")
	parts[3] = strings.Repeat("A", 43) + "="
	if err := s.Scan(within(t), strings.Join(parts, ",")); !errors.Is(err, wasim.ErrPairing) {
		t.Errorf("Scan: %v", err)
	}
	await[*events.PairError](t, c)
	if s.Online() != 0 {
		t.Error("a device is linked all the same")
	}
}

func TestEnterCode(t *testing.T) {
	s := start(t, wasim.Options{Number: "+4930123456"})
	if err := s.EnterCode(within(t), "ABCD-EFGH"); !errors.Is(err, wasim.ErrPairing) {
		t.Errorf("EnterCode that nobody asked for: %v", err)
	}
	c, _ := unpaired(t, s)
	pair := func(number string) (string, error) {
		return c.PairPhone(within(t), number, true, whatsmeow.PairClientChrome, "Chrome (Linux)")
	}
	if _, err := pair("+4930999999"); err == nil {
		t.Error("a code for a number that is not the owner's")
	}
	if _, err := pair("+4930123456"); err != nil {
		t.Fatal(err)
	}
	if err := s.EnterCode(within(t), "ABCD-EFGH"); !errors.Is(err, wasim.ErrPairing) {
		t.Errorf("EnterCode with a wrong code: %v", err)
	}
	code, err := pair("+4930123456")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EnterCode(within(t), code); err != nil {
		t.Fatal(err)
	}
	chats(t, s, c)
}

// A device that logs in again is known by its key, not by its number.
func TestUnknownDevice(t *testing.T) {
	s := start(t, wasim.Options{})
	elsewhere := wasim.Start(t, wasim.Options{})
	d, err := elsewhere.PairedDevice(t.Context(), newStore(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PairedDevice(t.Context(), newStore(t)); err != nil {
		t.Fatal(err) // the same account and number of device
	}
	c := newClient(t, s, d)
	if err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	if e := await[*events.LoggedOut](t, c); !e.OnConnect || e.Reason != events.ConnectFailureLoggedOut {
		t.Errorf("logged out = %+v", e)
	}
}

func TestLogout(t *testing.T) {
	s := start(t, wasim.Options{})
	c := login(t, s)
	if err := c.Logout(within(t)); err != nil {
		t.Fatal(err)
	}
	s.Contact("+4915700000001", "Alice").Say("anybody there?")
	if n := s.Pending(); n != 0 {
		t.Errorf("%d stanzas wait for a device that is gone", n)
	}
}
