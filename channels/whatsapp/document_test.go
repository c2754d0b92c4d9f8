//go:build !nowhatsapp

package whatsapp_test

import (
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/channels/channeltest/wasim"
	"dragoman/channels/whatsapp"

	"github.com/google/go-cmp/cmp"
)

// A file arrives complete, with its caption. If it is sent twice, it is shown once. In a
// chat with disappearing messages it disappears too.
func TestSendFile(t *testing.T) {
	v := newVanishing(t)
	v.says(t, wasim.Note{Text: "gone in a day", Ephemeral: day})
	content := strings.Repeat("all of it\n", 100_000)
	m := channels.Outbound{ID: "f", Key: v.Key(), Text: "All of it **is** here.", File: &channels.File{Name: "answer.md", Content: content}}
	send(t, v.c, m)
	m.Attempt, m.Uncertain = 2, true
	send(t, v.c, m)
	all := v.ann.Received()
	last := all[len(all)-1]
	if last.Text != "All of it *is* here." || last.Media == nil || last.Media.Kind != wasim.Document || last.Media.Name != "answer.md" ||
		last.Media.Mime != "text/markdown" || string(last.Media.Data) != content {
		t.Errorf("Ann sees %q with %.80v, want the file", last.Text, last.Media)
	}
	if last.Expires != day || last.Copies != 2 || len(all) != 1 {
		t.Errorf("%d messages; the last came %d times and disappears after %s, want 1, 2 and a day", len(all), last.Copies, last.Expires)
	}
}

// In a group a file quotes the message that it answers.
func TestSendFileInGroup(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := connected(t, n, whatsapp.Options{})
	g := n.Group("friends", n.Owner(), n.ann)
	n.ann.Send(wasim.Note{In: g, Text: "@" + n.Owner().Number()[1:] + " tell me all", Mention: []string{n.Owner().Number()}})
	asked := inbox.Wait(t, 1)[0]
	send(t, c, channels.Outbound{ID: "f", Key: asked.Key, Text: "here", ReplyTo: asked.MessageID, File: &channels.File{Name: "answer.md", Content: "all"}})
	all := n.ann.ReceivedIn(g)
	if last := all[len(all)-1]; last.Quote != asked.MessageID || last.Media == nil || string(last.Media.Data) != "all" {
		t.Errorf("the group sees %+v, want the file as a reply to %s", last, asked.MessageID)
	}
}

// Pictures are shown as pictures and voice messages as such, with their length. What phones
// would not show as a picture is a document.
func TestSendFileAsWhatItIs(t *testing.T) {
	n := newNetwork(t, wasim.Options{})
	c, inbox := connected(t, n, whatsapp.Options{})
	n.ann.Send(wasim.Note{Text: "show me"})
	asked := inbox.Wait(t, 1)[0]
	for name, tt := range map[string]struct {
		file channels.File
		want wasim.Media
	}{
		"voice":         {channels.File{Kind: channels.AttachmentVoice, Type: "audio/ogg", Content: "OggS", Seconds: 3}, wasim.Media{Kind: wasim.Voice, Mime: "audio/ogg; codecs=opus", Seconds: 3}},
		"picture":       {channels.File{Kind: channels.AttachmentImage, Type: "image/png", Content: "png"}, wasim.Media{Kind: wasim.Image, Mime: "image/png"}},
		"other picture": {channels.File{Kind: channels.AttachmentImage, Type: "image/webp", Name: "a.webp", Content: "webp"}, wasim.Media{Kind: wasim.Document, Mime: "image/webp", Name: "a.webp"}},
		"sound":         {channels.File{Kind: channels.AttachmentAudio, Type: "audio/mpeg", Content: "mp3"}, wasim.Media{Kind: wasim.Audio, Mime: "audio/mpeg"}},
		"document":      {channels.File{Kind: channels.AttachmentDocument, Type: "application/pdf", Name: "a.pdf", Content: "pdf"}, wasim.Media{Kind: wasim.Document, Mime: "application/pdf", Name: "a.pdf"}},
	} {
		send(t, c, channels.Outbound{ID: name, Key: asked.Key, File: &tt.file})
		all := n.ann.Received()
		got := *all[len(all)-1].Media
		tt.want.Data = []byte(tt.file.Content)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
