package telegram_test

import (
	"fmt"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/telegram"
)

// Each picture of an album is a separate message with the id of the album. In a group,
// if one of them addresses the bot, all of them do.
func TestAlbum(t *testing.T) {
	n := newNetwork(t)
	group := n.Group(-5, "friends")
	ann := botapi.Person(7, "Ann")
	type fields = map[string]any
	part := func(chat *botapi.Chat, album string, i int, more fields) {
		extra := fields{"media_group_id": album, "photo": []any{fields{"file_id": fmt.Sprint(album, i), "width": 90, "height": 60}}}
		for k, v := range more {
			extra[k] = v
		}
		chat.Post(botapi.Post{From: ann, Extra: extra})
	}
	called := fields{"caption": "@dragoman_bot which is best?", "caption_entities": []any{fields{"type": "mention", "offset": 0, "length": 13}}}
	part(n.chat, "p", 0, fields{"caption": "look"})
	part(n.chat, "p", 1, nil)
	part(group, "mine", 0, nil)
	part(group, "mine", 1, called)
	part(group, "other", 0, fields{"caption": "not for a bot"})
	group.Post(botapi.Post{From: ann, Extra: fields{"photo": []any{fields{"file_id": "x"}}}})
	inbox := n.run(t, n.open(t, telegram.Options{}))
	n.settled(t)
	part(group, "mine", 2, nil) // in a later batch
	n.settled(t)

	type short struct {
		album     string
		addressed bool
	}
	got := map[string]short{}
	for _, m := range inbox.Messages() {
		if len(m.Attachments) != 1 {
			t.Fatalf("a part has %d files, want 1", len(m.Attachments))
		}
		got[m.Attachments[0].Ref] = short{m.Album, m.Addressed}
	}
	want := map[string]short{
		"p0": {"p", false}, "p1": {"p", false}, "mine0": {"mine", true}, "mine1": {"mine", true}, "mine2": {"mine", true},
		"other0": {"other", false}, "x": {"", false},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("albums = %v, want %v", got, want)
	}
	for _, m := range inbox.Messages() {
		if m.Attachments[0].Kind != channels.AttachmentImage {
			t.Errorf("%s is a %s, want an image", m.Attachments[0].Ref, m.Attachments[0].Kind)
		}
	}
}
