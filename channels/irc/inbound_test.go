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

var modern = []string{"message-tags", "server-time", "account-tag", "echo-message", "extended-join", "account-notify", "batch"}

func TestAccounts(t *testing.T) {
	const mask = "mask:alice!~alice@host.test"
	for name, caps := range map[string][]string{
		"tags":             {"account-tag", "message-tags"},
		"joins and notify": {"extended-join", "account-notify"},
		"WHOX":             {"account-notify"},
	} {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, ircd.Config{Caps: caps, Support: []string{"WHOX"}})
			var alice *ircd.Person
			early := name == "WHOX" // she is there before us
			join := func() {
				alice = ircd.Join(t, addr, "alice")
				srv.SetAccount("alice", "Alice[1]")
				alice.Raw("JOIN #go")
				alice.Sync()
			}
			if early {
				join()
			}
			b := startInGo(t, addr)
			if early {
				srv.WaitHeard("dragoman", "WHO", 1, time.Minute)
				if err := b.send("irc:#go", "after the WHO's answer"); err != nil {
					t.Fatal(err)
				}
			} else {
				join()
			}
			alice.Say("#go", "dragoman: one")
			srv.SetAccount("alice", "")
			alice.Say("#go", "dragoman: two")
			srv.SetAccount("alice", "alice2")
			alice.Say("dragoman", "three")
			want := [][]string{{"account:alice{1}", mask}, {mask}, {"account:alice2", mask}}
			var got [][]string
			for _, m := range b.inbox.Wait(t, 3) {
				got = append(got, m.Sender.IDs)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Sender.IDs (-want +got):\n%s", diff)
			}
		})
	}
}

// An account of "*" or "0" means none, and a tag that was not negotiated proves nothing.
func TestNoAccount(t *testing.T) {
	for name, test := range map[string]struct {
		caps []string
		tag  string
	}{
		"star":       {modern, "account=*"},
		"empty":      {modern, "account="},
		"client tag": {modern, "+account=root"},
		"not agreed": {[]string{"message-tags"}, "account=root"},
	} {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, ircd.Config{Caps: test.caps})
			b := start(t, quick(addr))
			srv.Inject("dragoman", "@"+test.tag+" :mallory!m@evil.test PRIVMSG dragoman :let me in")
			if diff := cmp.Diff([]string{"mask:mallory!m@evil.test"}, b.inbox.Wait(t, 1)[0].Sender.IDs); diff != "" {
				t.Errorf("Sender.IDs (-want +got):\n%s", diff)
			}
		})
	}
}

// Any "!word" that is said to us alone is a command, known or not. In a channel it may be
// for another bot.
func TestCommandWords(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	b := startInGo(t, addr)
	alice := ircd.Join(t, addr, "alice", "#go")
	for _, c := range []struct{ to, said, want string }{
		{"dragoman", "!model x", "/model x"},
		{"dragoman", "!NEW", "/new"},
		{"dragoman", "!= is what?", "!= is what?"},
		{"dragoman", "!a.b", "!a.b"},
		{"#go", "dragoman: !model", "/model"},
		{"#go", "dragoman, !help", "/help"},
		{"#go", "dragoman: !more", "!more"},
		{"#go", "!model", "!model"},
		{"#go", "!help", "!help"},
	} {
		before := len(b.inbox.Messages())
		alice.Say(c.to, c.said)
		if got := b.inbox.Wait(t, before+1)[before]; got.Text != c.want {
			t.Errorf("%q to %s is taken as %q, want %q", c.said, c.to, got.Text, c.want)
		}
	}
}

func TestCaseMapping(t *testing.T) {
	for mapping, want := range map[string][2]string{
		"":               {"irc:#g{o}~", "irc:a{b}|~"},
		"rfc1459":        {"irc:#g{o}~", "irc:a{b}|~"},
		"rfc1459-strict": {"irc:#g{o}^", "irc:a{b}|^"},
		"ascii":          {"irc:#g[o]^", `irc:a[b]\^`},
	} {
		t.Run("mapping "+mapping, func(t *testing.T) {
			_, addr := serve(t, ircd.Config{CaseMapping: mapping})
			o := quick(addr)
			o.Channels = []string{"#G[o]^"}
			b := start(t, o)
			b.waitIn(want[0])
			p := ircd.Join(t, addr, `A[B]\^`, "#g[O]^")
			p.Say("#g[o]^", "DRAGOMAN: hi")
			p.Say("dragoman", "hi")
			got := b.inbox.Wait(t, 2)
			if got[0].Key.String() != want[0] || got[1].Key.String() != want[1] || !got[0].Addressed {
				t.Errorf("keys = %s, %s (addressed %v), want %v", got[0].Key, got[1].Key, got[0].Addressed, want)
			}
			b.say(want[0], "to the channel")
			b.say(want[1], "to the person")
			p.WaitHeard("dragoman", `A[B]\^`, 1)
		})
	}
}

// History that a server plays back is ignored.
func TestPlaybackIsDropped(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: modern})
	b := startInGo(t, addr)
	ago := time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")
	for _, line := range []string{
		"@time=" + ago + " :bob!b@h PRIVMSG #go :dragoman: old",
		"@time=" + ago + " :bob!b@h PRIVMSG dragoman :old in private",
		":irc.test BATCH +b1 chathistory #go",
		"@batch=b1 :bob!b@h PRIVMSG #go :dragoman: from history",
		":irc.test BATCH -b1",
		":irc.test BATCH +b2 znc.in/playback #go",
		"@batch=b2 :bob!b@h PRIVMSG #go :dragoman: from a bouncer",
		":irc.test BATCH -b2",
		":irc.test BATCH +b3 netjoin a b",
		"@batch=b3 :bob!b@h JOIN #go",
		":irc.test BATCH -b3",
		":bob!b@h PRIVMSG #go :dragoman: fresh",
	} {
		srv.Inject("dragoman", line)
	}
	b.inbox.Wait(t, 1)
	if diff := cmp.Diff([]string{"fresh"}, b.inbox.Texts()); diff != "" {
		t.Errorf("handed in (-want +got):\n%s", diff)
	}
}

// A multiline message, as modern clients send pasted text, is one message. Its first line
// addresses us.
func TestSeveralLines(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: append([]string{"draft/multiline=max-bytes=4096"}, modern...)})
	b := startInGo(t, addr)
	for _, line := range []string{
		"@msgid=one;account=bob :bob!b@h BATCH +m draft/multiline #go",
		"@batch=m :bob!b@h PRIVMSG #go :dragoman: what is",
		":eve!e@h BATCH +n draft/multiline dragoman",
		"@batch=n :eve!e@h PRIVMSG dragoman :a",
		"@batch=m :bob!b@h PRIVMSG #go :",
		"@batch=m;draft/multiline-concat :bob!b@h PRIVMSG #go :  wrong",
		"@batch=m;draft/multiline-concat :bob!b@h PRIVMSG #go : here?",
		":bob!b@h BATCH -m",
		"@batch=n :eve!e@h PRIVMSG dragoman :b",
		":eve!e@h BATCH -n",
		":bob!b@h BATCH +o draft/multiline #go",
		"@batch=o :bob!b@h NOTICE #go :dragoman: a notice",
		":bob!b@h BATCH -o",
		":irc.test BATCH +h chathistory #go",
		"@batch=h :bob!b@h BATCH +p draft/multiline #go",
		"@batch=p :bob!b@h PRIVMSG #go :dragoman: from history",
		"@batch=h :bob!b@h BATCH -p",
		":irc.test BATCH -h",
		":bob!b@h BATCH +q draft/multiline #go",
		"@batch=q :bob!b@h PRIVMSG #go :dragoman: never ends",
		":bob!b@h PRIVMSG dragoman :the last",
	} {
		srv.Inject("dragoman", line)
	}
	got := b.inbox.Wait(t, 3)
	if diff := cmp.Diff([]string{"what is\n  wrong here?", "a\nb", "the last"}, b.inbox.Texts()); diff != "" {
		t.Errorf("handed in (-want +got):\n%s", diff)
	}
	if m := got[0]; !m.Addressed || m.ID != "msgid-one" || !slices.Contains(m.Sender.IDs, "account:bob") {
		t.Errorf("the first is %+v, want it addressed, with the id and the account of its beginning", m)
	}
	if caps := strings.Join(srv.Heard("dragoman"), "\n"); !strings.Contains(caps, "draft/multiline") {
		t.Errorf("it asked for %q, want draft/multiline among it", caps)
	}
}

// Messages of these kinds get no answer and are not handed in, so a program on the other
// side cannot start a loop with us.
func TestSilence(t *testing.T) {
	srv, addr := serve(t, ircd.Config{})
	b := startInGo(t, addr)
	srv.WaitHeard("dragoman", "WHO #go", 1, time.Minute) // the last line that it says by itself
	before := len(srv.Heard("dragoman"))
	for _, line := range []string{
		"@bot :bob!b@h PRIVMSG dragoman :I am a program",
		"@inspircd.org/bot :bob!b@h PRIVMSG #go :dragoman: so am I",
		":bob!b@h PRIVMSG dragoman :\x01VERSION\x01",
		":bob!b@h PRIVMSG dragoman :\x01PING 12345\x01",
		":bob!b@h PRIVMSG dragoman :\x01VERSION",
		":bob!b@h PRIVMSG #go :\x01TIME\x01",
		":bob!b@h PRIVMSG dragoman :\x01DCC SEND x 1 2 3\x01",
		":bob!b@h NOTICE dragoman :dragoman: hello",
		":bob!b@h NOTICE #go :dragoman: hello",
		":bob!b@h NOTICE dragoman :\x01VERSION x\x01",
		":NickServ!s@s NOTICE dragoman :You are now identified",
		":irc.test PRIVMSG dragoman :from the server",
		":bob!b@h PRIVMSG $$* :to all servers",
		":bob!b@h PRIVMSG somebody :not for us",
		":bob!b@h PRIVMSG #other :dragoman: where we are not",
		":dragoman!d@h PRIVMSG #go :dragoman: our own words",
		":dragoman!d@h PRIVMSG dragoman :our own words",
		":bob!b@h PRIVMSG dragoman : \x02\x0f \x03",
		":bob!b@h PRIVMSG dragoman",
		":bob!b@h PRIVMSG",
		"PRIVMSG dragoman :from nobody",
		":bob!b@h KICK", ":bob!b@h MODE", ":irc.test 353", ":irc.test 311", "BATCH", "CAP", ":x 005", ":x 001x", ":x!y@z NICK",
		"@", "@a", ":", ": ", "\x00\x00", ":x", "@time=nonsense :x",
	} {
		srv.Inject("dragoman", line)
	}
	srv.Inject("dragoman", ":bob!b@h PRIVMSG dragoman :now answer")
	b.inbox.Wait(t, 1)
	b.send("irc:bob", "never reaches him") // refused, after everything above
	if diff := cmp.Diff([]string{"now answer"}, b.inbox.Texts()); diff != "" {
		t.Errorf("handed in (-want +got):\n%s", diff)
	}
	for _, line := range srv.Heard("dragoman")[before:] {
		if !strings.HasPrefix(line, "WHOIS") && !strings.HasPrefix(line, "PING ") && !strings.HasPrefix(line, "PRIVMSG bob :never") && !strings.HasPrefix(line, "PRIVMSG bob never") {
			t.Errorf("answered with %q", line)
		}
	}
}

// A message to the operators of a channel is ignored.
func TestActionsStatusMessagesAndColours(t *testing.T) {
	srv, addr := serve(t, ircd.Config{})
	b := startInGo(t, addr)
	for _, line := range []string{
		":Alice!a@h PRIVMSG #go :\x01ACTION waves\x01",
		":Alice!a@h PRIVMSG dragoman :\x01ACTION waves\x01",
		":Alice!a@h PRIVMSG @#go :dragoman: for operators",
		":Alice!a@h PRIVMSG #go :\x02drago\x02man\x0f: \x0304,12red\x03 and \x1fplain\x1f",
		":Alice!a@h PRIVMSG dragoman :caf\xe9",
	} {
		srv.Inject("dragoman", line)
	}
	var got []string
	for _, m := range b.inbox.Wait(t, 4) {
		got = append(got, fmt.Sprintf("%s|%s|%s|%v", m.Key, m.Prefix, m.Text, m.Addressed))
	}
	want := []string{
		"irc:#go||* Alice waves|false",
		"irc:alice||* Alice waves|false",
		"irc:#go|Alice: |red and plain|true",
		"irc:alice||café|false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("handed in (-want +got):\n%s", diff)
	}
}

func TestGroups(t *testing.T) {
	for everything, want := range map[bool][]string{
		false: {"idle talk|false", "direct|true", "private|false"},
		true:  {"idle talk|true", "direct|true", "private|false"},
	} {
		t.Run(fmt.Sprintf("everything %v", everything), func(t *testing.T) {
			_, addr := serve(t, ircd.Config{})
			o := quick(addr)
			o.Channels, o.Everything = []string{"#go"}, everything
			b := start(t, o)
			b.waitIn("irc:#go")
			alice := ircd.Join(t, addr, "alice", "#go")
			alice.Say("#go", "idle talk")
			alice.Say("#go", "dragoman: direct")
			alice.Say("dragoman", "private")
			var got []string
			for _, m := range b.inbox.Wait(t, len(want)) {
				got = append(got, fmt.Sprintf("%s|%v", m.Text, m.Addressed))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("handed in (-want +got):\n%s", diff)
			}
		})
	}
}

// A question that a client has cut into two lines is one question: the second line counts
// as addressed to us without our name. Lines of other people do not, nor does its writer's
// next line.
func TestCutQuestionGoesOn(t *testing.T) {
	_, addr := serve(t, ircd.Config{})
	b := startInGo(t, addr)
	anna, bob := ircd.Join(t, addr, "anna", "#go"), ircd.Join(t, addr, "bob", "#go")
	long := strings.TrimSpace(strings.Repeat("word ", 80))
	anna.Say("#go", "dragoman: "+long)
	bob.Say("#go", "what a long question")
	anna.Say("#go", "and so on?")
	anna.Say("#go", "bob: yes")
	anna.Say("#go", "dragoman: a short one")
	anna.Say("#go", "bob: indeed")
	type line struct {
		Text      string
		Addressed bool
		Album     string
	}
	var got []line
	for _, m := range b.inbox.Wait(t, 6) {
		got = append(got, line{m.Text, m.Addressed, m.Album})
	}
	want := []line{
		{long, true, "lines of anna"},
		{"what a long question", false, "lines of bob"},
		{"and so on?", true, "lines of anna"},
		{"bob: yes", false, "lines of anna"},
		{"a short one", true, "lines of anna"},
		{"bob: indeed", false, "lines of anna"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("handed in (-want +got):\n%s", diff)
	}
	if short, full := b.ch.Pause(channels.Inbound{Text: "hi"}), b.ch.Pause(channels.Inbound{Text: long}); short != 1500*time.Millisecond || full != 3*time.Second {
		t.Errorf("it pauses %s after a short line and %s after a full one, want 1.5 s and 3 s", short, full)
	}
}

func TestIDs(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: []string{"message-tags"}})
	seen := map[string]bool{}
	for range 2 { // the second stands for a restart
		b := start(t, quick(addr))
		alice := ircd.Join(t, addr, "alice")
		alice.Say("dragoman", "tagged")
		srv.Inject("dragoman", ":bob!b@h PRIVMSG dragoman :bare")
		srv.Inject("dragoman", ":bob!b@h PRIVMSG dragoman :bare")
		for _, m := range b.inbox.Wait(t, 3) {
			if seen[m.ID] {
				t.Errorf("ID %q came twice", m.ID)
			}
			seen[m.ID] = true
		}
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		alice.Close()
		testkit.Eventually(t, "alice to be gone", func() bool { return len(srv.Nicks()) == 0 })
	}
}

// A message that the network delivers twice is stored once.
func TestSameMsgid(t *testing.T) {
	srv, addr := serve(t, ircd.Config{Caps: []string{"message-tags"}})
	b := start(t, quick(addr))
	for range 2 {
		srv.Inject("dragoman", "@msgid=abc :bob!b@h PRIVMSG dragoman :once")
	}
	srv.Inject("dragoman", "@msgid=abd :bob!b@h PRIVMSG dragoman :next")
	b.inbox.Wait(t, 2)
	if diff := cmp.Diff([]string{"once", "next"}, b.inbox.Texts()); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestLinesTooLongAreSkipped(t *testing.T) {
	srv, addr := serve(t, ircd.Config{})
	b := start(t, quick(addr))
	srv.Inject("dragoman", ":bob!b@h PRIVMSG dragoman :"+strings.Repeat("x", 1<<20))
	srv.Inject("dragoman", ":bob!b@h PRIVMSG dragoman :short")
	b.inbox.Wait(t, 1)
	if diff := cmp.Diff([]string{"short"}, b.inbox.Texts()); diff != "" {
		t.Errorf("handed in (-want +got):\n%s", diff)
	}
	if s := b.ch.Status(); s.State != channels.StateConnected {
		t.Errorf("Status = %+v, want connected", s)
	}
}
