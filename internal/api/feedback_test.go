package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/respond"
	"dragoman/internal/stream"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"

	"github.com/google/go-cmp/cmp"
)

// rated is a store in which telegram:1 has a question, what a model said before it called a
// tool, its answer, and a note of ours: messages 3 to 6.
func rated(t *testing.T) *sqlitetest.Store {
	t.Helper()
	s := filled(t)
	call := sessions.Message{Role: sessions.RoleAssistant, Turn: "telegram:1#9", Model: "m", ToolCalls: []sessions.ToolCall{{ID: "c", Name: "f"}}}
	e := sessions.Entry{Answered: true, Append: []sessions.Message{
		{Role: sessions.RoleUser, Content: "and?", Turn: "telegram:1#9"},
		call,
		{Role: sessions.RoleAssistant, Content: "so it is", Turn: "telegram:1#9", Model: "m"},
		{Role: sessions.RoleAssistant, Content: "sorry", Turn: "telegram:1#10", Synthetic: true},
	}}
	e.Inbound = channels.Inbound{Key: channels.MustKey("telegram:1"), ID: "r", Text: "and?", Sender: channels.Person{IDs: []string{"1"}}}
	if _, err := s.Accept(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return s
}

// isRefused reports whether err is a refusal with that status.
func isRefused(err error, status int) bool {
	no, is := errors.AsType[*respond.Refusal](err)
	return is && no.Status == status
}

func TestFeedback(t *testing.T) {
	s := rated(t)
	o := optionsOf(s)
	o.Notes = s
	var told []stream.Event
	o.Events = func(e stream.Event) { told = append(told, e) }
	c := api.InProcess(api.New(o))
	defer c.Close()
	ctx, k := t.Context(), channels.MustKey("telegram:1")
	shown := func() (list []string) {
		t.Helper()
		page, err := api.ReadMessages.Call(ctx, c, api.Part{Key: k})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Data {
			if m.Feedback != nil {
				list = append(list, m.Content+": "+m.Feedback.Value+" "+m.Feedback.Note)
			}
		}
		return list
	}
	for name, bad := range map[string]struct {
		f      api.FeedbackOn
		status int
	}{
		"no value":           {api.FeedbackOn{Seq: 5}, http.StatusBadRequest},
		"another value":      {api.FeedbackOn{Seq: 5, Value: "sideways"}, http.StatusBadRequest},
		"a long note":        {api.FeedbackOn{Seq: 5, Value: "up", Note: strings.Repeat("ü", 501)}, http.StatusBadRequest},
		"a question":         {api.FeedbackOn{Seq: 3, Value: "up"}, http.StatusBadRequest},
		"a call of a tool":   {api.FeedbackOn{Seq: 4, Value: "up"}, http.StatusBadRequest},
		"a note of ours":     {api.FeedbackOn{Seq: 6, Value: "up"}, http.StatusBadRequest},
		"without a turn":     {api.FeedbackOn{Seq: 2, Value: "up"}, http.StatusBadRequest},
		"no such message":    {api.FeedbackOn{Seq: 7, Value: "up"}, http.StatusNotFound},
		"before all of them": {api.FeedbackOn{Seq: 0, Value: "up"}, http.StatusNotFound},
	} {
		bad.f.Key = k
		if err := api.GiveFeedback.Call(ctx, c, bad.f); !isRefused(err, bad.status) {
			t.Errorf("%s: GiveFeedback = %v, want status %d", name, err, bad.status)
		}
	}
	give := func(value, note string) {
		t.Helper()
		if err := api.GiveFeedback.Call(ctx, c, api.FeedbackOn{Key: k, Seq: 5, Value: value, Note: note}); err != nil {
			t.Fatal(err)
		}
	}
	give("up", strings.Repeat("ü", 500))
	give("down", " wrong year ")
	if diff := cmp.Diff([]string{"so it is: down wrong year"}, shown()); diff != "" {
		t.Errorf("the messages (-want +got):\n%s", diff)
	}
	if err := api.TakeFeedbackBack.Call(ctx, c, api.AnswerAt{Key: k, Seq: 5}); err != nil || len(shown()) > 0 {
		t.Errorf("TakeFeedbackBack = %v, and then %q", err, shown())
	}
	if len(told) != 3 || told[0].Why != "up" || told[1].Why != "down" {
		t.Fatalf("the events are %+v, want three", told)
	}
	last := stream.Event{Event: stream.FeedbackChange, At: now(), Key: k, Turn: "telegram:1#9", Person: "operator", Why: "removed"}
	if told[2] != last {
		t.Errorf("the last event is %+v, want %+v", told[2], last)
	}
}
