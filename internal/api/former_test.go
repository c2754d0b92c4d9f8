package api_test

import (
	"context"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// ofAGroup says that everybody may read all, and that it is said in a group.
type ofAGroup struct{ group bool }

func (g ofAGroup) Of(context.Context, people.Principal, channels.Key) (people.Sight, error) {
	return people.Sight{May: true, Group: g.group}, nil
}

func (ofAGroup) Mine(context.Context, people.Principal) ([]string, error) { return nil, nil }

func (g ofAGroup) Read(ctx context.Context, p people.Principal, k channels.Key) (people.Sight, error) {
	return g.Of(ctx, p, k)
}

// Messages that a version before kinds stored are shown as those of today. What today's
// writes is shown as it was said, whatever it looks like.
func TestMessagesOfBeforeKinds(t *testing.T) {
	file := func(kind channels.AttachmentKind) []channels.Attachment {
		return []channels.Attachment{{Kind: kind, File: "f"}}
	}
	words := func(text string) sessions.Message {
		return sessions.Message{Role: sessions.RoleUser, Content: text, Name: "Ann", Sender: "7"}
	}
	with := func(text string, files []channels.Attachment) sessions.Message {
		m := words(text)
		m.Attachments = files
		return m
	}
	stopped := sessions.Message{Role: sessions.RoleAssistant, Content: "Half of\n\n[stopped by the person]", Synthetic: true}
	byHand := words("Jonas: I look into it.")
	byHand.Name = "Jonas"
	byHand.Via = channels.ViaReply
	byHand.Synthetic = true
	now := func(in channels.Inbound) sessions.Message { return sessions.UserMessage(in) }
	const again = sessions.AgainMark + "one"
	for name, test := range map[string]struct {
		stored sessions.Message
		group  bool
		want   string
		kind   sessions.MessageKind
	}{
		"once more":              {words(again), false, "one", "again"},
		"once more, in a group":  {words("Ann: " + again), true, "one", "again"},
		"stopped":                {stopped, false, "Half of", "stopped"},
		"a model says so":        {sessions.Message{Role: sessions.RoleAssistant, Content: stopped.Content}, false, stopped.Content, ""},
		"by hand":                {byHand, false, "I look into it.", ""},
		"a name":                 {words("Ann: hi"), true, "hi", ""},
		"a name after a quote":   {words("> Ann: who?\n\nAnn: and when?"), true, "> Ann: who?\n\nand when?", ""},
		"another's name":         {words("> Bob: No\n\nBob: not yet"), true, "> Bob: No\n\nBob: not yet", ""},
		"no name in private":     {words("Ann: hi"), false, "Ann: hi", ""},
		"a picture":              {with(`Ann: [image "a.png", image/png, 8 kB, file f]`, file("image")), true, "", ""},
		"text and picture":       {with("Look\n[image, file f]", file("image")), false, "Look", ""},
		"a file that is missing": {with("Look\n[video, not available: too large]", file("video")), false, "Look", ""},
		"a voice":                {with("[voice, 0:14] Where is the sun?", file("voice")), false, "Where is the sun?", ""},
		"a tag":                  {words("[voice] is a tag, file f]"), false, "[voice] is a tag, file f]", ""},
		"today":                  {now(channels.Inbound{Text: again}), false, again, "plain"},
		"today, with a file":     {now(channels.Inbound{Text: "[a, file b]", Attachments: file("image")}), false, "[a, file b]", ""},
		"today, once more":       {now(channels.Inbound{Text: again, Again: true, Prefix: "Ann: "}), true, again, "again"},
	} {
		s := filled(t)
		k := channels.MustKey("telegram:-81")
		if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: "f", Text: "x"}, Answered: true, Append: []sessions.Message{test.stored}}); err != nil {
			t.Fatal(err)
		}
		o := optionsOf(s)
		o.Reads = ofAGroup{test.group}
		got, err := api.ReadMessages.Call(t.Context(), api.InProcess(api.New(o)), api.Part{Key: k})
		if err != nil || len(got.Data) != 1 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		m := got.Data[0]
		if diff := cmp.Diff([]string{test.want, string(test.kind), test.stored.Content}, []string{m.Shown(), string(m.Kind), m.Content}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
