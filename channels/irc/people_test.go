package irc_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// isNotSent fails the test unless err says that nothing was sent and that a retry makes
// sense.
func isNotSent(t *testing.T, what string, err error) {
	t.Helper()
	var notSent *channels.NotSent
	if !errors.As(err, &notSent) || errors.Is(err, channels.ErrPermanent) {
		t.Errorf("%s = %v, want NotSent and not permanent", what, err)
	}
}

// The answer follows the person to a new nick: by the network's messages if we share a
// channel, by a WHOIS if not.
func TestAnswerFollowsTheNick(t *testing.T) {
	for _, room := range []string{"#go", "#elsewhere"} {
		t.Run("in "+room, func(t *testing.T) {
			_, addr := serve(t, ircd.Config{})
			b := startInGo(t, addr)
			alice := ircd.Join(t, addr, "alice", room)
			alice.Say("dragoman", "a question")
			m := b.inbox.Wait(t, 1)[0]
			alice.Raw("NICK alice2")
			alice.Sync()
			mallory := ircd.Join(t, addr, "mallory", room)
			mallory.Raw("NICK alice")
			mallory.Sync()
			if room == "#elsewhere" {
				b.forget() // The last sign of life is old by now.
			} else {
				mallory.Say("#go", "hello")
				b.inbox.Wait(t, 2) // It has read who is called what.
			}
			err := b.reply("irc:alice", "the answer", m.MessageID)
			if room == "#go" {
				if err != nil {
					t.Errorf("Send = %v, want it to follow", err)
				}
				alice.WaitHeard("dragoman", "alice2", 1)
			} else {
				isNotSent(t, "Send to a stranger under the old nick", err)
			}
			mallory.Sync()
			if got := mallory.Heard("dragoman", "alice"); len(got) != 0 {
				t.Errorf("a stranger was told %q", got)
			}
		})
	}
}

// A stranger who takes the nick and writes too gets their own answers, and the person before
// them theirs.
func TestTwoPeopleUnderOneNick(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	b := startInGo(t, addr)
	alice := ircd.Join(t, addr, "alice", "#go")
	alice.Say("dragoman", "alice asks")
	alice.Raw("NICK alice2")
	alice.Sync()
	mallory := ircd.Join(t, addr, "mallory", "#go")
	mallory.Raw("NICK alice")
	mallory.Say("dragoman", "mallory asks")
	got := b.inbox.Wait(t, 2)
	for _, m := range got {
		if err := b.reply("irc:alice", "answer to "+m.Text, m.MessageID); err != nil {
			t.Errorf("Send = %v", err)
		}
		if err := b.reply("irc:alice", "its second piece", ""); err != nil {
			t.Errorf("Send of the second piece = %v", err)
		}
	}
	if diff := cmp.Diff([]string{"answer to alice asks", "its second piece"}, alice.WaitHeard("dragoman", "alice2", 2)); diff != "" {
		t.Errorf("alice heard (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"answer to mallory asks", "its second piece"}, mallory.WaitHeard("dragoman", "alice", 2)); diff != "" {
		t.Errorf("mallory heard (-want +got):\n%s", diff)
	}
}

func TestPersonLeavesAndComesBack(t *testing.T) {
	srv, addr := serve(t, ircd.Config{})
	b := startInGo(t, addr)
	alice := ircd.Join(t, addr, "alice", "#go")
	alice.Say("dragoman", "a question")
	m := b.inbox.Wait(t, 1)[0]
	alice.Raw("QUIT")
	testkit.Eventually(t, "alice to be gone", func() bool { return !slices.Contains(srv.Nicks(), "alice") })
	isNotSent(t, "Send to somebody who left", b.reply("irc:alice", "the answer", m.MessageID))

	// The first may have been said to the nick, before the network's word that alice has left.
	isNotSent(t, "Send again at once", b.reply("irc:alice", "the answer", m.MessageID))
	if n := lookups(srv); n > 1 {
		t.Errorf("it looked for them %d times within moments", n)
	}
	b.forget()
	stranger := ircd.Join(t, addr, "stranger")
	stranger.Raw("NICK alice")
	stranger.Sync()
	err := b.reply("irc:alice", "the answer", m.MessageID)
	isNotSent(t, "Send when a stranger has the nick", err)
	if err != nil && !strings.Contains(err.Error(), "somebody else has the nick") {
		t.Errorf("Send = %v, want it to say why", err)
	}
	stranger.Raw("NICK stranger")
	stranger.Sync()
	b.forget()

	again := ircd.Join(t, addr, "alice")
	if err := b.reply("irc:alice", "the answer", m.MessageID); err != nil {
		t.Errorf("Send to somebody who came back = %v, want nil", err)
	}
	again.WaitHeard("dragoman", "alice", 1)
	stranger.Sync()
	if got := stranger.Heard("dragoman", "alice"); len(got) != 0 {
		t.Errorf("the stranger was told %q", got)
	}
}

// After a restart the bot knows nobody, but the message being answered identifies its writer.
func TestAnswerAfterRestart(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: modern})
	b := start(t, quick(addr))
	alice := ircd.Join(t, addr, "alice")
	srv.SetAccount("alice", "acct")
	alice.Say("dragoman", "a question")
	m := b.inbox.Wait(t, 1)[0]
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	alice.Raw("NICK other")
	alice.Sync()
	mallory := ircd.Join(t, addr, "mallory")
	mallory.Raw("NICK alice")
	mallory.Sync()
	b = start(t, quick(addr))
	isNotSent(t, "Send to a stranger", b.reply("irc:alice", "the answer", m.MessageID))
	b.forget()
	mallory.Close()
	testkit.Eventually(t, "mallory to be gone", func() bool { return !slices.Contains(srv.Nicks(), "alice") })
	alice.Raw("NICK alice")
	alice.Sync()
	if err := b.reply("irc:alice", "the answer", m.MessageID); err != nil {
		t.Errorf("Send to the same person = %v, want nil", err)
	}
	alice.WaitHeard("dragoman", "alice", 1)
}

// An account is recognised under another host; another account is a stranger even with the
// same user and host.
func TestAccountDecides(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: modern})
	b := start(t, quick(addr))
	srv.Inject("dragoman", "@account=acct :alice!a@old.example PRIVMSG dragoman :from home")
	m := b.inbox.Wait(t, 1)[0]
	alice := ircd.Join(t, addr, "alice")
	b.forget()
	isNotSent(t, "Send without any likeness", b.reply("irc:alice", "x", m.MessageID))
	b.forget()
	srv.SetAccount("alice", "Acct")
	if err := b.reply("irc:alice", "the answer", m.MessageID); err != nil {
		t.Errorf("Send to the same account = %v, want nil", err)
	}
	srv.SetAccount("alice", "another")
	b.forget()
	isNotSent(t, "Send to another account", b.reply("irc:alice", "y", m.MessageID))
	if diff := cmp.Diff([]string{"the answer"}, alice.WaitHeard("dragoman", "alice", 1)); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

// lookups counts the WHOIS requests so far.
func lookups(srv *ircd.Server) (n int) {
	for _, l := range srv.Heard("dragoman") {
		if strings.HasPrefix(l, "WHOIS") {
			n++
		}
	}
	return n
}

// A long answer to somebody who shares no channel with us needs one WHOIS, and in a shared
// channel none: without WHOX the bot sends a plain WHO.
func TestOneLookUpAnAnswer(t *testing.T) {
	srv, addr := serve(t, ircd.Config{})
	early := ircd.Join(t, addr, "early", "#go") // here before us
	b := startInGo(t, addr)
	if !srv.WaitHeard("dragoman", "WHO #go", 1, 10*time.Second) {
		t.Errorf("said %q, want WHO for those who were there before", srv.Heard("dragoman"))
	}
	alice := ircd.Join(t, addr, "alice")
	alice.Say("dragoman", "a question")
	early.Say("dragoman", "another one")
	got := b.inbox.Wait(t, 2)
	b.forget() // The last sign of life is old by now.
	for range 10 {
		if err := b.reply("irc:alice", "a line", got[0].MessageID); err != nil {
			t.Fatalf("Send = %v", err)
		}
		b.age(time.Second * 6)
	}
	if n := lookups(srv); n != 1 {
		t.Errorf("it looked for one person %d times, want once", n)
	}
	for range 3 {
		if err := b.reply("irc:early", "a line", got[1].MessageID); err != nil {
			t.Fatalf("Send = %v", err)
		}
		b.age(time.Second * 6)
	}
	if n := lookups(srv); n != 1 {
		t.Errorf("it looked %d times for somebody in its room", n-1)
	}
}

// The answer reaches a person who comes back under another nick as soon as they write, or at
// the next attempt if MONITOR sees them.
func TestAnswerFollowsWhoWritesAgain(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Support: []string{"MONITOR=100"}})
	b := start(t, quick(addr))
	alice := ircd.Join(t, addr, "alice")
	alice.Say("dragoman", "a question")
	m := b.inbox.Wait(t, 1)[0]
	alice.Raw("NICK ally")
	alice.Sync()
	b.forget()
	isNotSent(t, "Send to somebody who renamed unseen", b.reply("irc:alice", "the answer", m.MessageID))
	if !srv.WaitHeard("dragoman", "MONITOR + alice", 1, 10*time.Second) {
		t.Errorf("said %q, want MONITOR", srv.Heard("dragoman"))
	}
	alice.Say("dragoman", "are you there?")
	b.inbox.Wait(t, 2)
	if err := b.reply("irc:alice", "the answer", m.MessageID); err != nil {
		t.Errorf("Send after they wrote = %v, want it to follow", err)
	}
	alice.WaitHeard("dragoman", "ally", 1)

	alice.Raw("NICK gone")
	alice.Sync()
	b.forget()
	isNotSent(t, "Send to somebody who renamed unseen", b.reply("irc:alice", "more", m.MessageID))
	alice.Raw("NICK ally")
	alice.Sync()
	srv.Inject("dragoman", ":irc.test 730 dragoman :ally!~alice@host.test")
	testkit.Eventually(t, "the answer to arrive", func() bool { return b.reply("irc:alice", "more", m.MessageID) == nil })
}
