package irc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// numbered are the lines "line 1" to "line n".
func numbered(from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprint("line ", i))
	}
	return out
}

// answer splits text as the gateway does and sends it as the answer to m.
func (b *bot) answer(m channels.Inbound, text string) {
	b.t.Helper()
	for i, piece := range b.ch.Split(m.Key, text) {
		to := m.MessageID
		if i > 0 && !m.Private {
			to = ""
		}
		if err := b.replyPiece(m.Key.String(), piece, to); err != nil {
			b.t.Fatalf("Send(%s, piece %d) = %v, want nil", m.Key, i, err)
		}
	}
}

// In a channel the first line of an answer names the asker, by the new nick if it changed. It
// does not in private, or if the model has written the name.
func TestAnswersNameWhoAsked(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	b := startInGo(t, addr)
	anna := ircd.Join(t, addr, "anna", "#go")
	anna.Say("#go", "dragoman: what is six times seven?")
	asked := b.inbox.Wait(t, 1)[0]
	b.answer(asked, "forty-two\nor so")
	b.answer(asked, "Anna: forty-two")
	if err := b.put(channels.Outbound{Key: asked.Key, Text: "forty-two", Repeats: true, ReplyTo: asked.MessageID}); err != nil {
		t.Fatal(err)
	}
	anna.Raw("NICK anna2")
	anna.Say("#go", "dragoman: are you there?")
	b.inbox.Wait(t, 2) // The bot has seen the new nick.
	b.answer(asked, "```\na\n\nb\n```")
	want := []string{"anna: forty-two", "or so", "Anna: forty-two", "anna: ↻ forty-two", "anna2: ```", "a", " ", "b", "```"}
	if diff := cmp.Diff(want, anna.WaitHeard("dragoman", "#go", len(want))); diff != "" {
		t.Errorf("the room heard (-want +got):\n%s", diff)
	}
	anna.Say("dragoman", "and in private?")
	b.answer(b.inbox.Wait(t, 3)[2], "forty-two")
	if diff := cmp.Diff([]string{"forty-two"}, anna.WaitHeard("dragoman", "anna2", 1)); diff != "" {
		t.Errorf("in private she heard (-want +got):\n%s", diff)
	}
}

// A channel sees the beginning of a long answer, and as much again whenever somebody asks.
// Nothing is lost. A private chat sees the whole answer.
func TestMore(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	o := quick(addr)
	o.Channels, o.MaxLines = []string{"#go"}, 5
	b := start(t, o)
	b.waitIn("irc:#go")
	anna := ircd.Join(t, addr, "anna", "#go")
	text := strings.Join(numbered(1, 14), "\n")

	b.say("irc:#go", text)
	heard := append(numbered(1, 5), "9 more lines (more: !more)")
	anna.WaitHeard("dragoman", "#go", len(heard))
	anna.Say("#go", "!more")
	more := func(from, to int) []string {
		return append([]string{fmt.Sprint("anna: line ", from)}, numbered(from+1, to)...)
	}
	heard = append(append(heard, more(6, 10)...), "4 more lines (more: !more)")
	anna.WaitHeard("dragoman", "#go", len(heard))
	anna.Say("#go", "dragoman: !more")
	heard = append(heard, more(11, 14)...)
	if diff := cmp.Diff(heard, anna.WaitHeard("dragoman", "#go", len(heard))); diff != "" {
		t.Errorf("the room heard (-want +got):\n%s", diff)
	}
	anna.Say("#go", "dragoman: !more")
	if m := b.inbox.Wait(t, 1)[0]; m.Text != "!more" {
		t.Errorf("handed in %q, want the question for more when there is nothing", m.Text)
	}

	b.say("irc:#go", text)
	if b.ch.Stop(channels.MustKey("irc:#go")) {
		t.Error("it says that it was saying something")
	}
	anna.Say("#go", "dragoman: !more")
	if m := b.inbox.Wait(t, 2)[1]; m.Text != "!more" {
		t.Errorf("handed in %q, want nothing to be left after a stop", m.Text)
	}
	b.say("irc:anna", text)
	if diff := cmp.Diff(numbered(1, 14), anna.WaitHeard("dragoman", "anna", 14)); diff != "" {
		t.Errorf("in private she heard (-want +got):\n%s", diff)
	}
	b.say("irc:#go", strings.Join(numbered(1, 7), "\n"))
	heard = append(append(heard, numbered(1, 5)...), "9 more lines (more: !more)")
	heard = append(heard, numbered(1, 7)...)
	if diff := cmp.Diff(heard, anna.WaitHeard("dragoman", "#go", len(heard))); diff != "" {
		t.Errorf("the room heard (-want +got):\n%s", diff)
	}
}

// !more shows people the rest of their own answer, and others the rest of the newest one.
func TestMoreOfYourAnswer(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	o := quick(addr)
	o.Channels, o.MaxLines = []string{"#go"}, 1
	b := start(t, o)
	b.waitIn("irc:#go")
	var people []*ircd.Person
	for i, nick := range []string{"anna", "bob", "carol"} {
		p := ircd.Join(t, addr, nick, "#go")
		people = append(people, p)
		p.Say("#go", "dragoman: tell me")
		m := b.inbox.Wait(t, i+1)[i]
		for n, piece := range b.ch.Split(m.Key, strings.Join([]string{nick + " 1", nick + " 2", nick + " 3", nick + " 4"}, "\n")) {
			if _, err := b.ch.Send(t.Context(), channels.Outbound{Key: m.Key, Text: piece.Text, Form: piece.Form, ReplyTo: m.MessageID, GoesOn: n > 0, Attempt: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	dave := ircd.Join(t, addr, "dave", "#go")
	for i, ask := range []struct {
		who  *ircd.Person
		want string
	}{{people[0], "anna: anna 2"}, {dave, "dave: carol 2"}, {people[1], "bob: bob 2"}} {
		ask.who.Say("#go", "!more")
		got := people[0].WaitHeard("dragoman", "#go", 6+3*(i+1))
		if got[6+3*i] != ask.want {
			t.Errorf("the room heard %q, want %q", got[6+3*i], ask.want)
		}
	}
}

// A stop ends the lines that !more asked for. Lines between them and those of an answer are
// distinguished by names.
func TestStopEndsMore(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	o := quick(addr)
	o.Channels = []string{"#go"}
	o.MaxLines = 8
	o.FloodBurst = 11
	o.FloodEvery = 300 * time.Millisecond
	b := start(t, o)
	b.waitIn("irc:#go")
	anna, bob := ircd.Join(t, addr, "anna", "#go"), ircd.Join(t, addr, "bob", "#go")
	bob.Say("#go", "dragoman: are you there?")
	asked := b.inbox.Wait(t, 1)[0]
	b.say("irc:#go", strings.Join(numbered(1, 16), "\n"))
	anna.Say("#go", "!more")
	anna.WaitHeard("dragoman", "#go", 10)
	if err := b.reply("irc:#go", "yes", asked.MessageID); err != nil {
		t.Fatal(err)
	}
	after := -1
	testkit.Eventually(t, "a line after bob's", func() bool {
		got := anna.Heard("dragoman", "#go")
		after = slices.Index(got, "bob: yes") + 1
		return after > 0 && after < len(got)
	})
	if !b.ch.Stop(asked.Key) {
		t.Error("it says that it was not saying anything")
	}
	anna.Sync()
	stopped := len(anna.Heard("dragoman", "#go"))
	b.say("irc:#go", "the end\nof\nit")
	anna.Sync()
	got := anna.Heard("dragoman", "#go")
	if n := len(got); n > stopped+4 || !slices.Equal(got[n-2:], []string{"of", "it"}) {
		t.Errorf("the room heard %q, want no more than the line that was on its way", got)
	}
	if !strings.HasPrefix(got[after], "anna: line ") {
		t.Errorf("the room heard %q, want the line after bob's to name anna", got)
	}
}

// An answer that continues after another message names its recipient again, and its lines
// of code stay together.
func TestAnswersThatTakeTurns(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	b := startInGo(t, addr)
	anna, bob := ircd.Join(t, addr, "anna", "#go"), ircd.Join(t, addr, "bob", "#go")
	anna.Say("#go", "dragoman: show me a loop")
	asked := b.inbox.Wait(t, 1)[0]
	bob.Say("#go", "dragoman: and me")
	other := b.inbox.Wait(t, 2)[1]
	sayPiece := func(m channels.Inbound, p channels.Piece, goesOn bool) {
		t.Helper()
		_, err := b.ch.Send(t.Context(), channels.Outbound{Key: m.Key, Text: p.Text, Form: p.Form, ReplyTo: m.MessageID, GoesOn: goesOn, Attempt: 1})
		if err != nil {
			t.Fatalf("Send(%q) = %v", p, err)
		}
	}
	say := func(m channels.Inbound, text string, goesOn bool) {
		t.Helper()
		sayPiece(m, channels.Piece{Text: text}, goesOn)
	}
	if !b.ch.Interleaves(asked.Key) || b.ch.Interleaves(channels.MustKey("irc:anna")) {
		t.Error("answers take turns in private, or not in a room")
	}
	if a, o := b.ch.Asker(asked.MessageID), b.ch.Asker(other.MessageID); a == "" || a == o {
		t.Errorf("Asker = %q and %q, want two people", a, o)
	}
	long := strings.TrimSpace(strings.Repeat("long ", 90))
	pieces := b.ch.Split(asked.Key, "Look:\n```\nfor {\n}\n```\n"+long+"\nThat is all.")
	var joined []bool
	before := ""
	for i, piece := range pieces {
		joined = append(joined, b.ch.Continues(before, piece.Text))
		before = piece.Text
		sayPiece(asked, piece, i > 0)
	}
	if diff := cmp.Diff([]bool{false, true, true, true, true, false, true, false}, joined); diff != "" {
		t.Errorf("Continues (-want +got):\n%s", diff)
	}
	say(other, "of course", false)
	say(asked, "One more thing.", false)
	say(asked, "And another.", true)
	// A message that the gateway does not know of came between.
	say(other, "too", false)
	say(asked, "The last one.", true)
	want := []string{"anna: Look:", "```", "for {", "}", "```", strings.TrimSpace(pieces[5].Text), strings.TrimSpace(pieces[6].Text), "That is all.", "bob: of course", "anna: One more thing.", "And another.", "bob: too", "anna: The last one."}
	if diff := cmp.Diff(want, anna.WaitHeard("dragoman", "#go", len(want))); diff != "" {
		t.Errorf("the room heard (-want +got):\n%s", diff)
	}
}
