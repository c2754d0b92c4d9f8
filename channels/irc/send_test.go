package irc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
	"dragoman/channels/irc"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// If the network echoes, the echo confirms and no PING is sent.
func TestEchoConfirms(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: modern})
	b := start(t, quick(addr))
	alice := ircd.Join(t, addr, "alice")
	b.say("irc:alice", "**hello**")
	alice.WaitHeard("dragoman", "alice", 1)
	for _, l := range srv.Heard("dragoman") {
		if strings.HasPrefix(l, "PING ") {
			t.Errorf("it spent %q", l)
		}
	}
	if got := b.inbox.Texts(); len(got) != 0 {
		t.Errorf("it heard its own echo as %q", got)
	}
}

// Without a confirmation the attempt is uncertain, with echoes and without.
func TestNotConfirmed(t *testing.T) {
	for name, caps := range map[string][]string{"ping": nil, "echo": modern} {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, ircd.Config{Caps: caps})
			o := quick(addr)
			o.ConfirmTimeout = 100 * time.Millisecond
			b := start(t, o)
			srv.Deafen(true)
			err := b.send("irc:alice", "hello")
			srv.Deafen(false)
			var notSent *channels.NotSent
			if err == nil || errors.As(err, &notSent) || errors.Is(err, channels.ErrPermanent) {
				t.Errorf("Send = %v, want an uncertain error", err)
			}
		})
	}
}

// If the connection ends before the confirmation, the attempt is uncertain, and the error
// does not take over the class of the connection's error.
func TestCutBeforeConfirmation(t *testing.T) {
	srv, addr := serve(t, ircd.Config{})
	b := start(t, quick(addr))
	srv.Deafen(true)
	done := make(chan error, 1)
	go func() { done <- b.send("irc:alice", "hello") }()
	testkit.Eventually(t, "the line to be under way", func() bool { return b.ch.Pending() == 1 })
	srv.Cut()
	var notSent *channels.NotSent
	if err := <-done; err == nil || errors.As(err, &notSent) || errors.Is(err, channels.ErrPermanent) {
		t.Errorf("Send = %v, want an uncertain error", err)
	}
	srv.Deafen(false)
}

func TestRefusalsByClass(t *testing.T) {
	for name, test := range map[string]struct {
		line      string
		permanent bool
		after     time.Duration
	}{
		"no such nick":    {":irc.test 401 dragoman alice :No such nick", false, 0},
		"caller id":       {":irc.test 716 dragoman alice :has +g", false, 0},
		"not to user":     {":irc.test 531 dragoman ALICE :You cannot", false, 0},
		"too many":        {":irc.test 407 dragoman alice :Too many targets", true, 0},
		"too long":        {":irc.test 417 dragoman :Input line was too long", true, 0},
		"too fast":        {":irc.test 439 dragoman alice :Message target change too fast. Please wait 42 seconds", false, 42 * time.Second},
		"try again":       {":irc.test 263 dragoman PRIVMSG :Please wait a while", false, 10 * time.Second},
		"fail":            {":irc.test FAIL PRIVMSG CANNOT_SEND alice :No", false, 0},
		"fail, no target": {":irc.test FAIL PRIVMSG BUSY :No", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, ircd.Config{})
			b := start(t, quick(addr))
			srv.Deafen(true)
			done := make(chan error, 1)
			go func() { done <- b.send("irc:alice", "hello") }()
			testkit.Eventually(t, "the line to be under way", func() bool { return b.ch.Pending() == 1 })
			// Refusals of other things come first and must not be taken for it.
			srv.Inject("dragoman", ":irc.test 401 dragoman NickServ :No such nick")
			srv.Inject("dragoman", ":irc.test 404 dragoman #go :Cannot send")
			srv.Inject("dragoman", ":irc.test 461 dragoman WHO :Not enough parameters")
			srv.Inject("dragoman", ":irc.test FAIL JOIN X alice :No")
			srv.Inject("dragoman", test.line)
			err := <-done
			srv.Deafen(false)
			var (
				retry   *channels.Retry
				notSent *channels.NotSent
			)
			if errors.Is(err, channels.ErrPermanent) != test.permanent || errors.As(err, &notSent) == test.permanent {
				t.Errorf("Send = %v, want permanent %v and NotSent otherwise", err, test.permanent)
			}
			if errors.As(err, &retry) != (test.after > 0) || test.after > 0 && retry.After != test.after {
				t.Errorf("Send = %v, want to come back after %s", err, test.after)
			}
		})
	}
}

// A text longer than one piece is sent whole; the first refusal ends it.
func TestSendOfUncutText(t *testing.T) {
	srv, addr := serve(t, ircd.Config{})
	b := start(t, quick(addr))
	alice := ircd.Join(t, addr, "alice")
	if err := b.send("irc:alice", "one\n\n```\n  two\n\n```\n```\n  a\nb\n```\n"+strings.Repeat("three ", 100)); err != nil {
		t.Fatalf("Send = %v", err)
	}
	if got := alice.WaitHeard("dragoman", "alice", 8); got[0] != "one" || got[1] != "`two`" || got[3] != "  a" {
		t.Errorf("heard %q", got)
	}
	if err := b.send("irc:alice", "\n```\n\n```\n"); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("Send of nothing = %v, want permanent", err)
	}
	for _, l := range srv.Heard("dragoman") {
		if len(l) > 510 {
			t.Errorf("it sent %d bytes", len(l))
		}
	}
}

// A line leaves room for the prefix that the server adds: even with the longest host the
// server truncates neither pieces nor a text sent whole.
func TestNothingIsCutByTheServer(t *testing.T) {
	for name, room := range map[string]string{"room": "#go", "person": "alice"} {
		t.Run(name, func(t *testing.T) {
			_, addr := serve(t, ircd.Config{Host: strings.Repeat("h", 63)})
			b := startInGo(t, addr)
			alice := ircd.Join(t, addr, "alice", "#go")
			text := strings.Repeat("0123456789", 120)
			b.say("irc:"+room, text)
			if err := b.send("irc:"+room, text); err != nil {
				t.Fatalf("Send = %v", err)
			}
			testkit.Eventually(t, "both texts to be whole", func() bool {
				return strings.Join(alice.Heard("dragoman", room), "") == text+text
			})
		})
	}
}

// The flood budget is slow: a caller with a short deadline is told when to retry, and nothing
// was sent.
func TestFloodBudget(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	o := quick(addr)
	o.FloodBurst, o.FloodEvery = 2, time.Hour
	b := start(t, o)
	alice := ircd.Join(t, addr, "alice")
	for i := range 3 {
		err := b.send("irc:alice", fmt.Sprintf("line %d", i))
		if i < 2 {
			if err != nil {
				t.Errorf("Send(%d) = %v, want nil", i, err)
			}
			continue
		}
		var (
			retry   *channels.Retry
			notSent *channels.NotSent
		)
		if !errors.As(err, &retry) || !errors.As(err, &notSent) || retry.After < 59*time.Minute {
			t.Errorf("Send(%d) = %v, want NotSent with Retry", i, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := b.ch.Send(ctx, channels.Outbound{Key: channels.MustKey("irc:alice"), Text: "waits"})
		done <- err
	}()
	cancel()
	isNotSent(t, "Send whose context ended", <-done)
	if diff := cmp.Diff([]string{"line 0", "line 1"}, alice.WaitHeard("dragoman", "alice", 2)); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

func TestNewRefuses(t *testing.T) {
	for what, o := range map[string]irc.Options{"no server": {Nick: "dragoman"}, "no nick": {Server: "irc.example.org:6667"}} {
		if _, err := irc.New("irc", o); err == nil {
			t.Errorf("New with %s = nil, want an error", what)
		}
	}
	if _, err := irc.New("a b", irc.Options{Server: "irc.example.org:6667", Nick: "dragoman"}); err == nil {
		t.Error("New with a bad name = nil, want an error")
	}
}

// The server's PING is answered at once, whatever waits for the flood budget.
func TestPong(t *testing.T) {
	srv, addr := serve(t, ircd.Config{})
	o := quick(addr)
	o.FloodBurst, o.FloodEvery = 1, time.Hour
	start(t, o)
	for _, token := range []string{"abc", "with some words"} {
		srv.Inject("dragoman", "PING :"+token)
		if !srv.WaitHeard("dragoman", "PONG", 1, time.Minute) {
			t.Fatalf("PING %q was not answered", token)
		}
	}
	testkit.Eventually(t, "both answers", func() bool {
		got := strings.Join(srv.Heard("dragoman"), "\n")
		return strings.Contains(got, "PONG abc") && strings.Contains(got, "PONG :with some words")
	})
}

// A target that is not a single name is never sent.
func TestTargetsAreChecked(t *testing.T) {
	srv, addr := serve(t, ircd.Config{})
	b := start(t, quick(addr))
	for _, chat := range []string{"a b", "a,b", "$x", ":x", "a*", "a?", "#", "a :b", strings.Repeat("x", 201)} {
		if err := b.send("irc:"+chat, "hello"); !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("Send to %q = %v, want permanent", chat, err)
		}
	}
	for _, l := range srv.Heard("dragoman") {
		if strings.HasPrefix(l, "PRIVMSG") {
			t.Errorf("it sent %q", l)
		}
	}
}

// The first line of an answer in a channel carries the id of the message it answers, so that
// clients show both together. In private, or without such tags, no line does.
func TestReplyTag(t *testing.T) {
	for name, test := range map[string]struct {
		caps, want []string
	}{
		"tags":    {modern, []string{"@+draft/reply=id1 PRIVMSG #go :eve: one", "PRIVMSG #go two", "PRIVMSG eve one", "PRIVMSG eve two"}},
		"no tags": {nil, []string{"PRIVMSG #go :eve: one", "PRIVMSG #go two", "PRIVMSG eve one", "PRIVMSG eve two"}},
	} {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, ircd.Config{Caps: test.caps})
			b := startInGo(t, addr)
			eve := ircd.Join(t, addr, "eve", "#go")
			eve.Sync()
			srv.Inject("dragoman", "@msgid=id1 :eve!~eve@h PRIVMSG #go :dragoman: hi")
			srv.Inject("dragoman", "@msgid=id2 :eve!~eve@h PRIVMSG dragoman :hi")
			for i, m := range b.inbox.Wait(t, 2) {
				if err := b.reply([]string{"irc:#go", "irc:eve"}[i], "one\ntwo", m.MessageID); err != nil {
					t.Errorf("Send = %v", err)
				}
			}
			var got []string
			for _, l := range srv.Heard("dragoman") {
				if strings.Contains(l, "PRIVMSG") {
					got = append(got, l)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("it sent (-want +got):\n%s", diff)
			}
		})
	}
}

// A line that was written and that the server does not confirm may have arrived: it must not
// count as not sent, or it would be repeated without a mark.
func TestUnconfirmedLineIsUncertain(t *testing.T) {
	for name, conf := range map[string]ircd.Config{
		"an echo that does not come": {Caps: modern, NoEcho: true},
		"no answer to a PING":        {Caps: []string{"message-tags"}, NoPong: "dragoman"},
	} {
		for _, to := range []string{"alice", "#go"} {
			t.Run(name+", "+to, func(t *testing.T) {
				_, addr := serve(t, conf)
				alice := ircd.Join(t, addr, "alice", "#go")
				o := quick(addr)
				o.ConfirmTimeout = 200 * time.Millisecond
				if to == "#go" {
					o.Channels = []string{to}
				}
				b := start(t, o)
				if to == "#go" {
					b.waitIn("irc:#go")
				}
				err := b.send("irc:"+to, "did you get this?")
				var notSent *channels.NotSent
				if err == nil || errors.As(err, &notSent) || errors.Is(err, channels.ErrPermanent) {
					t.Errorf("Send of a line that is not confirmed = %v, want an error that leaves it open", err)
				}
				if got := alice.WaitHeard("dragoman", to, 1); got[0] != "did you get this?" {
					t.Errorf("alice heard %q", got)
				}
			})
		}
	}
}

// Until the server has told us our host, a line leaves room for the longest one: servers cut
// what is too long with our name before it.
func TestLinesFitAnUnknownHost(t *testing.T) {
	for _, host := range []int{63, 62, 30, 1} {
		t.Run(fmt.Sprint(host), func(t *testing.T) { linesFitHost(t, host) })
	}
}

func linesFitHost(t *testing.T, host int) {
	_, addr := serve(t, ircd.Config{Host: strings.Repeat("h", host)})
	alice := ircd.Join(t, addr, "alice")
	b := start(t, quick(addr)) // in no channel, where it would see its own name
	words := strings.TrimSpace(strings.Repeat("word ", 300))
	if err := b.send("irc:alice", words); err != nil {
		t.Fatal(err)
	}
	b.say("irc:alice", "the end")
	heard := alice.WaitHeard("dragoman", "alice", 2)
	for heard[len(heard)-1] != "the end" {
		heard = alice.WaitHeard("dragoman", "alice", len(heard)+1)
	}
	if got := strings.Join(heard[:len(heard)-1], " "); got != words {
		t.Errorf("%d letters of %d arrived: %q", len(got), len(words), heard)
	}
}
