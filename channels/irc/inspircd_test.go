package irc_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/ircd"

	"github.com/google/go-cmp/cmp"
)

// On a network with modern modes: a channel that refuses formatting gets plain text; a full
// channel that forwards us is named in the status, and we leave the other one; we mark
// ourselves as a bot, and other bots get no answer.
func TestRealModes(t *testing.T) {
	t.Parallel()
	addr := ircd.StartInspircd(t)
	anna := ircd.Join(t, addr, "anna", "#plain", "#full", "#other")
	anna.Raw("MODE #plain +c")
	anna.Raw("MODE #full +lL 1 #other")
	anna.Sync()
	o := quick(addr)
	o.Channels = []string{"#plain", "#full"}
	// Three JOINs and PARTs within a second are too many for the server.
	o.RejoinDelay, o.RejoinMax = time.Minute, time.Minute
	b := start(t, o)
	b.waitIn("irc:#plain")
	b.waitStatus("not in #full", func(s channels.Status) bool {
		return strings.Contains(s.Detail, "not in #full: the network forwards us to #other")
	})
	anna.WaitLine("us leaving #other", func(l string) bool {
		return strings.HasPrefix(l, ":dragoman!") && strings.Contains(l, " PART ") && strings.Contains(l, "#other")
	})
	b.say("irc:#plain", "**one** *two*")
	if diff := cmp.Diff([]string{"one two"}, anna.WaitHeard("dragoman", "#plain", 1)); diff != "" {
		t.Errorf("the room heard (-want +got):\n%s", diff)
	}
	anna.Raw("WHOIS dragoman")
	anna.WaitLine("the mark of programs", func(l string) bool { return strings.Contains(l, " 335 ") })
	robot := ircd.Join(t, addr, "robot")
	robot.Raw("MODE robot +B")
	robot.Say("dragoman", "I am a program")
	anna.Say("dragoman", "I am not")
	b.inbox.Wait(t, 1)
	if diff := cmp.Diff([]string{"I am not"}, b.inbox.Texts()); diff != "" {
		t.Errorf("handed in (-want +got):\n%s", diff)
	}
}
