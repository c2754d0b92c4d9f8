package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// A page has 1 to 200 conversations, and one out of bounds is refused.
func TestPageSizes(t *testing.T) {
	s := sqlitetest.Open(t, now)
	for i := range sessions.MaxPage + 5 {
		k := channels.MustKey(fmt.Sprintf("telegram:%d", i))
		if err := s.Configure(t.Context(), k, func(s *sessions.Settings) error { s.Model = "m"; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	c := api.InProcess(api.New(optionsOf(s)))
	for limit, want := range map[int]int{0: sessions.DefaultPage, 1: 1, 199: 199, 200: 200} {
		if list, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Limit: limit}); err != nil || len(list.Data) != want {
			t.Errorf("limit %d: %d conversations, %v, want %d", limit, len(list.Data), err, want)
		}
	}
	for _, limit := range []int{-7, 201, 1 << 40} {
		_, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Limit: limit})
		if err == nil || !strings.Contains(err.Error(), "limit is 1 to 200") {
			t.Errorf("limit %d: %v, want a refusal with the bounds", limit, err)
		}
	}
	all, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Limit: sessions.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := api.Find.Call(t.Context(), c, api.ConversationQuery{After: all.Next, Limit: sessions.MaxPage})
	if err != nil || len(rest.Data) != 5 || rest.Data[0].Key == all.Data[199].Key || rest.Next != "" {
		t.Errorf("the second page: %d conversations, next %q, %v", len(rest.Data), rest.Next, err)
	}
}

// Every list that has a limit refuses one that no page has, in the same words.
func TestEveryListHasTheSameLimits(t *testing.T) {
	h := api.New(optionsOf(filled(t)))
	lists := 0
	for _, r := range api.Table() {
		_, has := r.Args.FieldByName("Limit")
		if !has {
			continue
		}
		lists++
		path := api.Root + strings.NewReplacer("{key}", "telegram:1", "{name}", "x", "{id}", "x").Replace(r.Path)
		for _, limit := range []string{"0", "-1", "201", "null"} {
			w := asked(h, r.Method, path+"?limit="+limit, "")
			var got struct {
				Error struct{ Message, Type, Param, Code string }
			}
			err := json.Unmarshal(w.Body.Bytes(), &got)
			if err != nil || w.Code != 400 || got.Error.Param != "limit" || got.Error.Type != "invalid_request_error" ||
				got.Error.Message != "limit is 1 to 200; leave it out for a page of the usual size" {
				t.Errorf("%s %s with limit %s = %d %s", r.Method, r.Path, limit, w.Code, w.Body)
			}
		}
	}
	if lists < 10 {
		t.Errorf("only %d lists have a limit", lists)
	}
}

// A title is made of the first words that are left, also after many erased
// messages. A conversation without words of a person gets none.
func TestTitleOfWhatIsLeft(t *testing.T) {
	s := sqlitetest.Open(t, now)
	k := channels.MustKey("telegram:1")
	var said []sessions.Message
	for range 12 {
		said = append(said, sessions.Message{Role: sessions.RoleUser, Content: "[erased]"}, sessions.Message{Role: sessions.RoleAssistant, Content: "no"})
	}
	title := func(id string, more ...sessions.Message) string {
		t.Helper()
		if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: channels.Inbound{Key: k, ID: id, Text: "x"}, Answered: true, Append: more}); err != nil {
			t.Fatal(err)
		}
		c := api.InProcess(api.New(optionsOf(s)))
		defer c.Close()
		list, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Limit: 1})
		if err != nil || len(list.Data) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		return list.Data[0].Name()
	}
	if got := title("1", said...); got != "" {
		t.Errorf("all is erased: title %q", got)
	}
	if got := title("2", sessions.Message{Role: sessions.RoleUser, Content: "what is left"}); got != "what is left" {
		t.Errorf("title %q", got)
	}
}
