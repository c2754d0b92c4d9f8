package app_test

import (
	"context"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
)

// Whoever listens learns of a new title and of new tags, also if a command in the chat
// changed them.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "").run()
	k := channels.MustKey("web:default")
	if _, err := api.PutQuestion.Call(t.Context(), r.admin, api.Question{Key: k, Text: "hello", ID: "one"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	var whys []string
	begun := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- r.admin.Events(ctx, api.EventQuery{}, func(e api.Event, _ string) error {
			if e.Event == "hello" {
				close(begun)
			}
			if e.Event != "session_change" || e.Key != k {
				return nil
			}
			whys = append(whys, e.Why)
			if len(whys) == 3 {
				cancel()
			}
			return nil
		})
	}()
	<-begun
	if err := api.Rename.Call(t.Context(), r.admin, api.Title{Key: k, Title: "A title"}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Configure.Call(t.Context(), r.admin, api.Change{Key: k, Tag: []string{"work"}}); err != nil {
		t.Fatal(err)
	}
	if err := r.page("default").Post(t.Context(), "title-of-the-page", "/title Another"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(whys) != 3 || whys[0] != "title" || whys[1] != "settings" || whys[2] != "title" {
		t.Errorf("the changes told are %v, want title, settings, title", whys)
	}
}
