package story_test

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/channels/channeltest/ircd"
)

// A real IRC server: in a channel the bot answers who names it, and the model
// is told who speaks, and both who speak share one conversation; in private it
// just talks, which is another one, and answers to the nick.
func TestCase53IRC(t *testing.T) {
	server := ircd.StartNgircd(t, ircd.NgircdOptions{})
	h := newHouse(t, plan{})
	alice := ircd.Join(t, server.Addr(), "alice", "#go")
	joined := alice.WaitLine("her own JOIN", func(l string) bool { return strings.HasPrefix(l, ":alice!") && strings.Contains(l, " JOIN ") })
	mask, _, _ := strings.Cut(joined[1:], " ")
	h.configure(plan{channels: fmt.Sprintf(`allow: []
  libera:
    type: irc
    server: %s
    tls: false
    nick: dragoman
    channels: ["#go"]
    allow: ["chat:#go", "mask:%s"]
    system_prompt: "Be as brief as IRC."
    flood: {burst: 20, every: 10ms}`, server.Addr(), mask)})
	h.start()
	mallory := ircd.Join(t, server.Addr(), "mallory", "#go")
	alice.Say("#go", "good morning everybody #1")
	alice.Say("#go", "dragoman: what is a goroutine? #2")
	got := alice.WaitHeard("dragoman", "#go", 1)
	if len(got) != 1 || got[0] != "alice: echo: alice: what is a goroutine? #2" {
		t.Errorf("in the channel the bot says %q", got)
	}
	mallory.Say("#go", "dragoman, and a channel? #3")
	got = mallory.WaitHeard("dragoman", "#go", 2)
	if got[1] != "mallory: echo: mallory: and a channel? #3" {
		t.Errorf("in the channel the bot says %q", got[1])
	}
	mallory.Say("dragoman", "in private #4")
	alice.Say("dragoman", "hello in private #5")
	if got := alice.WaitHeard("dragoman", "alice", 1); got[0] != "echo: hello in private #5" {
		t.Errorf("in private the bot says %q", got)
	}
	mallory.Sync()
	if got := mallory.Heard("dragoman", "mallory"); len(got) != 0 {
		t.Errorf("a stranger is told %q in private", got)
	}
	list := h.dragoman("sessions", "list")
	if !strings.Contains(list, "libera:#go") || !strings.Contains(list, "libera:alice") || strings.Contains(list, "mallory") {
		t.Errorf("sessions list:\n%s\nwant #go and alice", list)
	}
	for _, m := range h.asked()[len(h.asked())-1].Messages {
		if strings.Contains(m.Content, "goroutine") {
			t.Errorf("in private the model reads %q of the channel", m.Content)
		}
	}
	if system := h.asked()[0].Messages[0].Content; !strings.Contains(system, "Be as brief as IRC.") {
		t.Errorf("the system prompt lacks the channel's own part: %q", system)
	}

	// The server goes away and comes back; so does the bot.
	server.Stop()
	server.Restart()
	again := ircd.Join(t, server.Addr(), "alice", "#go")
	again.WaitLine("the bot to be back", func(l string) bool {
		return strings.Contains(l, "JOIN") && strings.HasPrefix(l, ":dragoman!") || strings.Contains(l, " 353 ") && strings.Contains(l, "dragoman")
	})
	again.Say("#go", "dragoman: there you are #6")
	if got := again.WaitHeard("dragoman", "#go", 1); !strings.Contains(got[0], "#6") {
		t.Errorf("after the server's restart the bot says %q", got)
	}
}
