package irc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// A channel that refuses formatting gets the same words without it at once, and no
// formatting from then on.
func TestRoomWithoutFormatting(t *testing.T) {
	srv, addr := serve(t, ircd.Config{NoColours: true})
	b := startInGo(t, addr)
	anna := ircd.Join(t, addr, "anna", "#go")
	b.say("irc:#go", "**one**\n*two*")
	if diff := cmp.Diff([]string{"one", "two"}, anna.WaitHeard("dragoman", "#go", 2)); diff != "" {
		t.Errorf("the room heard (-want +got):\n%s", diff)
	}
	said := 0
	for _, l := range srv.Heard("dragoman") {
		if strings.HasPrefix(l, "PRIVMSG") {
			said++
		}
	}
	if said != 3 {
		t.Errorf("it tried %d lines, want one refused and two", said)
	}
}

// If a network forwards us to another channel, the status names the channel that we could
// not join, and we leave the other one.
func TestForwardedJoin(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Forward: map[string]string{"#go": "##overflow"}})
	o := quick(addr)
	o.Channels = []string{"#go"}
	b := start(t, o)
	b.waitStatus("not in #go", func(s channels.Status) bool {
		return strings.Contains(s.Detail, "not in #go: the network forwards us to ##overflow")
	})
	if !srv.WaitHeard("dragoman", "PART ##overflow", 1, 10*time.Second) {
		t.Errorf("said %q, want it to leave", srv.Heard("dragoman"))
	}
}

// Many programs answer whoever says their name first. Our answers to somebody who types
// faster than a person no longer begin with it, so that the talk ends.
func TestProgramsThatAnswerToTheirName(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	b := startInGo(t, addr)
	robot, alice := ircd.Join(t, addr, "robot", "#go"), ircd.Join(t, addr, "alice", "#go")
	answers := 0
	exchange := func(who *ircd.Person, text, answer string) string {
		before := len(b.inbox.Messages())
		who.Say("#go", text)
		m := b.inbox.Wait(t, before+1)[before]
		if _, err := b.ch.Send(t.Context(), channels.Outbound{ID: fmt.Sprint(answers), Key: m.Key, Text: answer, ReplyTo: m.MessageID}); err != nil {
			t.Fatal(err)
		}
		answers++
		return alice.WaitHeard("dragoman", "#go", answers)[answers-1]
	}
	const invalid = `dragoman: Error: "and" is not a valid command.`
	for i, want := range []string{"robot: yes?", "robot: yes?", "(robot) yes?", "(robot) yes?"} {
		if got := exchange(robot, invalid, "yes?"); got != want {
			t.Errorf("answer %d to the program is %q, want %q", i+1, got, want)
		}
	}
	if got := exchange(robot, invalid, "robot: that is what you say"); got != "(robot) robot: that is what you say" {
		t.Errorf("an answer in which the model names the program is %q", got)
	}
	// Lines below the first, in every form in which a program would hear its name.
	exchange(robot, invalid, "It says:\n\nrobot: what?\n\nRobot, what?\n\n**robot**: what?\n\n@robot: what?\n\n```\n  robot: what?\n```\n\na robot: what?")
	answers += 6
	below := alice.WaitHeard("dragoman", "#go", answers)[answers-6:]
	for _, line := range below {
		bare := strings.ToLower(strings.TrimLeft(line, " @\x02\x11"))
		if !strings.Contains(line, "what?") || strings.HasPrefix(bare, "robot") {
			t.Errorf("an answer to the program has the line %q", line)
		}
	}
	if below[5] != "a robot: what?" {
		t.Errorf("a line that does not begin with the name is %q", below[5])
	}
	for range 4 {
		if got := exchange(alice, "dragoman: k", "yes?"); got != "alice: yes?" {
			t.Errorf("an answer to a person is %q, want one that names her", got)
		}
		time.Sleep(100 * time.Millisecond) // as long as the letter takes to type
	}
	if got := exchange(robot, invalid, "yes?"); got != "(robot) yes?" {
		t.Errorf("a person beside it makes the program a person: %q", got)
	}
}

// A program that replies to every answer is told once that it gets no more answers. People
// are not taken for programs.
func TestLoopIsBroken(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	b := startInGo(t, addr)
	parrot, anna := ircd.Join(t, addr, "parrot"), ircd.Join(t, addr, "anna")
	for i := range 10 {
		parrot.Say("dragoman", fmt.Sprint("question ", i))
		m := b.inbox.Wait(t, i+1)[i]
		if err := b.reply("irc:parrot", "an answer", m.MessageID); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		parrot.Say("dragoman", "and more")
	}
	heard := parrot.WaitHeard("dragoman", "parrot", 11)
	if !strings.Contains(heard[10], "I take you for a program") {
		t.Errorf("heard %q, want to be told why", heard[10])
	}
	b.say("irc:parrot", "by the way")
	if heard := parrot.WaitHeard("dragoman", "parrot", 12); heard[11] != "by the way" {
		t.Errorf("heard %q, want to be told once", heard[10:])
	}
	for range 12 {
		anna.Say("dragoman", "without any answer")
	}
	if got := b.inbox.Wait(t, 22); len(got) != 22 {
		t.Errorf("handed in %d messages, want ten of the program and all of the person's", len(got))
	}
}

// Somebody invites the bot back at once. The line that waited for the flood budget belongs to
// an answer that the kick ended.
func TestKickedWhileALineWaits(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	alice := ircd.Join(t, srv.Addr(), "alice", "#go") // the first one in is its operator
	o := quick(srv.Addr())
	o.Channels = []string{"#go"}
	o.FloodBurst = 1
	o.FloodEvery = 3 * time.Second
	b := start(t, o)
	b.waitIn("irc:#go")
	b.say("irc:#go", "line 1")
	done := make(chan error, 1)
	go func() { done <- b.send("irc:#go", "line 2") }()
	testkit.Eventually(t, "line 2 to wait", b.ch.LineWaits)
	alice.Raw("KICK #go dragoman :out")
	b.waitStatus("out", func(s channels.Status) bool { return strings.Contains(s.Detail, "kicked by alice") })
	b.waitIn("irc:#go")
	var notSent *channels.NotSent
	if err := <-done; !errors.As(err, &notSent) || !errors.Is(err, channels.ErrRemoved) {
		t.Errorf("Send of a line that waited during a kick = %v, want NotSent and ErrRemoved", err)
	}
}

// While an answer is being sent, "!stop" needs no name before it, like "!more".
func TestStopNeedsNoNameWhileItTalks(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	alice := ircd.Join(t, srv.Addr(), "alice", "#go")
	o := quick(srv.Addr())
	o.Channels = []string{"#go"}
	b := start(t, o)
	b.waitIn("irc:#go")
	alice.Say("#go", "!stop")
	b.inbox.Wait(t, 1)
	b.say("irc:#go", "line 1")
	alice.Say("#go", "!stop")
	got := b.inbox.Wait(t, 2)
	if got[0].Addressed || !got[1].Addressed || got[1].Text != "/stop" {
		t.Errorf("!stop before and after a line = %+v, want the second one addressed to us", got)
	}
}

// The kick and the rejoin happen between two lines of an answer.
func TestKickedBetweenTwoLines(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	alice := ircd.Join(t, srv.Addr(), "alice", "#go")
	o := quick(srv.Addr())
	o.Channels = []string{"#go"}
	b := start(t, o)
	b.waitIn("irc:#go")
	send := func(text string, goesOn bool) error {
		_, err := b.ch.Send(t.Context(), channels.Outbound{ID: text, Key: channels.MustKey("irc:#go"), Text: text, GoesOn: goesOn, Attempt: 1})
		return err
	}
	b.say("irc:#go", "line 1")
	alice.Raw("KICK #go dragoman :out")
	b.waitStatus("out", func(s channels.Status) bool { return strings.Contains(s.Detail, "kicked by alice") })
	b.waitIn("irc:#go")
	if err := send("line 2", true); !errors.Is(err, channels.ErrRemoved) {
		t.Errorf("Send of what goes on after a kick = %v, want ErrRemoved", err)
	}
	if err := errors.Join(send("another answer", false), send("its second line", true)); err != nil {
		t.Errorf("Send of another answer = %v", err)
	}
}

// An invitation that comes while we are not in a channel lets us in at once, also right
// after a refusal and before it, and not after the long pause of a retry.
func TestInvitationIsTakenAtOnce(t *testing.T) {
	const refusal = "473 :Cannot join channel (+i)"
	tests := map[string]func(srv *ircd.Server, addr string, b *bot){
		"right after a refusal": func(srv *ircd.Server, addr string, b *bot) {
			b.waitStatus("out", func(s channels.Status) bool { return strings.Contains(s.Detail, "invite-only") })
			srv.Deny("#go", "")
			srv.Inject("dragoman", ":alice!a@h INVITE dragoman #go")
		},
		"twice, the first in vain": func(srv *ircd.Server, addr string, b *bot) {
			b.waitStatus("out", func(s channels.Status) bool { return strings.Contains(s.Detail, "invite-only") })
			srv.Inject("dragoman", ":alice!a@h INVITE dragoman #go")
			testkit.Eventually(b.t, "a second refusal", func() bool { return joins(srv) == 2 })
			srv.Deny("#go", "")
			srv.Inject("dragoman", ":alice!a@h INVITE dragoman #go")
		},
		"right after a kick": func(srv *ircd.Server, addr string, b *bot) {
			b.waitStatus("out", func(s channels.Status) bool { return strings.Contains(s.Detail, "invite-only") })
			srv.Deny("#go", "")
			srv.Inject("dragoman", ":alice!a@h INVITE dragoman #go")
			b.waitIn("irc:#go")
			alice := ircd.Join(b.t, addr, "alice", "#go")
			alice.Raw("KICK #go dragoman :out")
			b.waitStatus("out", func(s channels.Status) bool { return strings.Contains(s.Detail, "kicked by alice") })
			srv.Inject("dragoman", ":alice!a@h INVITE dragoman #go")
		},
		"in another case": func(srv *ircd.Server, addr string, b *bot) {
			b.waitStatus("out", func(s channels.Status) bool { return strings.Contains(s.Detail, "invite-only") })
			srv.Deny("#go", "")
			srv.Inject("dragoman", ":alice!a@h INVITE dragoman :#GO")
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, ircd.Config{})
			srv.Deny("#go", refusal)
			o := quick(addr)
			o.Channels = []string{"#go"}
			o.RejoinDelay = time.Hour
			o.RejoinMax = time.Hour
			b := start(t, o)
			test(srv, addr, b)
			b.waitIn("irc:#go")
		})
	}
}

func joins(srv *ircd.Server) (n int) {
	for _, l := range srv.Heard("dragoman") {
		if strings.HasPrefix(l, "JOIN ") {
			n++
		}
	}
	return n
}
