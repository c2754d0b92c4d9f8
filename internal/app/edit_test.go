package app_test

import (
	"net/http"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
)

// Somebody writes on the page, and a program with their token puts another text in the place
// of that: it is answered, and what was replaced says so. Nobody else can.
func TestEditOnTheRealDaemon(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "").run()
	page := r.page("default")
	r.ask(page, "one")
	r.ask(page, "two")
	k := channels.MustKey("web:default")
	messages := func(token string) []api.Message {
		t.Helper()
		var list api.Page[api.Message]
		if no := r.request("GET", "/api/v1/conversations/web:default/messages", token, "", &list); no != nil {
			t.Fatal(no)
		}
		return list.Data
	}
	asked := messages("")
	if len(asked) < 4 || asked[2].Content != "two" {
		t.Fatalf("the page's messages are %+v", asked)
	}
	said, err := api.EditMessage.Call(t.Context(), r.admin, api.Edit{Key: k, Seq: asked[2].Seq, Text: "three", ID: "e"})
	if err != nil || said.Repeated {
		t.Fatalf("EditMessage = %+v, %v", said, err)
	}
	var list []api.Message
	r.until("an answer to the new text", func() bool {
		list = messages("")
		return list[len(list)-1].Role == "assistant" && list[len(list)-1].Content != asked[3].Content
	})
	note := list[4]
	if note.Replaces != asked[2].Seq || !note.Synthetic || note.ReplacedBy != 0 {
		t.Errorf("message 5 is %+v, want the note about message 3", note)
	}
	for i, m := range list {
		want := int64(0)
		if i == 2 || i == 3 {
			want = note.Seq
		}
		if m.ReplacedBy != want {
			t.Errorf("message %d was replaced by %d, want %d", m.Seq, m.ReplacedBy, want)
		}
	}
	if list[5].Content != "three" || !strings.Contains(list[6].Content, "“three”") {
		t.Errorf("after the note come %q and %q", list[5].Content, list[6].Content)
	}
	repeated, err := api.EditMessage.Call(t.Context(), r.admin, api.Edit{Key: k, Seq: asked[2].Seq, Text: "three", ID: "e"})
	if err != nil || !repeated.Repeated || repeated.Seq != said.Seq {
		t.Errorf("the same once more: %+v, %v; want a repeat", repeated, err)
	}
	for path, status := range map[string]int{
		"/messages/3/edit": http.StatusBadRequest, // it was replaced
		"/messages/2/edit": http.StatusBadRequest, // not theirs
		"/messages/9/edit": http.StatusNotFound,
	} {
		no := r.request("POST", "/api/v1/conversations/web:default"+path, "", `{"text": "x"}`, nil)
		if no == nil || no.Status != status {
			t.Errorf("%s is answered with %+v, want %d", path, no, status)
		}
	}
}
