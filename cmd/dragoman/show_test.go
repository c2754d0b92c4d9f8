package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions"
)

// TestShowHasTheRunningTurn: what is journaled is shown while the turn runs,
// and after a crash, behind the transcript and marked.
func TestShowHasTheRunningTurn(t *testing.T) {
	w := newWorld(t)
	store, ctx := w.daemon.store, t.Context()
	accept := func(id, text string) sessions.Answered {
		t.Helper()
		got, err := store.Accept(ctx, sessions.Entry{Inbound: channels.Inbound{
			Key: channels.MustKey("telegram:1"), ID: id, Text: text, Sender: channels.Person{IDs: []string{"7"}, Name: "Ann"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return sessions.Answered{Seq: got.Seq}
	}
	first := accept("1", "which time is it?")
	w.fail(1, "there is no conversation telegram:1;", "sessions", "show", "telegram:1")

	second := accept("2", "and which day?")
	ctx, crash := context.WithCancel(ctx)
	journaled, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		ended <- store.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			call := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "c", Name: "clock", Arguments: "{}"}}, At: clock}
			err := store.AppendStep(ctx, c, "t", []sessions.Answered{first}, sessions.Step{Kind: sessions.StepModel, Message: &call})
			if err == nil {
				joined := sessions.Message{Seq: second.Seq, Role: sessions.RoleUser, Content: "and which day?", Name: "Ann", At: clock}
				err = store.AppendStep(ctx, c, "t", []sessions.Answered{second}, sessions.Step{Kind: sessions.StepSteer, Message: &joined})
			}
			journaled <- err
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	if err := <-journaled; err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if out := w.want(nil, "sessions", "show", "telegram:1"); strings.Contains(out, "Nothing was said yet") {
			t.Errorf("above the words of a turn stands that there are none:\n%s", out)
		}
		w.want([]string{"In progress", "which time is it?", "→ clock {}", "and which day?"}, "sessions", "show", "telegram:1")
		var shown []struct {
			Seq        int64
			Content    string
			InProgress bool `json:"in_progress"`
		}
		if err := json.Unmarshal([]byte(w.want(nil, "sessions", "show", "telegram:1", "--json")), &shown); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range shown {
			texts = append(texts, m.Content)
			if m.Seq != 0 || !m.InProgress {
				t.Errorf("%+v is not marked as in progress", m)
			}
		}
		if diff := cmp.Diff([]string{"which time is it?", "", "and which day?"}, texts); diff != "" {
			t.Errorf("the running turn (-want +got):\n%s", diff)
		}
	}
	check()
	crash()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	check()

	w.say("telegram:2", "", "hello")
	if out := w.want([]string{"hello"}, "sessions", "show", "telegram:2"); strings.Contains(out, "In progress") {
		t.Errorf("a turn that is over is in progress:\n%s", out)
	}
}

// TestExportOfManyPages: an export of all has every conversation once, however
// many pages their list has.
func TestExportOfManyPages(t *testing.T) {
	w := newWorld(t)
	for i := range sessions.MaxPage + 3 {
		w.say(fmt.Sprintf("telegram:%d", i+1), "t", "hello")
	}
	var all []struct{ Key string }
	if err := json.Unmarshal([]byte(w.want(nil, "sessions", "export", "--all", "--format", "json")), &all); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, c := range all {
		keys[c.Key] = true
	}
	if len(all) != sessions.MaxPage+3 || len(keys) != len(all) {
		t.Errorf("%d conversations and %d keys, want %d", len(all), len(keys), sessions.MaxPage+3)
	}
}

// The name of who spoke stands once, also where it is part of the message for
// the model.
func TestShowNamesOnce(t *testing.T) {
	w := newWorld(t)
	_, err := w.daemon.store.Accept(t.Context(), sessions.Entry{
		Inbound:  channels.Inbound{Key: channels.MustKey("irc:#go"), ID: "1", Text: "one"},
		Answered: true,
		Append: []sessions.Message{
			{Role: sessions.RoleUser, Name: "bob", Content: "bob: one", At: clock},
			{Role: sessions.RoleAssistant, Content: "bob: two", At: clock},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := w.want([]string{"  bob\n    one\n", "  dragoman\n    bob: two\n"}, "sessions", "show", "irc:#go"); strings.Contains(out, "bob: one") {
		t.Errorf("a name stands twice:\n%s", out)
	}
}
