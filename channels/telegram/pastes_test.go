package telegram_test

import (
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"
)

// What an app cuts into pieces is one message; short messages never wait.
func TestPieces(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	bob := botapi.Person(9, "Bob")
	tests := map[string]struct {
		say    func(n *network, group *botapi.Chat)
		albums string // a letter for each message: the same for those of one album, - for none
		pauses []time.Duration
	}{
		"a paste in three": {func(n *network, _ *botapi.Chat) {
			n.chat.Say(n.ann, long(4096))
			n.chat.Say(n.ann, long(4096))
			n.chat.Say(n.ann, "the rest")
		}, "aaa", []time.Duration{time.Second, time.Second, 0}},
		"cut at a line": {func(n *network, _ *botapi.Chat) {
			n.chat.Say(n.ann, long(3900))
			n.chat.Say(n.ann, "the rest")
		}, "aa", []time.Duration{time.Second, 0}},
		"units, not letters": {func(n *network, _ *botapi.Chat) {
			n.chat.Say(n.ann, strings.Repeat("😀", 2048))
			n.chat.Say(n.ann, "the rest")
		}, "aa", []time.Duration{time.Second, 0}},
		"short ones": {func(n *network, _ *botapi.Chat) {
			n.chat.Say(n.ann, long(3899))
			n.chat.Say(n.ann, "and this")
		}, "--", []time.Duration{0, 0}},
		"two pastes": {func(n *network, _ *botapi.Chat) {
			n.chat.Say(n.ann, long(4096))
			n.chat.Say(n.ann, "rest")
			n.chat.Say(n.ann, "another matter")
			n.chat.Say(n.ann, long(4096))
		}, "aa-b", []time.Duration{time.Second, 0, 0, time.Second}},
		"another person between": {func(n *network, group *botapi.Chat) {
			group.Say(n.ann, "@dragoman_bot "+long(4000))
			group.Say(bob, "hello")
			group.Say(n.ann, "the rest")
		}, "a-a", []time.Duration{time.Second, 0, 0}},
		"much later": {func(n *network, _ *botapi.Chat) {
			n.chat.Say(n.ann, long(4096))
			n.chat.Post(botapi.Post{From: n.ann, Text: "later", Extra: map[string]any{"date": time.Now().Unix() + 9}})
		}, "a-", []time.Duration{time.Second, 0}},
		"forwarded": {func(n *network, _ *botapi.Chat) {
			n.chat.Post(botapi.Post{From: n.ann, Text: long(4096), Extra: map[string]any{"forward_origin": map[string]any{"type": "hidden_user", "sender_user_name": "Eve", "date": 1}}})
			n.chat.Say(n.ann, "what is this?")
		}, "--", []time.Duration{0, 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			c := n.open(t, telegram.Options{})
			in := n.run(t, c)
			test.say(n, n.Group(-5, "friends"))
			n.settled(t)
			letters := map[string]string{"": "-"}
			albums := ""
			for i, m := range in.Messages() {
				if letters[m.Album] == "" {
					letters[m.Album] = string(rune('a' + len(letters) - 1))
				}
				albums += letters[m.Album]
				if m.Album != "" && c.Pause(m) != test.pauses[i] {
					t.Errorf("message %d waits for %s, want %s", i, c.Pause(m), test.pauses[i])
				}
				if !m.Private && m.Album != "" && !m.Addressed {
					t.Errorf("piece %d does not address the bot, as the first one does", i)
				}
			}
			if albums != test.albums {
				t.Errorf("the albums are %s, want %s", albums, test.albums)
			}
		})
	}
	if got := (&telegram.Channel{}).Pause(channels.Inbound{Album: "pictures"}); got != 500*time.Millisecond {
		t.Errorf("a picture of an album waits for %s, want half a second", got)
	}
}
