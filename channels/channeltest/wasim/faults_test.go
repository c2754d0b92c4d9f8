package wasim_test

import (
	"testing"
	"time"

	"dragoman/channels/channeltest/wasim"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

// paired is a client that is paired and not connected.
func paired(t *testing.T, s *wasim.Server) *client {
	t.Helper()
	d, err := s.PairedDevice(t.Context(), newStore(t))
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, s, d)
}

func TestLoginFailures(t *testing.T) {
	gone := func(reason events.ConnectFailureReason) func(*testing.T, *client) {
		return func(t *testing.T, c *client) {
			if e := await[*events.LoggedOut](t, c); !e.OnConnect || e.Reason != reason {
				t.Errorf("logged out = %+v", e)
			}
		}
	}
	cases := []struct {
		code  int
		check func(*testing.T, *client)
		again bool // the client comes again by itself
	}{
		{401, gone(events.ConnectFailureLoggedOut), false},
		{403, gone(events.ConnectFailureMainDeviceGone), false},
		{402, func(t *testing.T, c *client) {
			if e := await[*events.TemporaryBan](t, c); e.Expire != time.Hour {
				t.Errorf("ban = %+v", e)
			}
		}, false},
		{405, func(t *testing.T, c *client) { await[*events.ClientOutdated](t, c) }, false},
		{500, func(t *testing.T, c *client) { await[*events.Disconnected](t, c) }, true},
		{503, func(t *testing.T, c *client) { await[*events.Disconnected](t, c) }, true},
	}
	for _, tc := range cases {
		t.Run(events.ConnectFailureReason(tc.code).NumberString(), func(t *testing.T) {
			s := start(t, wasim.Options{})
			c := paired(t, s)
			s.Faults.FailLogins(tc.code, 1)
			if err := c.Connect(); err != nil {
				t.Fatal(err)
			}
			tc.check(t, c)
			if tc.again {
				await[*events.Connected](t, c)
			}
			if n := s.Logins(); (n == 1) != tc.again {
				t.Errorf("%d logins", n)
			}
		})
	}
}

func TestDialRefused(t *testing.T) {
	s := start(t, wasim.Options{})
	c := paired(t, s)
	s.Faults.RefuseDials(1)
	if err := c.Connect(); err == nil {
		t.Error("the first connection was not refused")
	}
	if err := c.Connect(); err != nil {
		t.Fatal(err)
	}
	await[*events.Connected](t, c)
	s.Faults.RefuseDials(1)
	s.Faults.Drop()
	await[*events.Connected](t, c, 2)
	s.Faults.RefuseDials(-1)
	s.Faults.Drop()
	await[*events.Disconnected](t, c, 2)
	if err := s.Wait(within(t), func() bool { return s.Online() == 0 }); err != nil {
		t.Error(err)
	}
}

func TestStreamEnds(t *testing.T) {
	s := start(t, wasim.Options{})
	c := login(t, s)
	s.Faults.StreamError(503)
	await[*events.Disconnected](t, c)
	await[*events.Connected](t, c, 2)
	s.Faults.StreamError(500)
	if e := await[*events.StreamError](t, c); e.Code != "500" {
		t.Errorf("stream error = %+v", e)
	}
	await[*events.Connected](t, c, 3)
	s.Faults.Replace()
	await[*events.StreamReplaced](t, c)
	if err := s.Wait(within(t), func() bool { return s.Online() == 0 }); err != nil {
		t.Error(err)
	}
}

// A second client with the same device takes the place of the first.
func TestTakeover(t *testing.T) {
	s := start(t, wasim.Options{})
	first := login(t, s)
	second := newClient(t, s, first.Store)
	if err := second.Connect(); err != nil {
		t.Fatal(err)
	}
	await[*events.StreamReplaced](t, first)
	await[*events.Connected](t, second)
	s.Contact("+4915700000001", "Alice").Say("hello second")
	awaitMessage(t, second, withText("hello second"))
	if n := s.Online(); n != 1 {
		t.Errorf("%d devices are online", n)
	}
}

func TestRemove(t *testing.T) {
	s := start(t, wasim.Options{})
	c := login(t, s)
	s.Faults.Remove()
	if e := await[*events.LoggedOut](t, c); e.OnConnect {
		t.Errorf("logged out = %+v", e)
	}
	away := paired(t, s)
	s.Faults.Remove()
	if err := away.Connect(); err != nil {
		t.Fatal(err)
	}
	if e := await[*events.LoggedOut](t, away); !e.OnConnect {
		t.Errorf("logged out = %+v", e)
	}
}

// A message that cannot be read is asked for again and then comes whole.
func TestGarbled(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	g := s.Group("Friends", alice)
	c := login(t, s)
	texts := []struct {
		name string
		say  func(string) string
	}{
		{"first ever", alice.Say},
		{"in a session", alice.Say},
		{"first in a group", func(text string) string { return alice.SayIn(g, text) }},
		{"in a group", func(text string) string { return alice.SayIn(g, text) }},
	}
	for i, tc := range texts {
		s.Faults.Garble(1)
		id := tc.say(tc.name)
		if u := await[*events.UndecryptableMessage](t, c, i+1); u.Info.ID != id {
			t.Errorf("%s: undecryptable is %s, want %s", tc.name, u.Info.ID, id)
		}
		if m := awaitMessage(t, c, withText(tc.name)); m.Info.ID != id {
			t.Errorf("%s: the id is %s, want %s", tc.name, m.Info.ID, id)
		}
		tc.say(tc.name + ", once more")
		awaitMessage(t, c, withText(tc.name+", once more"))
	}
	s.Faults.IgnoreRetries(true)
	s.Faults.Garble(1)
	alice.Say("lost")
	await[*events.UndecryptableMessage](t, c, len(texts)+1)
	if err := s.WaitDrained(within(t)); err != nil {
		t.Error(err)
	}
}

// A phone that was set up anew asks for what it cannot read and gets it.
func TestReinstall(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	g := s.Group("Friends", alice)
	c := login(t, s)
	say(t, c, alice.LID(), "one")
	say(t, c, g.JID(), "one")
	alice.Reinstall()
	say(t, c, alice.LID(), "two")
	if err := alice.WaitText(within(t), "two"); err != nil {
		t.Fatal(err)
	}
	say(t, c, alice.LID(), "three")
	if err := alice.WaitText(within(t), "three"); err != nil {
		t.Error(err)
	}
	if n := s.Count("unreadable"); n != 1 {
		t.Errorf("%d messages could not be read", n)
	}
	alice.Reinstall()
	say(t, c, g.JID(), "two")
	if _, err := g.WaitReceived(within(t), 2); err != nil {
		t.Error(err)
	}
	alice.SayIn(g, "here again")
	awaitMessage(t, c, withText("here again"))
	alice.Say("and here")
	awaitMessage(t, c, withText("and here"))
}

func TestQueriesFail(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)
	s.Faults.FailQueries("usync", 500)
	if _, err := c.IsOnWhatsApp(within(t), []string{alice.Number()}); err == nil {
		t.Error("a query that was refused succeeded")
	}
	s.Faults.FailQueries("usync", 0)
	if _, err := c.GetUserInfo(within(t), []types.JID{alice.PN()}); err != nil {
		t.Error(err)
	}
}

// A client whose pings are not answered says so and connects anew. TestMain has
// made it ping often.
func TestKeepalive(t *testing.T) {
	s := start(t, wasim.Options{})
	c := login(t, s)
	if err := s.Wait(within(t), func() bool { return s.Count("iq:w:p") > 2 }); err != nil {
		t.Fatal(err)
	}
	s.Faults.IgnoreKeepalives(true)
	await[*events.KeepAliveTimeout](t, c)
	await[*events.Connected](t, c, 2)
}
