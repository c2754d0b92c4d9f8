package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
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
	w.fail(1, "nothing was answered in telegram:1 yet; dragoman queue list shows what waits", "sessions", "show", "telegram:1")

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
		var shown struct {
			Messages []struct {
				Seq        int64
				Content    string
				InProgress bool `json:"in_progress"`
			}
		}
		if err := json.Unmarshal([]byte(w.want(nil, "sessions", "show", "telegram:1", "--json")), &shown); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range shown.Messages {
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

// history is a conversation of two generations with all that show tells of one.
func history(w *world) {
	w.t.Helper()
	ctx := w.t.Context()
	store := w.daemon.store
	k := channels.MustKey("telegram:1")
	said := func(id string, texts ...string) {
		e := sessions.Entry{Inbound: channels.Inbound{Key: k, ID: id}, Answered: true}
		for _, text := range texts {
			e.Append = append(e.Append,
				sessions.Message{Role: sessions.RoleUser, Content: text, Name: "Ann", At: clock},
				sessions.Message{Role: sessions.RoleAssistant, Content: "re: " + text, Model: "big-1", At: clock, Usage: &sessions.Usage{Input: 1000, Output: 234}})
		}
		if _, err := store.Accept(ctx, e); err != nil {
			w.t.Fatal(err)
		}
	}
	said("1", "one", "two")
	if _, err := store.Accept(ctx, sessions.Entry{Inbound: channels.Inbound{Key: k, ID: "2", Text: "/new"}, Answered: true, Control: sessions.ControlNew}); err != nil {
		w.t.Fatal(err)
	}
	said("3", "three", "four")
	err := store.AddSummary(ctx, k, sessions.Summary{Text: "They counted.", CoversSeq: 6, Generation: "20260301_002", At: clock})
	if err != nil {
		w.t.Fatal(err)
	}
	w.want(nil, "sessions", "rename", "telegram:1", "Counting")
	w.want(nil, "sessions", "set", "telegram:1", "system=Be brief.", "meta.team=blue")
	w.want(nil, "sessions", "tag", "telegram:1", "+sums")
}

// TestShowTellsTheWhole: not only messages, but what they belong to.
func TestShowTellsTheWhole(t *testing.T) {
	w := newWorld(t)
	history(w)
	border := "\n── " + clock.Local().Format("2006-01-02 15:04") + "  generation 20260301_002 began ──\n\n"
	head := "telegram:1  “Counting”\n  since    20260301_002, the last of 2 generations\n  said     8 messages, 4 936 tokens\n" +
		"  summary  covers the first 2 messages of this generation ("
	out := w.want([]string{head, ")\n  model    big-1 (wrote the last answer)\n  system   Be brief.\n  tags     sums\n  meta     team = \"blue\"\n", "    re: two\n" + border}, "sessions", "show", "telegram:1")
	if n := strings.Count(out, "──\n"); n != 1 {
		t.Errorf("%d borders, want 1:\n%s", n, out)
	}
	if out := w.want([]string{"(5 messages before"}, "sessions", "show", "telegram:1", "--last", "3"); strings.Contains(out, "──") {
		t.Errorf("a border stands where none is:\n%s", out)
	}
	if out := w.want([]string{"re: two"}, "sessions", "show", "telegram:1", "--before", "5"); strings.Contains(out, "wrote the last answer") {
		t.Errorf("an older page tells of the last answer:\n%s", out)
	}
	w.want([]string{"(4 messages before; more: --before 5; all: --last 0)\n" + border}, "sessions", "show", "telegram:1", "--last", "4")

	var got map[string]any
	if err := json.Unmarshal([]byte(w.want(nil, "sessions", "show", "telegram:1", "--last", "5", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, m := range got["messages"].([]any) {
		m := m.(map[string]any)
		places = append(places, fmt.Sprintf("%v %v %v", m["seq"], m["generation"], m["content"]))
	}
	delete(got, "messages")
	want := map[string]any{
		"key": "telegram:1", "title": "Counting", "generation": "20260301_002", "earlier": 3.0, "later": 0.0,
		"message_count": 8.0, "total_tokens": 4936.0, "usage": map[string]any{"input": 4000.0, "output": 936.0},
		"model": "", "system_prompt": "Be brief.", "tags": []any{"sums"}, "metadata": map[string]any{"team": "blue"},
		"created": "2026-03-01T12:00:00Z", "updated": "2026-03-01T12:00:00Z",
		"summary": map[string]any{"text": "They counted.", "covers_seq": 6.0, "generation": "20260301_002", "at": "2026-03-01T12:00:00Z"},
		"generations": []any{
			map[string]any{"id": "20260301_001", "first_seq": 1.0, "last_seq": 4.0, "began": "2026-03-01T12:00:00Z"},
			map[string]any{"id": "20260301_002", "first_seq": 5.0, "last_seq": 8.0, "began": "2026-03-01T12:00:00Z"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"4 20260301_001 re: two", "5 20260301_002 three", "6 20260301_002 re: three", "7 20260301_002 four", "8 20260301_002 re: four"}, places); diff != "" {
		t.Errorf("its messages (-want +got):\n%s", diff)
	}
}

// TestShowIsDocumented: the page names each field that the JSON can have, in the
// row that is about it.
func TestShowIsDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/sessions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(b), "### What `sessions show --json` prints\n")
	page, _, _ = strings.Cut(page, "\n## ")
	_, rest, _ := strings.Cut(page, "\n| `messages` |")
	ofMessages, _, _ := strings.Cut(rest, "\n")
	for _, c := range []struct {
		text string
		of   reflect.Type
	}{{page, reflect.TypeFor[shownDocument]()}, {ofMessages, reflect.TypeFor[shownMessage]()}} {
		for _, f := range reflect.VisibleFields(c.of) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "attached" { // which is never shown
				continue
			}
			if !f.Anonymous && !strings.Contains(c.text, "`"+name+"`") {
				t.Errorf("the page does not say `%s` of a %s", name, c.of.Name())
			}
		}
	}
}

// A generation in which nothing was said yet is shown as well: that /new was
// heard is what people look for.
func TestShowAfterNew(t *testing.T) {
	w := newWorld(t)
	w.say("telegram:1", "", "hello")
	if _, err := w.daemon.store.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: channels.MustKey("telegram:1"), ID: "n", Text: "/new"}, Answered: true, Control: sessions.ControlNew}); err != nil {
		t.Fatal(err)
	}
	if out := w.want([]string{"since    20260301_002"}, "sessions", "show", "telegram:1"); !strings.HasSuffix(out, "generation 20260301_002 began ──\n\n") {
		t.Errorf("the border of /new is not the end:\n%s", out)
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
	one := channels.Inbound{Key: channels.MustKey("irc:#go"), ID: "1", Text: "one", Prefix: "bob: ", Sender: channels.Person{Name: "bob"}, At: clock}
	_, err := w.daemon.store.Accept(t.Context(), sessions.Entry{
		Inbound: one, Answered: true,
		Append: []sessions.Message{
			sessions.UserMessage(one),
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

// What was replaced says so, in a transcript and in a search, and the rest does not.
func TestShowMarksWhatWasReplaced(t *testing.T) {
	w := newWorld(t)
	ann := channels.Inbound{Key: channels.MustKey("irc:#go"), Sender: channels.Person{IDs: []string{"ann"}, Name: "ann"}, At: clock}
	said, anew := ann, ann
	said.ID, said.Text = "1", "/x"
	anew.ID, anew.Text = "2", "which needle?"
	for _, e := range []sessions.Entry{
		{Inbound: said, Answered: true, Append: []sessions.Message{
			{Role: sessions.RoleUser, Name: "ann", Sender: "ann", Content: "first needle", At: clock},
			{Role: sessions.RoleUser, Name: "ann", Sender: "ann", Content: "second needle", At: clock},
		}},
		{Inbound: anew, Replaces: 2},
	} {
		if _, err := w.daemon.store.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	w.want([]string{"  ann\n    first needle\n", "  ann (replaced)\n    second needle\n", "  ann (note)\n"}, "sessions", "show", "irc:#go")
	w.want([]string{"message 1\n", "message 2 (replaced)\n"}, "sessions", "search", "needle")
}
