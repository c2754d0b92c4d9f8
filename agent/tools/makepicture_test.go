package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/tools"
	"dragoman/channels"
)

// easel draws what it is asked for.
type easel struct {
	refuse       error
	prompt, name string
}

func (e *easel) Draw(_ context.Context, _ agent.Call, prompt, name string) (channels.Attachment, error) {
	e.prompt, e.name = prompt, name
	return channels.Attachment{Kind: channels.AttachmentImage, Name: name + ".png", Type: "image/png", Bytes: 2000, File: "x_1/kept"}, e.refuse
}

func (e *easel) MostTime() time.Duration { return 3 * time.Minute }

func (e *easel) MostPictures() int { return 2 }

// A picture of a prompt is attached to the call. What cannot be drawn is a sentence for the
// model, and attaches nothing.
func TestMakePicture(t *testing.T) {
	for name, tt := range map[string]struct {
		prompt  string
		easel   easel
		sending int
		helper  bool
		say     string
	}{
		"drawn":            {prompt: " A cat, in a boat. ", say: "[a-cat-in-a-boat.png, 2 kB, is drawn, and sent with your answer]"},
		"in other letters": {prompt: "قطة في قارب", say: "[قطة-في-قارب.png, 2 kB, is drawn, and sent with your answer]"},
		"a long prompt":    {prompt: strings.Repeat("blue and ", 20), say: "[blue-and-blue-and-blue-and-blue-and-blue.png, 2 kB, is drawn, and sent with your answer]"},
		"without words":    {prompt: "../..", say: "[picture.png, 2 kB, is drawn, and sent with your answer]"},
		"one long word":    {prompt: strings.Repeat("a", 50), say: "[picture.png, 2 kB, is drawn, and sent with your answer]"},
		"empty":            {prompt: " ", say: "make_picture: the prompt is empty; describe the picture"},
		"too long":         {prompt: strings.Repeat("é", 4001), say: "make_picture: the prompt has more than 4000 characters; shorten it"},
		"too many":         {prompt: "a cat", sending: 2, say: "make_picture: this answer has 2 files already, and more are not drawn for it"},
		"refused":          {prompt: "a cat", easel: easel{refuse: errors.New("no")}, say: "make_picture: no"},
		"for a helper":     {prompt: "a cat", helper: true, say: "make_picture: a helper sends no pictures; answer with what should be drawn"},
	} {
		t.Run(name, func(t *testing.T) {
			args, err := json.Marshal(m{"prompt": tt.prompt})
			ok(t, err)
			var sent []channels.Attachment
			c := agent.Call{Args: args, Sending: tt.sending, Sent: &sent}
			if !tt.helper {
				c.Delegate = func(context.Context, agent.Task) (string, error) { return "", nil }
			}
			said, err := tools.MakePicture(&tt.easel).Run(t.Context(), c)
			if err != nil {
				said = err.Error()
			}
			if said != tt.say {
				t.Errorf("make_picture said %q, want %q", said, tt.say)
			}
			drawn := strings.HasPrefix(tt.say, "[")
			if drawn != (len(sent) == 1) || drawn && (sent[0].File != "x_1/kept" || tt.easel.prompt != strings.TrimSpace(tt.prompt)) {
				t.Errorf("it attached %v, drawn from %q", sent, tt.easel.prompt)
			}
		})
	}
	if s := tools.MakePicture(nil).Spec(); s.Off == "" {
		t.Error("it is offered without a server")
	}
	if s := tools.MakePicture(&easel{}).Spec(); s.Off != "" || s.Patience != 3*time.Minute {
		t.Errorf("its patience is %s, want that of its server", s.Patience)
	}
}
