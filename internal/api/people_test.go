package api_test

import (
	"fmt"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// Whoever is allowed by a number has the name that their network says, the newest one, and not
// the title of their conversation.
func TestNamesOfPeople(t *testing.T) {
	s := sqlitetest.Open(t, now)
	o := optionsOf(s)
	o.Directory = people.NewDirectory(s, people.DirectoryOptions{Operator: func() channels.Key { return channels.Key{} }})
	if err := o.Directory.Join(t.Context(), "telegram:71", "irc:ann"); err != nil {
		t.Fatal(err)
	}
	k := channels.MustKey("telegram:71")
	for i, name := range []string{"Ann", "Ann B."} {
		said := channels.Inbound{Key: k, ID: fmt.Sprint(i), Text: "hello", Private: true, Sender: channels.Person{IDs: []string{"71"}, Name: name}}
		if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: said, Answered: true, Append: []sessions.Message{{Role: sessions.RoleUser, Content: "hello", Sender: "71", At: began}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Rename(t.Context(), k, "Bread"); err != nil {
		t.Fatal(err)
	}
	list, err := api.ListPeople.Call(t.Context(), with(o, people.Principal{ID: people.OperatorID}, people.Admin), api.PeopleQuery{Text: "ann b"})
	if err != nil || len(list.Data) != 1 || list.Data[0].Name != "Ann B." {
		t.Errorf("ListPeople = %+v, %v, want Ann B.", list.Data, err)
	}
}
