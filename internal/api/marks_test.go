package api_test

import (
	"fmt"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
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

	notes, err := s.Notes(t.Context(), sessions.NoteFilter{Kind: "mark"})
	if err != nil || len(notes) != 1 || notes[0].Owner != "operator" {
		t.Errorf("the notes are %v, %v; want one of the operator", notes, err)
	}
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
