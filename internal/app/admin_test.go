package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/app"
	"dragoman/internal/storage"
	"dragoman/sessions"
)

// The operator's verbs do the same with and without a daemon.
func TestAdminWithAndWithoutDaemon(t *testing.T) {
	t.Parallel()
	p := newPlace(t, strings.TrimSpace(jobs))
	r := p.run()
	r.ask(r.page("kitchen"), "good morning")
	check := func(when string, running bool) {
		t.Helper()
		c, release, err := app.Admin(t.Context(), p.config(), storage.Caller{Version: "v-test"})
		if err != nil {
			t.Fatalf("%s: Admin = %v", when, err)
		}
		defer release()
		s, err := api.ReadStatus.Call(t.Context(), c, api.None{})
		if err != nil || s.Running != running || s.Problem != "" || s.Version != "v-test" {
			t.Errorf("%s: Status = %+v, %v", when, s, err)
		}
		list, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Limit: 10})
		if err != nil || len(list.Data) != 1 || list.Data[0].Key.String() != "web:kitchen" {
			t.Errorf("%s: Sessions = %v, %v, want web:kitchen", when, list, err)
		}
		said, err := api.ReadMessages.Call(t.Context(), c, api.Part{Key: channels.MustKey("web:kitchen"), Limit: 10, After: "0"})
		if err != nil || len(said.Data) != 2 || said.Data[0].Content != "good morning" {
			t.Errorf("%s: Messages = %v, %v, want the two of them", when, said, err)
		}
		all, err := api.ListJobs.Call(t.Context(), c, api.JobQuery{})
		if err != nil || len(all.Data) != 1 || all.Data[0].Name != "morning" {
			t.Errorf("%s: Jobs = %v, %v, want morning", when, all, err)
		}
		if err := api.RunJob.Call(t.Context(), c, api.JobName{Name: "evening"}); err == nil {
			t.Errorf("%s: RunJob(evening) = nil, want an error", when)
		}
		if err := api.RetryQueue.Call(t.Context(), c, api.Item{ID: "out-99"}); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%s: RetryQueue = %v, want not found", when, err)
		}
	}
	check("with a daemon", true)
	r.stop()
	check("without a daemon", false)
	check("without a daemon, again", false)
}

// Two commands at the same time, and no daemon: both work.
func TestAdminTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	one, release, err := app.Admin(t.Context(), p.config(), storage.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.ReadStatus.Call(t.Context(), one, api.None{}); err != nil {
		t.Fatal(err)
	}
	type result struct {
		release func()
		err     error
	}
	done := make(chan result)
	go func() {
		two, release, err := app.Admin(t.Context(), p.config(), storage.Caller{})
		if err == nil {
			_, err = api.ReadStatus.Call(t.Context(), two, api.None{})
		}
		done <- result{release, err}
	}()
	release()
	got := <-done
	if got.release != nil {
		got.release()
	}
	if got.err != nil {
		t.Errorf("the second command fails: %v", got.err)
	}
	p.opens()
}

// While a command holds the store a daemon and other commands wait for it, say
// so to the person, and tell in the end who has it.
func TestWaitForACommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	_, release, err := app.Admin(t.Context(), p.config(), storage.Caller{Verb: "sessions import"})
	if err != nil {
		t.Fatal(err)
	}
	who := fmt.Sprintf("dragoman sessions import with process id %d", os.Getpid())
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	for name, open := range map[string]func(storage.Caller) error{
		"a daemon": func(c storage.Caller) error {
			_, err := app.Open(ctx, p.config(), app.Options{Caller: c})
			return err
		},
		"a chat": func(c storage.Caller) error {
			return app.Chat(ctx, p.config(), app.Options{Caller: c}, strings.NewReader(""), io.Discard, "", app.ChatOptions{})
		},
		"a command": func(c storage.Caller) error {
			_, _, err := app.Admin(ctx, p.config(), c)
			return err
		},
	} {
		err := open(storage.Caller{Patience: time.Millisecond})
		want := "state is still in use by " + who + " after 1ms; try again when that has ended"
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want\n %s", name, err, want)
		}
	}
	said := make(chan string, 1)
	ended := make(chan error)
	go func() {
		d, err := app.Open(ctx, p.config(), app.Options{Caller: storage.Caller{
			Patience: 2 * most, Tell: func(sentence string) { said <- sentence },
		}})
		if err == nil {
			err = d.Close()
		}
		ended <- err
	}()
	select {
	case got := <-said:
		if want := "waiting for " + who + ", which has "; !strings.HasPrefix(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	case err := <-ended:
		t.Fatalf("Open = %v, without a word", err)
	}
	release()
	if err := <-ended; err != nil {
		t.Errorf("Open = %v, want a daemon once the command has ended", err)
	}
	p.opens()
}
