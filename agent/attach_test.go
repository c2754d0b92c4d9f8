package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// What a tool attaches is in the message of its result, and so in the journal. Later calls
// learn how many files there are. A call that fails attaches nothing.
func TestToolsAttachFiles(t *testing.T) {
	file := channels.Attachment{Kind: channels.AttachmentDocument, Name: "a.pdf", File: "x_1/a.pdf"}
	var before []int
	send := get(func(_ context.Context, c agent.Call) (string, error) {
		before = append(before, c.Sending)
		c.Attach(file)
		if len(before) == 2 {
			return "", errors.New("no")
		}
		return "sent", nil
	})
	m := newScript(t, call("c1 get {}"), call("c2 get {}"), call("c3 get {}"), say("Here."))
	turn := turnOf("send it")
	var journal []sessions.Message
	turn.Record = func(_ context.Context, s sessions.Step) error {
		if s.Kind == sessions.StepToolDone {
			journal = append(journal, *s.Message)
		}
		return nil
	}
	res := run(t, newAgent(t, m, agent.Options{}, send), turn)
	want := [][]channels.Attachment{{file}, nil, {file}}
	var got, kept [][]channels.Attachment
	for i := range want {
		got = append(got, res.Messages[2+2*i].Attachments)
		kept = append(kept, journal[i].Attachments)
	}
	if diff := cmp.Diff([][][]channels.Attachment{want, want}, [][][]channels.Attachment{got, kept}); diff != "" {
		t.Errorf("files of the results and the journal (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 1, 1}, before); diff != "" {
		t.Errorf("the calls were told of that many files (-want +got):\n%s", diff)
	}
}
