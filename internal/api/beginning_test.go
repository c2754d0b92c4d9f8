package api_test

import (
	"errors"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// A conversation can be opened while its first question waits: the turn may wait for a yes,
// and what it asks is read there. To others it is not there, as any talk.
func TestBeginningOfConversation(t *testing.T) {
	s := filled(t)
	o := optionsOf(s)
	k := channels.MustKey("telegram:9")
	sight := seen{k: {May: true, Own: true}}
	o.Reads = sight
	c := api.InProcess(api.New(o))
	defer c.Close()
	open := func() (api.Conversation, error) { return api.ReadConversation.Call(t.Context(), c, api.About{Key: k}) }
	if got, err := open(); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("before anybody wrote it is %+v, %v", got, err)
	}
	m := channels.Inbound{Key: k, ID: "first", Text: "*water* the tomatoes", Private: true, Sender: channels.Person{IDs: []string{"9"}, Name: "Ann"}}
	if _, err := s.Accept(t.Context(), sessions.Entry{Inbound: m}); err != nil {
		t.Fatal(err)
	}
	got, err := open()
	if err != nil || got.Key != k || got.Derived != "water the tomatoes" || got.Waiting != 1 || got.MessageCount != 0 || !got.Own || got.Created.IsZero() {
		t.Errorf("the beginning is %+v, %v", got, err)
	}
	if got.Last == nil || got.Last.Text != "water the tomatoes" {
		t.Errorf("its last line is %+v", got.Last)
	}
	sight[k] = people.Sight{}
	if got, err := open(); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("somebody else opens %+v, %v", got, err)
	}
}
