package irc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"
)

// Case 53: a server that echoes our messages must not make us talk to ourselves, whatever our
// nick is. Somebody who takes a former nick of ours is another person.
func TestCase53OwnWordsUnderEveryNick(t *testing.T) {
	_, addr := serve(t, ircd.Config{Caps: modern})
	squatter := ircd.Join(t, addr, "dragoman", "#go")
	o := quick(addr)
	o.Channels = []string{"#go"}
	o.Everything = true
	o.RegainEvery = time.Hour
	b := start(t, o)
	b.waitStatus("under another name", func(s channels.Status) bool { return strings.Contains(s.Detail, "called dragoman_") })
	b.waitIn("irc:#go")
	b.say("irc:#go", "dragoman_: dragoman: are you there?")
	b.say("irc:dragoman_", "a letter to myself")

	squatter.Raw("NICK elsewhere")
	b.waitStatus("under its own name", func(s channels.Status) bool { return s.Detail == "" })
	b.say("irc:#go", "dragoman: dragoman_: and now?")
	b.say("irc:dragoman", "a letter to myself")

	ircd.Join(t, addr, "dragoman_", "#go").Say("#go", "dragoman: I am not you")
	b.inbox.Wait(t, 1)
	if diff := cmp.Diff([]string{"I am not you"}, b.inbox.Texts()); diff != "" {
		t.Errorf("handed in (-want +got):\n%s", diff)
	}
}

// If a network names logged-in users after their account, the status does not say that our
// nick is taken.
func TestNickByTheNetwork(t *testing.T) {
	srv, addr := serve(t, ircd.Config{})
	b := start(t, quick(addr))
	srv.Inject("dragoman", ":dragoman!d@h NICK robot")
	b.waitStatus("called robot by the network", func(s channels.Status) bool {
		return strings.Contains(s.Detail, "called robot and not dragoman: the network wants it so")
	})
}
