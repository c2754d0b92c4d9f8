package wasim_test

import (
	"testing"

	"dragoman/channels/channeltest/wasim"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

func TestGroup(t *testing.T) {
	for _, byPhone := range []bool{false, true} {
		name := "by hidden ids"
		if byPhone {
			name = "by phone numbers"
		}
		t.Run(name, func(t *testing.T) {
			s := start(t, wasim.Options{ByPhone: byPhone})
			alice, bob := s.Contact("+4915700000001", "Alice"), s.Contact("+4915700000002", "Bob")
			g := s.Group("Friends", alice, bob)
			c := login(t, s)

			alice.SayIn(g, "hello all")
			m := awaitMessage(t, c, withText("hello all"))
			want, other := alice.LID(), alice.PN()
			if byPhone {
				want, other = other, want
			}
			if m.Info.Chat != g.JID() || !m.Info.IsGroup || m.Info.Sender != want || m.Info.SenderAlt != other {
				t.Errorf("message came as %+v", m.Info.MessageSource)
			}
			alice.SayIn(g, "and again")
			awaitMessage(t, c, withText("and again"))
			bob.SayIn(g, "hi Alice")
			awaitMessage(t, c, withText("hi Alice"))

			say(t, c, g.JID(), "hello from the bot")
			say(t, c, g.JID(), "and more")
			if _, err := g.WaitReceived(within(t), 2); err != nil {
				t.Fatal(err)
			}
			for _, who := range []*wasim.Contact{alice, bob, s.Owner()} {
				got := who.ReceivedIn(g)
				if len(got) != 2 || got[0].Text != "hello from the bot" || got[1].Text != "and more" || got[0].In != g {
					t.Errorf("%s sees %+v", who.Name(), got)
				}
			}
			if len(alice.Received()) != 0 {
				t.Error("the group's messages are in the private chat")
			}
			if n, m := s.Count("unreadable"), s.Count("receipt:retry"); n+m != 0 {
				t.Errorf("contacts could not read %d messages and the client %d", n, m)
			}
			if err := s.WaitDrained(within(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestGroupChanges(t *testing.T) {
	s := start(t, wasim.Options{})
	alice, bob := s.Contact("+4915700000001", "Alice"), s.Contact("+4915700000002", "Bob")
	g := s.Group("Friends", alice)
	c := login(t, s)

	info, err := c.GetGroupInfo(within(t), g.JID())
	if err != nil || info.Name != "Friends" || len(info.Participants) != 2 {
		t.Fatalf("GetGroupInfo = %+v, %v", info, err)
	}
	g.Add(bob)
	if e := await[*events.GroupInfo](t, c); len(e.Join) != 1 || e.Join[0] != bob.LID() {
		t.Errorf("join = %+v", e)
	}
	say(t, c, g.JID(), "welcome Bob")
	if got := bob.ReceivedIn(g); len(got) != 1 || got[0].Text != "welcome Bob" {
		t.Errorf("Bob sees %+v", got)
	}
	g.Remove(alice)
	if e := await[*events.GroupInfo](t, c, 2); len(e.Leave) != 1 || e.Leave[0] != alice.LID() {
		t.Errorf("leave = %+v", e)
	}
	say(t, c, g.JID(), "where is Alice?")
	if got := alice.ReceivedIn(g); len(got) != 1 {
		t.Errorf("Alice sees %+v after she left", got)
	}
	groups, err := c.GetJoinedGroups(within(t))
	if err != nil || len(groups) != 1 || groups[0].JID != g.JID() {
		t.Errorf("GetJoinedGroups = %+v, %v", groups, err)
	}
	if _, err := c.GetGroupInfo(within(t), types.NewJID("1", types.GroupServer)); err == nil {
		t.Error("a group that does not exist has members")
	}
}

// In a group a mention, a quote, an edit and a reaction name people as the
// group does.
func TestGroupReferences(t *testing.T) {
	s := start(t, wasim.Options{})
	alice, bob := s.Contact("+4915700000001", "Alice"), s.Contact("+4915700000002", "Bob")
	g := s.Group("Friends", alice, bob)
	c := login(t, s)

	first := alice.SayIn(g, "frist")
	alice.Edit(first, "first")
	edit := awaitMessage(t, c, func(m *events.Message) bool { return m.IsEdit })
	if edit.Info.Chat != g.JID() {
		t.Errorf("the edit is in %s", edit.Info.Chat)
	}
	bob.Send(wasim.Note{In: g, Text: "@" + s.Owner().LID().User + " look", Quote: first, Mention: []string{s.Owner().Number()}})
	m := awaitMessage(t, c, func(m *events.Message) bool { return m.Message.GetExtendedTextMessage() != nil })
	info := m.Message.GetExtendedTextMessage().GetContextInfo()
	if diff := cmp.Diff([]string{s.Owner().LID().String()}, info.GetMentionedJID()); diff != "" {
		t.Errorf("mentions (-want +got):\n%s", diff)
	}
	if info.GetParticipant() != alice.LID().String() || info.GetQuotedMessage().GetConversation() != "frist" {
		t.Errorf("quote = %v", info)
	}
	bob.React(first, "😀")
	r := awaitMessage(t, c, func(m *events.Message) bool { return m.Message.GetReactionMessage() != nil })
	if k := r.Message.GetReactionMessage().GetKey(); k.GetID() != first || k.GetParticipant() != alice.LID().String() {
		t.Errorf("reaction to %v", k)
	}
}
