package window_test

import (
	"testing"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// A picture counts if its file can be shown; UpperBound includes it.
func TestPicturesCount(t *testing.T) {
	words := sessions.Message{Role: sessions.RoleUser, Content: "look"}
	for name, tt := range map[string]struct {
		files []channels.Attachment
		more  int
	}{
		"picture":    {[]channels.Attachment{{Kind: channels.AttachmentImage, File: "a"}}, 1000},
		"as a file":  {[]channels.Attachment{{Kind: channels.AttachmentDocument, Type: "image/png", File: "a"}}, 1000},
		"two":        {[]channels.Attachment{{Kind: channels.AttachmentImage, File: "a"}, {Kind: channels.AttachmentImage, File: "b"}}, 2000},
		"missing":    {[]channels.Attachment{{Kind: channels.AttachmentImage, Missing: "too large"}}, 0},
		"no picture": {[]channels.Attachment{{Kind: channels.AttachmentVoice, File: "a"}}, 0},
		"no files":   {nil, 0},
	} {
		m := words
		m.Attachments = tt.files
		msgs := []sessions.Message{m}
		if got := window.Count(msgs, nil) - window.EstimateMessage(&words); got != tt.more {
			t.Errorf("%s: counts %d tokens more, want %d", name, got, tt.more)
		}
		if window.UpperBound(msgs) < window.Count(msgs, nil) {
			t.Errorf("%s: UpperBound %d is less than Estimate %d", name, window.UpperBound(msgs), window.Count(msgs, nil))
		}
	}
}
