package wasim_test

import (
	"fmt"
	"testing"
	"time"

	"dragoman/channels/channeltest/wasim"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"
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
	if r := await[*events.Receipt](t, c); r.Type != types.ReceiptTypeDelivered || r.Chat != alice.LID() {
		t.Errorf("receipt = %+v", r)
	}
}

// A client that writes first has to ask for the contact's keys; the contact's
// answer comes over the session that the client started.
func TestClientWritesFirst(t *testing.T) {
	s := start(t, wasim.Options{})
	bob := s.Contact("+4915700000002", "Bob")
	c := login(t, s)
	say(t, c, bob.PN(), "knock knock")
	if err := bob.WaitText(within(t), "knock knock"); err != nil {
		t.Fatal(err)
	}
	bob.Say("who is there?")
	awaitMessage(t, c, withText("who is there?"))
	if n := s.Count("unreadable"); n != 0 {
		t.Errorf("%d messages could not be read", n)
	}
}

func TestAddressing(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)

	alice.GoByPhone(true)
	alice.Say("by phone")
	m := awaitMessage(t, c, withText("by phone"))
	if m.Info.Chat != alice.PN() || m.Info.SenderAlt != alice.LID() {
		t.Errorf("by phone: chat %s, other %s", m.Info.Chat, m.Info.SenderAlt)
	}
	alice.GoByPhone(false)
	alice.HideOther(true)
	alice.Say("hidden")
	m = awaitMessage(t, c, withText("hidden"))
	if m.Info.Chat != alice.LID() || !m.Info.SenderAlt.IsEmpty() {
		t.Errorf("hidden: chat %s, other %s", m.Info.Chat, m.Info.SenderAlt)
	}
	if on, err := c.IsOnWhatsApp(within(t), []string{alice.Number(), "+4915799999999"}); err != nil || len(on) != 2 || !on[0].IsIn || on[1].IsIn {
		t.Errorf("IsOnWhatsApp = %+v, %v", on, err)
	}
}

func TestChanges(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)

	first := alice.Say("helo")
	alice.Edit(first, "hello")
	edit := awaitMessage(t, c, func(m *events.Message) bool { return m.IsEdit })
	if p := edit.Message.GetProtocolMessage(); p.GetKey().GetID() != first || p.GetEditedMessage().GetConversation() != "hello" {
		t.Errorf("edit = %v", edit.Message)
	}
	alice.Revoke(first)
	awaitMessage(t, c, func(m *events.Message) bool {
		p := m.Message.GetProtocolMessage()
		return p.GetType() == waE2E.ProtocolMessage_REVOKE && p.GetKey().GetID() == first
	})

	ours := say(t, c, alice.LID(), "draft")
	alice.React(ours, "👍")
	r := awaitMessage(t, c, func(m *events.Message) bool { return m.Message.GetReactionMessage() != nil })
	if k := r.Message.GetReactionMessage().GetKey(); k.GetID() != ours || k.GetFromMe() {
		t.Errorf("reaction to %v", k)
	}
	send := func(m *waE2E.Message) {
		t.Helper()
		if _, err := c.SendMessage(within(t), alice.LID(), m); err != nil {
			t.Fatal(err)
		}
	}
	send(c.BuildEdit(alice.LID(), ours, &waE2E.Message{Conversation: proto.String("final")}))
	send(c.BuildReaction(alice.LID(), alice.LID(), first, "❤"))
	got := alice.Received()
	if len(got) != 1 || got[0].Text != "final" || got[0].Edits != 1 {
		t.Errorf("after the edit: %+v", got)
	}
	if diff := cmp.Diff(map[string]string{"15550000001": "❤"}, s.Reactions(first)); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"4915700000001": "👍"}, s.Reactions(ours)); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	send(c.BuildRevoke(alice.LID(), types.EmptyJID, ours))
	if got := alice.Texts(); len(got) != 0 {
		t.Errorf("after it was taken back: %q", got)
	}
}

func TestQuoteMentionWrappers(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)

	ours := say(t, c, alice.LID(), "what is up?")
	alice.Send(wasim.Note{Text: "not much", Quote: ours, Mention: []string{"+15550000001"}})
	info := awaitMessage(t, c, withText("not much")).Message.GetExtendedTextMessage().GetContextInfo()
	if info.GetStanzaID() != ours || info.GetQuotedMessage().GetConversation() != "what is up?" || info.GetParticipant() != s.Owner().LID().String() {
		t.Errorf("quote = %v", info)
	}
	if diff := cmp.Diff([]string{s.Owner().LID().String()}, info.GetMentionedJID()); diff != "" {
		t.Errorf("mentions (-want +got):\n%s", diff)
	}
	alice.Send(wasim.Note{Text: "gone soon", Ephemeral: time.Hour})
	if m := awaitMessage(t, c, withText("gone soon")); !m.IsEphemeral {
		t.Error("the message is not ephemeral")
	}
	alice.Send(wasim.Note{Media: &wasim.Media{Kind: wasim.Image, Mime: "image/png", Data: []byte("png")}, Text: "look once", ViewOnce: true})
	m := awaitMessage(t, c, func(m *events.Message) bool { return m.Message.GetImageMessage() != nil })
	if !m.IsViewOnce || m.Message.GetImageMessage().GetCaption() != "look once" {
		t.Errorf("view once = %v, %v", m.IsViewOnce, m.Message)
	}
}

func TestOwner(t *testing.T) {
	s := start(t, wasim.Options{})
	alice, owner := s.Contact("+4915700000001", "Alice"), s.Owner()
	c := login(t, s)

	owner.Say("note to self")
	m := awaitMessage(t, c, withText("note to self"))
	if !m.Info.IsFromMe || m.Info.Chat.User != owner.LID().User || m.Info.Sender.Device != 0 {
		t.Errorf("note to self came as %+v", m.Info.MessageSource)
	}
	owner.Send(wasim.Note{To: alice, Text: "hi Alice"})
	m = awaitMessage(t, c, withText("hi Alice"))
	if !m.Info.IsFromMe || m.Info.Chat != alice.LID() {
		t.Errorf("owner to Alice came as %+v", m.Info.MessageSource)
	}
	say(t, c, owner.PN(), "noted")
	if err := owner.WaitText(within(t), "noted"); err != nil {
		t.Error(err)
	}
	say(t, c, alice.LID(), "from the bot")
	copies := owner.CopiesTo(alice)
	if len(copies) != 1 || copies[0].Text != "from the bot" {
		t.Errorf("the owner's phone shows %+v", copies)
	}
	if err := s.WaitDrained(within(t)); err != nil {
		t.Error(err)
	}
}

func TestSigns(t *testing.T) {
	s := start(t, wasim.Options{})
	alice := s.Contact("+4915700000001", "Alice")
	c := login(t, s)
	id := alice.Say("are you there?")
	m := awaitMessage(t, c, withText("are you there?"))

	if err := c.SendChatPresence(within(t), alice.LID(), types.ChatPresenceComposing, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t), func() bool { now, _ := alice.Typing(); return now }); err != nil {
		t.Error("typing:", err)
	}
	if err := c.SendChatPresence(within(t), alice.LID(), types.ChatPresencePaused, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t), func() bool { now, times := alice.Typing(); return !now && times == 1 }); err != nil {
		t.Error("typing no more:", err)
	}
	if s.HasRead(id) {
		t.Error("the message was read before it was marked")
	}
	if err := c.MarkRead(within(t), []string{id}, time.Now(), m.Info.Chat, m.Info.Sender); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t), func() bool { return s.HasRead(id) }); err != nil {
		t.Error("read:", err)
	}
	if err := c.SendPresence(within(t), types.PresenceAvailable); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(within(t), func() bool { return s.Count("presence:available") == 1 }); err != nil {
		t.Error("presence:", err)
	}
	alice.SayTyping(true)
	if p := await[*events.ChatPresence](t, c); p.State != types.ChatPresenceComposing || p.Chat != alice.LID() {
		t.Errorf("presence = %+v", p)
	}
	ours := say(t, c, alice.LID(), "yes")
	alice.MarkRead(ours)
	for n := 1; ; n++ {
		if r := await[*events.Receipt](t, c, n); r.Type == types.ReceiptTypeRead && r.MessageIDs[0] == ours {
			break
		}
	}
}

func TestManyInOrder(t *testing.T) {
	s := start(t, wasim.Options{})
	alice, bob := s.Contact("+4915700000001", "Alice"), s.Contact("+4915700000002", "Bob")
	c := login(t, s)
	var want []string
	began := time.Now()
	for i := range 150 {
		for _, who := range []*wasim.Contact{alice, bob} {
			text := fmt.Sprintf("%s %d", who.Name(), i)
			who.Say(text)
			want = append(want, text)
		}
	}
	await[*events.Message](t, c, len(want))
	t.Logf("%d messages in %v", len(want), time.Since(began))
	if diff := cmp.Diff(want, c.texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if err := s.WaitDrained(within(t)); err != nil {
		t.Error(err)
	}
}
