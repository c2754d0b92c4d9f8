package api_test

import (
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// The last line of a conversation that ends with a file is a word for it, or what was said
// with it, and not what the model reads about it. Old ones have only the transcript.
func TestLastLineOfFile(t *testing.T) {
	picture := channels.Attachment{Kind: channels.AttachmentImage, Name: "boat.png", Type: "image/png", Bytes: 1000, File: "a1"}
	gone := channels.Attachment{Kind: channels.AttachmentVideo, Missing: "too large: 80 MB"}
	voice := channels.Attachment{Kind: channels.AttachmentVoice, Seconds: 7, Words: "Where is the boat?"}
	for name, one := range map[string]struct {
		text  string
		files []channels.Attachment
		want  api.LastLine
	}{
		"a picture":         {"", []channels.Attachment{picture}, api.LastLine{Text: "image", File: "image"}},
		"words and picture": {"a boat", []channels.Attachment{picture}, api.LastLine{Text: "a boat"}},
		"two files":         {"", []channels.Attachment{gone, picture}, api.LastLine{Text: "video", File: "video"}},
		"a voice":           {"", []channels.Attachment{voice}, api.LastLine{Text: "Where is the boat?"}},
		"brackets":          {"[image, file a1]", nil, api.LastLine{Text: "[image, file a1]"}},
	} {
		s := filled(t)
		k := channels.MustKey("telegram:81")
		said := sessions.UserMessage(channels.Inbound{Key: k, ID: "f", Text: one.text, Attachments: one.files, Sender: channels.Person{IDs: []string{"81"}}})
		if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: "f", Text: "of a job"}, Source: sessions.SourceHeartbeat, Answered: true, Append: []sessions.Message{said}}); err != nil {
			t.Fatal(err)
		}
		c, err := api.ReadConversation.Call(t.Context(), api.InProcess(api.New(optionsOf(s))), api.About{Key: k})
		if err != nil || c.Last == nil {
			t.Fatalf("%s: %+v, %v", name, c, err)
		}
		if diff := cmp.Diff(one.want, api.LastLine{Text: c.Last.Text, File: c.Last.File}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
