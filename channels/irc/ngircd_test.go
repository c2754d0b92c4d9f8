package irc_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	tcp "net"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
	"dragoman/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

func TestRealChannels(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{Locked: "#locked"})
	o := quick(srv.Addr())
	o.Channels = []string{"#Go", "#locked sesame"}
	b := start(t, o)
	b.waitIn("irc:#go", "irc:#locked")
	alice := ircd.Join(t, srv.Addr(), "Alice", "#go", "#locked sesame")

	alice.Say("#GO", "just talking")
	alice.Say("#go", "Dragoman: what is Go?")
	alice.Say("#locked", "dragoman, !new")
	alice.Say("dragoman", "!help me")
	type heard struct {
		Key, Text, Prefix  string
		Addressed, Private bool
	}
	want := []heard{
		{"irc:#go", "just talking", "Alice: ", false, false},
		{"irc:#go", "what is Go?", "Alice: ", true, false},
		{"irc:#locked", "/new", "Alice: ", true, false},
		{"irc:alice", "/help me", "", false, true},
	}
	var got []heard
	for _, m := range b.inbox.Wait(t, len(want)) {
		got = append(got, heard{m.Key.String(), m.Text, m.Prefix, m.Addressed, m.Private})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("handed in (-want +got):\n%s", diff)
	}
	b.say("irc:#go", "in **the** channel")
	b.say("irc:#locked", "in the locked one")
	b.say("irc:alice", "in private")
	if got := alice.WaitHeard("dragoman", "#Go", 1); got[0] != "in \x02the\x02 channel" {
		t.Errorf("channel talk = %q", got)
	}
	alice.WaitHeard("dragoman", "#locked", 1)
	alice.WaitHeard("dragoman", "Alice", 1)
}

// waitIn waits until b can send to the channels.
func (b *bot) waitIn(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		testkit.Eventually(b.t, "being in "+k, func() bool {
			err := b.ch.CanTalk(channels.MustKey(k))
			return err == nil
		})
	}
}

func TestRealLongReplies(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	o := quick(srv.Addr())
	o.Channels, o.MaxLines = []string{"#go"}, -1
	b := start(t, o)
	b.waitIn("irc:#go")
	alice := ircd.Join(t, srv.Addr(), "alice", "#go")
	code := "func main() {\n\tfor {\n\t    fmt.Println(\"\u4e16\u754c\")\n\t}\n}"
	for name, text := range map[string]string{
		"emoji":    strings.Repeat("👨‍👩‍👧‍👦", 300),
		"cjk":      strings.Repeat("漢字かな交じり文", 120),
		"cyrillic": strings.Repeat("Привет мир ", 60) + "конец",
		"accents":  strings.Repeat("é", 600),
		"code":     "Look:\n\n```go\n" + code + "\n```\nThat is all.",
		"many":     strings.TrimSpace(strings.Repeat("a line\n", 60)),
	} {
		t.Run(name, func(t *testing.T) {
			before := len(alice.Heard("dragoman", "#go"))
			b.say("irc:#go", text)
			alice.Sync()
			got := alice.Heard("dragoman", "#go")[before:]
			switch name {
			case "code":
				want := append([]string{"Look:", "```go"}, strings.Split(strings.ReplaceAll(code, "\t", "    "), "\n")...)
				if diff := cmp.Diff(append(want, "```", "That is all."), got); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
			case "many":
				if len(got) != 60 {
					t.Errorf("%d lines arrived, want 60", len(got))
				}
			default:
				if joined := strings.Join(got, ""); strings.ReplaceAll(joined, " ", "") != strings.ReplaceAll(text, " ", "") {
					t.Errorf("%d lines arrived and are not the whole text", len(got))
				}
			}
			if s := b.ch.Status(); s.State != channels.StateConnected {
				t.Errorf("Status = %+v, want still connected", s)
			}
		})
	}
	for _, l := range alice.Lines() {
		if len(l) > 510 {
			t.Errorf("a line of %d bytes arrived", len(l))
		}
	}
}

func TestRealNickTakenAndRegained(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	squatter := ircd.Join(t, srv.Addr(), "dragoman")
	other := ircd.Join(t, srv.Addr(), "wyrm")
	underscore := ircd.Join(t, srv.Addr(), "dragoman_")
	o := quick(srv.Addr())
	o.AltNicks = []string{"wyrm"}
	b := start(t, o)
	b.waitStatus("under a third name", func(s channels.Status) bool { return strings.Contains(s.Detail, "called dragoman__") })
	squatter.Close()
	b.waitStatus("under its own name", func(s channels.Status) bool {
		return s.State == channels.StateConnected && s.Detail == ""
	})
	other.Say("dragoman", "are you back?")
	b.inbox.Wait(t, 1)
	underscore.Close()
}

func TestRealNickRegainedWhenHolderLeaves(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	squatter := ircd.Join(t, srv.Addr(), "dragoman", "#go")
	o := quick(srv.Addr())
	o.Channels, o.RegainEvery = []string{"#go"}, time.Hour
	b := start(t, o)
	b.waitIn("irc:#go")
	squatter.Raw("NICK elsewhere")
	b.waitStatus("under its own name", func(s channels.Status) bool { return s.Detail == "" })
}

func TestRealKillAndRejoin(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	b := startInGo(t, srv.Addr())
	alice := ircd.Join(t, srv.Addr(), "alice", "#go")
	kill(t, srv.Addr(), "dragoman")
	alice.WaitLine("the kill", func(l string) bool { return strings.HasPrefix(l, ":dragoman!") && strings.Contains(l, " QUIT ") })
	testkit.Eventually(t, "talking again", func() bool { return b.send("irc:#go", "back again") == nil })
	alice.Say("#go", "dragoman: welcome back")
	b.inbox.Wait(t, 1)
}

func TestRealServerRestart(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	b := startInGo(t, srv.Addr())
	srv.Stop()
	b.waitStatus("down", func(s channels.Status) bool { return s.State == channels.StateDown && s.Detail != "" })
	var notSent *channels.NotSent
	if err := b.send("irc:#go", "lost?"); !errors.As(err, &notSent) {
		t.Errorf("Send while down = %v, want NotSent", err)
	}
	srv.Restart()
	b.waitIn("irc:#go")
	alice := ircd.Join(t, srv.Addr(), "alice", "#go")
	b.say("irc:#go", "still here")
	alice.WaitHeard("dragoman", "#go", 1)
}

func TestRealKick(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	alice := ircd.Join(t, srv.Addr(), "alice", "#go") // the first one in is its operator
	b := startInGo(t, srv.Addr())
	alice.Raw("MODE #go +i")
	alice.Raw("KICK #go dragoman :out")
	b.waitStatus("kept out", func(s channels.Status) bool { return strings.Contains(s.Detail, "not in #go: it is invite-only") })
	var notSent *channels.NotSent
	if err := b.send("irc:#go", "hello?"); !errors.As(err, &notSent) {
		t.Errorf("Send to a channel that we are not in = %v, want NotSent", err)
	}
	alice.Raw("MODE #go -i")
	b.waitIn("irc:#go")
	if s := b.ch.Status(); s.Detail != "" {
		t.Errorf("Status.Detail = %q after coming back, want none", s.Detail)
	}
}

func TestRealRefusedSends(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	alice := ircd.Join(t, srv.Addr(), "alice", "#go")
	b := startInGo(t, srv.Addr())
	alice.Raw("MODE #go +m")
	alice.Sync()
	var notSent *channels.NotSent
	if err := b.send("irc:#go", "moderated"); !errors.As(err, &notSent) || errors.Is(err, channels.ErrPermanent) {
		t.Errorf("Send to a moderated channel = %v, want NotSent and not permanent", err)
	}
	if err := b.send("irc:nobody", "hello"); !errors.As(err, &notSent) || errors.Is(err, channels.ErrPermanent) {
		t.Errorf("Send to nobody = %v, want NotSent and not permanent", err)
	}
	if err := b.send("irc:#elsewhere", "hello"); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("Send to a channel that is not configured = %v, want permanent", err)
	}
	for _, target := range []string{"irc:a b", "irc:a,b", "irc:$*", "irc::x"} {
		if err := b.send(target, "hello"); !errors.Is(err, channels.ErrPermanent) {
			t.Errorf("Send to %q = %v, want permanent", target, err)
		}
	}
	alice.Sync()
	if got := alice.Heard("dragoman", "#go"); len(got) != 0 {
		t.Errorf("alice heard %q, want nothing", got)
	}
}

// The server has its flood penalties on: the default budget must cope with them, and PONGs
// must be in time.
func TestRealFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s of real time")
	}
	t.Parallel()
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{Penalties: true})
	o := quick(srv.Addr())
	o.FloodBurst, o.FloodEvery = 0, 0 // the defaults
	b := start(t, o)
	alice := ircd.Join(t, srv.Addr(), "alice")
	var want []string
	for i := range 10 {
		text := fmt.Sprintf("line %d %s", i, strings.Repeat("word ", 70))
		want = append(want, strings.TrimSpace(text))
		if err := b.send("irc:alice", text); err != nil {
			t.Fatalf("Send(line %d) = %v", i, err)
		}
	}
	if diff := cmp.Diff(want, alice.WaitHeard("dragoman", "alice", 10)); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	if s := b.ch.Status(); s.State != channels.StateConnected {
		t.Errorf("Status = %+v, want still connected", s)
	}
}

func TestRealFrozenServer(t *testing.T) {
	srv := ircd.StartNgircd(t, ircd.NgircdOptions{})
	o := quick(srv.Addr())
	o.PingEvery = 300 * time.Millisecond
	o.PingTimeout = 300 * time.Millisecond
	o.ConfirmTimeout = 200 * time.Millisecond
	o.RegisterTimeout = time.Second
	b := start(t, o)
	alice := ircd.Join(t, srv.Addr(), "alice")
	srv.Freeze()
	var notSent *channels.NotSent
	if err := b.send("irc:alice", "into the void"); err == nil || errors.As(err, &notSent) || errors.Is(err, channels.ErrPermanent) {
		t.Errorf("Send to a frozen server = %v, want an uncertain error", err)
	}
	b.waitStatus("down", func(s channels.Status) bool { return strings.Contains(s.Detail, "silent") })
	srv.Thaw()
	b.waitConnected()
	testkit.Eventually(t, "talking again", func() bool { return b.send("irc:alice", "awake") == nil })
	alice.WaitLine("the answer", func(l string) bool { return strings.HasSuffix(l, "awake") })
}

func TestRealNetSplit(t *testing.T) {
	hubPort := testkit.FreePort(t)
	hub := ircd.StartNgircd(t, ircd.NgircdOptions{
		Port:  hubPort,
		Extra: "[Server]\nName = irc2.test.local\nMyPassword = a\nPeerPassword = b\n",
	})
	// The hub is there first: a server that finds no peer tries again much later.
	leaf := ircd.StartNgircd(t, ircd.NgircdOptions{
		Name:  "irc2.test.local",
		Extra: fmt.Sprintf("[Server]\nName = irc1.test.local\nHost = 127.0.0.1\nPort = %d\nMyPassword = b\nPeerPassword = a\n", hubPort),
	})
	b := startInGo(t, hub.Addr())
	near := ircd.Join(t, hub.Addr(), "near", "#go")
	far := ircd.Join(t, leaf.Addr(), "far")
	far.Raw("JOIN #go")
	near.WaitLine("far to be there", func(l string) bool { return strings.HasPrefix(l, ":far!") && strings.Contains(l, "JOIN") })
	far.Say("dragoman", "a question")
	b.inbox.Wait(t, 1)
	leaf.Stop()
	near.WaitLine("the split", func(l string) bool { return strings.HasPrefix(l, ":far!") && strings.Contains(l, "QUIT") })
	var notSent *channels.NotSent
	if err := b.send("irc:far", "the answer"); !errors.As(err, &notSent) {
		t.Errorf("Send to somebody behind the split = %v, want NotSent", err)
	}
	b.say("irc:#go", "we stay")
	near.WaitHeard("dragoman", "#go", 1)
	leaf.Restart()
	// A server that is being linked may disconnect new users.
	testkit.Eventually(t, "the other server to take people", func() bool { return welcomes(leaf.Addr()) })
	again := ircd.Join(t, leaf.Addr(), "far")
	testkit.Eventually(t, "the answer to find its person after the split", func() bool { return b.send("irc:far", "the answer") == nil })
	again.WaitHeard("dragoman", "far", 1)
}

// welcomes reports whether the server at addr accepts users.
func welcomes(addr string) bool {
	conn, err := tcp.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, "NICK early\r\nUSER early 0 * :early\r\n"); err != nil {
		return false
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if strings.Contains(lines.Text(), " 376 ") || strings.Contains(lines.Text(), " 422 ") {
			return true
		}
	}
	return false
}
