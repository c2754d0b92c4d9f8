package story_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"dragoman/channels/channeltest/ircd"
	"dragoman/internal/testkit"
)

// Somebody on Telegram and on IRC becomes one person: both say yes, what was said in one place
// is remembered in the other, `dragoman people` shows it, and either side ends it.
func TestOnePersonOnTwoNetworks(t *testing.T) {
	server := ircd.New(ircd.Config{Caps: []string{"account-tag"}})
	addr, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	h := newHouse(t, plan{})
	h.configure(plan{channels: fmt.Sprintf(`allow: ["*"]
  libera: {type: irc, server: %s, tls: false, nick: dragoman, allow: ["*"], flood: {burst: 100, every: 10ms}}`, addr)})
	h.start()
	alice := ircd.Join(t, addr, "alice")
	server.SetAccount("alice", "ann")
	onPhone := func(text, want string) string {
		t.Helper()
		h.tell(ann, text)
		return h.heard(want, func() []string { return h.api.FromBot(ann.ID) })
	}
	onIRC := func(text, want string) string {
		t.Helper()
		alice.Say("dragoman", text)
		return h.heard(want, func() []string { return alice.Heard("dragoman", "alice") })
	}
	onPhone("/remember The bins are collected on Fridays.", "#1")
	code := regexp.MustCompile(`[A-Z2-9]{5}-[A-Z2-9]{5}`).FindString(onPhone("/connect", "write this to me there"))
	t.Log(onIRC("!connect "+code, "This would connect you with"))
	t.Log(h.heard("Somebody has said your code. This would connect you with “alice” (libera:account:ann).", func() []string { return h.api.FromBot(ann.ID) }))
	t.Log(onIRC("!connect yes", "Good. I wait for"))
	t.Log(onPhone("/connect yes", "You are connected with “alice” (libera:account:ann)"))
	t.Log(h.heard("You are connected with", func() []string { return alice.Heard("dragoman", "alice") }))
	t.Log(onIRC("!memory", "said on telegram: The bins are collected on Fridays."))
	list := h.dragoman("people")
	t.Log("\n" + list)
	for _, want := range []string{"libera:account:ann", fmt.Sprintf("telegram:%d", ann.ID), "connected by themselves"} {
		if !strings.Contains(list, want) {
			t.Errorf("people lacks %q:\n%s", want, list)
		}
	}
	t.Log(onIRC("!disconnect", "You are no longer connected with telegram:"))
	t.Log(h.heard("is no longer connected with you", func() []string { return h.api.FromBot(ann.ID) }))
	t.Log(onIRC("!memory", "I remember nothing about you"))
}

// heard waits for these words in texts, and returns what was written from that text on.
func (h *house) heard(want string, texts func() []string) (found string) {
	h.t.Helper()
	testkit.Eventually(h.t, want, func() bool {
		all := strings.Join(texts(), "\n")
		i := strings.LastIndex(all, want)
		if i >= 0 {
			found = all[i:]
		}
		return i >= 0
	})
	return found
}
