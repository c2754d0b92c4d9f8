package telegram_test

import (
	"slices"
	"testing"

	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"
)

// A bot that is renamed while it runs hears its new name, and asks Telegram seldom.
func TestRenamedBot(t *testing.T) {
	photo := map[string]any{
		"photo": []any{map[string]any{"file_id": "x", "width": 1, "height": 1}}, "caption": "@moss_bot what is it?",
		"caption_entities": []any{map[string]any{"type": "mention", "offset": 0, "length": 9}},
	}
	for name, test := range map[string]struct {
		post  botapi.Post
		asks  int // getMe after the start
		heard bool
	}{
		"a mention":        {botapi.Post{Text: "@moss_bot what is Go?"}, 1, true},
		"in other letters": {botapi.Post{Text: "tell us, @Moss_Bot"}, 1, true},
		"a command":        {botapi.Post{Text: "/new@moss_bot"}, 1, true},
		"under a picture":  {botapi.Post{Extra: photo}, 1, true},
		"another bot":      {botapi.Post{Text: "@weather_bot how is it?"}, 1, false},
		"a person":         {botapi.Post{Text: "@moss what do you think?"}, 0, false},
		"by the old name":  {botapi.Post{Text: "/new@dragoman_bot"}, 0, true},
		"no name at all":   {botapi.Post{Text: "what is a bot?"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			ann := botapi.Person(7, "Ann")
			group, private := n.Group(-5, "friends"), n.Private(ann)
			inbox := n.run(t, n.open(t, telegram.Options{}))
			private.Say(ann, "first")
			inbox.Wait(t, 1) // it knows its old name
			before := n.Count("getMe")
			n.Rename("moss_bot")
			test.post.From = ann
			group.Post(test.post)
			group.Say(ann, "last")
			inbox.Until(t, "the last message", func() bool { return slices.Contains(inbox.Texts(), "last") })
			heard := false
			for _, m := range inbox.Messages() {
				heard = heard || m.Key.Chat() == "-5" && m.Addressed
			}
			if asked := n.Count("getMe") - before; heard != test.heard || asked != test.asks {
				t.Errorf("heard: %t after %d questions, want %t after %d", heard, asked, test.heard, test.asks)
			}
			group.Say(ann, "@fern_bot and you?")
			group.Say(ann, "the end")
			inbox.Until(t, "the end", func() bool { return slices.Contains(inbox.Texts(), "the end") })
			if asked := n.Count("getMe") - before; asked > 1 {
				t.Errorf("Telegram was asked %d times for the name within 30 seconds", asked)
			}
		})
	}
}
