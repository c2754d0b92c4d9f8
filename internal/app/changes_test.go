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

// Whoever runs Dragoman learns that a list is another one: of tokens, of people, of facts, of settings
// and jobs.
func TestListsAreTold(t *testing.T) {
	t.Parallel()
	r := newPlace(t, "").run()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	told := make(chan string, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- r.admin.Events(ctx, api.EventQuery{}, func(e api.Event, _ string) error {
			told <- e.Event
			return nil
		})
	}()
	wait := func(event string) {
		t.Helper()
		for {
			select {
			case got := <-told:
				if got == event {
					return
				}
			case <-ctx.Done():
				t.Fatalf("nobody was told of %s", event)
			}
		}
	}
	wait("hello")
	if _, err := api.CreateToken.Call(t.Context(), r.admin, api.NewToken{Name: "tablet", Scope: "chat"}); err != nil {
		t.Fatal(err)
	}
	wait("token_change")
	if err := api.JoinPeople.Call(t.Context(), r.admin, api.Identities{One: "telegram:1", Other: "telegram:2"}); err != nil {
		t.Fatal(err)
	}
	wait("people_change")
	if err := api.PartPeople.Call(t.Context(), r.admin, api.OneIdentity{Identity: "telegram:1"}); err != nil {
		t.Fatal(err)
	}
	wait("people_change")
	restoreQueue(t, r.admin)
	facts, err := api.ListFacts.Call(t.Context(), r.admin, api.FactsOf{Target: ownTalk})
	if err != nil || len(facts.Data) != 1 {
		t.Fatalf("the facts are %v, %v; want one", facts, err)
	}
	if err := api.Forget.Call(t.Context(), r.admin, api.Fact{Target: ownTalk, ID: facts.Data[0].ID}); err != nil {
		t.Fatal(err)
	}
	wait("memory_change")
	r.hangup <- struct{}{}
	wait("settings_change")
	wait("job_change")
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
