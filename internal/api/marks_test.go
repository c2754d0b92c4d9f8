package api_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

// What one has read and pinned is in lists, for oneself alone.
func TestMarks(t *testing.T) {
	s := filled(t)
	o := optionsOf(s)
	o.Notes = s
	c := api.InProcess(api.New(o))
	defer c.Close()
	k := channels.MustKey("telegram:1")
	is := func(what string, unread int, pinned bool) {
		t.Helper()
		one, err := api.ReadConversation.Call(t.Context(), c, api.About{Key: k})
		if err != nil || one.Unread != unread || one.Pinned != pinned {
			t.Errorf("%s: unread %d, pinned %t, %v; want %d, %t", what, one.Unread, one.Pinned, err, unread, pinned)
		}
		page, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Pinned: true})
		if err != nil || (len(page.Data) == 1) != pinned {
			t.Errorf("%s: %d pinned, %v", what, len(page.Data), err)
		}
		page, err = api.Find.Call(t.Context(), c, api.ConversationQuery{Text: "telegram:1"})
		if err != nil || len(page.Data) != 1 || page.Data[0].Unread != unread {
			t.Errorf("%s: the list is %+v, %v", what, page.Data, err)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	is("at first", 2, false)
	do(api.MarkRead.Call(t.Context(), c, api.ReadUpTo{Key: k, Messages: 1}))
	do(api.Pin.Call(t.Context(), c, api.About{Key: k}))
	is("after one", 1, true)
	do(api.MarkRead.Call(t.Context(), c, api.ReadUpTo{Key: k}))
	do(api.MarkRead.Call(t.Context(), c, api.ReadUpTo{Key: k, Messages: 1})) // another page is behind
	do(api.Unpin.Call(t.Context(), c, api.About{Key: k}))
	is("after all", 0, false)
	do(api.MarkUnread.Call(t.Context(), c, api.About{Key: k}))
	is("for later", 1, false)
	do(api.MarkRead.Call(t.Context(), c, api.ReadUpTo{Key: k}))

	notes, err := s.Notes(t.Context(), sessions.NoteFilter{Kind: "mark"})
	if err != nil || len(notes) != 1 || notes[0].Owner != "operator" {
		t.Errorf("the notes are %v, %v; want one of the operator", notes, err)
	}
}

// What one says oneself is not new to oneself: under all identities that are joined, and
// not that of somebody of the same id on another network.
func TestOwnMessagesAreNotUnread(t *testing.T) {
	s := filled(t)
	k := channels.MustKey("telegram:-100")
	n := 0
	say := func(sender, text string, steps ...sessions.Message) {
		t.Helper()
		n++
		e := sessions.Entry{Inbound: channels.Inbound{Key: k, ID: fmt.Sprint("own-", n), Text: text, Sender: channels.Person{IDs: []string{sender}}}, Answered: true}
		e.Append = append([]sessions.Message{sessions.UserMessage(e.Inbound)}, steps...)
		e.Append = append(e.Append, sessions.Message{Role: sessions.RoleAssistant, Content: "heard"})
		if _, err := s.Accept(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	o := optionsOf(s)
	o.Notes = s
	o.Directory = people.NewDirectory(s, people.DirectoryOptions{Operator: func() channels.Key { return channels.Key{} }})
	if err := o.Directory.Join(t.Context(), "irc:ann", "telegram:1"); err != nil {
		t.Fatal(err)
	}
	o.Reads = seen{k: {May: true}}
	readers := map[string]*api.Client{}
	for _, id := range []string{"telegram:1", "irc:ann", "irc:1", "telegram:2"} {
		readers[id] = as(o, people.Principal{ID: id, Scope: people.Chat, Token: id, TokenID: "1"})
	}
	unread := func(what string, want map[string]int) {
		t.Helper()
		got := map[string]int{}
		for id, c := range readers {
			one, err := api.ReadConversation.Call(t.Context(), c, api.About{Key: k})
			if err != nil {
				t.Fatal(err)
			}
			got[id] = one.Unread
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, unread (-want +got):\n%s", what, diff)
		}
	}
	say("1", "hello")
	say("2", "good evening")
	unread("at first", map[string]int{"telegram:1": 3, "irc:ann": 3, "irc:1": 4, "telegram:2": 3})
	for _, c := range readers {
		if err := api.MarkRead.Call(t.Context(), c, api.ReadUpTo{Key: k}); err != nil {
			t.Fatal(err)
		}
	}
	say("1", "and now?", // the call of a tool and its result are part of the answer
		sessions.Message{Role: sessions.RoleAssistant, Content: "I look.", ToolCalls: []sessions.ToolCall{{ID: "c1", Name: "time", Arguments: "{}"}}},
		sessions.Message{Role: sessions.RoleTool, ToolCallID: "c1", Name: "time", Content: "noon"})
	unread("after one more", map[string]int{"telegram:1": 1, "irc:ann": 1, "irc:1": 2, "telegram:2": 2})
	for range 60 {
		say("1", "again")
	}
	// Of the newest hundred half are hers; those before them all count.
	unread("after many more", map[string]int{"telegram:1": 124 - 50, "irc:ann": 124 - 50, "irc:1": 124, "telegram:2": 124})
}

// There is room for the newest marks: what was read longest ago counts as unread again,
// and what is pinned stays.
func TestMarksHaveAnEnd(t *testing.T) {
	s := filled(t)
	o := optionsOf(s)
	o.Notes = s
	full := func([]sessions.Note) (put []sessions.Note, remove []string, err error) {
		for i := range sessions.MaxNotes {
			put = append(put, sessions.Note{Name: fmt.Sprintf("web:room-%04d", i), Data: []byte(`{"pinned": true}`)})
		}
		put[7].Data = []byte(`{"read": 1}`)
		return put, nil, nil
	}
	if err := s.ChangeNotes(t.Context(), "mark", "operator", full); err != nil {
		t.Fatal(err)
	}
	c := api.InProcess(api.New(o))
	defer c.Close()
	if err := api.Pin.Call(t.Context(), c, api.About{Key: channels.MustKey("telegram:1")}); err != nil {
		t.Fatal(err)
	}
	left, err := s.Notes(t.Context(), sessions.NoteFilter{Kind: "mark", Owner: "operator", Name: "web:room-0007"})
	if err != nil || len(left) != 0 {
		t.Errorf("the oldest mark that is only read is %v, %v; want none", left, err)
	}
}

// Other pages of the same person learn what was read and pinned, and nobody else does.
func TestMarksAreTold(t *testing.T) {
	s := filled(t)
	hub := stream.New(stream.Options{})
	o := optionsOf(s)
	o.Notes = s
	o.Reads = seen{channels.MustKey("telegram:1"): {May: true, Own: true}}
	o.Listening = hub
	o.Events = hub.Publish
	h := api.New(o)
	c := api.InProcess(h)
	defer c.Close()
	mine := listen(t, h, owner, "", "")
	others := listen(t, h, ann, "", "")
	mine.want("hello", "")
	others.want("hello", "")
	k := channels.MustKey("telegram:1")
	for _, err := range []error{
		api.Pin.Call(t.Context(), c, api.About{Key: k}), api.Unpin.Call(t.Context(), c, api.About{Key: k}), api.MarkRead.Call(t.Context(), c, api.ReadUpTo{Key: k}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	hub.Publish(stream.Event{Event: stream.PairingChange, Channel: "telegram", Why: "asked"})
	hub.Publish(accepted(k, 7))
	for _, why := range []string{"pinned", "unpinned", "read"} {
		mine.want("mark_change", `"why":"`+why+`"`)
	}
	mine.want("pairing_change", `"channel":"telegram"`)
	mine.want("message_accepted", `"seq":7`)
	others.want("message_accepted", `"seq":7`)
}

// A list of conversations shows what was said last, and what waits; nothing of it to those
// who may not read the conversation.
func TestEndOfConversations(t *testing.T) {
	s := filled(t)
	o := optionsOf(s)
	k := channels.MustKey("telegram:1")
	sight := seen{k: {May: true, Own: true}}
	o.Reads = sight
	c := api.InProcess(api.New(o))
	defer c.Close()
	end := func() api.Conversation {
		t.Helper()
		page, err := api.Find.Call(t.Context(), c, api.ConversationQuery{Channel: "telegram"})
		if err != nil || len(page.Data) != 1 {
			t.Fatalf("the list is %+v, %v", page, err)
		}
		return page.Data[0]
	}
	got := end()
	want := &api.LastLine{From: "dragoman", Text: "hi", At: got.Last.At, State: "queued"}
	if diff := cmp.Diff(want, got.Last); diff != "" || got.Waiting != 0 || got.Answering {
		t.Errorf("the end is %+v; the last line (-want +got):\n%s", got, diff)
	}
	m := channels.Inbound{Key: k, ID: "more", Text: "> hi\nand now?", Sender: channels.Person{IDs: []string{"1"}, Name: "Ann"}}
	if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: m}); err != nil {
		t.Fatal(err)
	}
	got = end()
	if got.Last.From != "person" || got.Last.Name != "Ann" || got.Last.Text != "and now?" || got.Waiting != 1 {
		t.Errorf("the end is %+v, its last line %+v", got, got.Last)
	}
	delete(sight, k)
	got = end()
	if got.Last != nil || got.Waiting != 0 {
		t.Errorf("somebody else sees the end %+v, %+v", got, got.Last)
	}
}
