package app_test

import (
	"fmt"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
)

// A program finds out who may answer in a conversation, and who does, before and after it
// chooses. Where nothing is bound, it may choose each.
func TestAgentsOfAConversation(t *testing.T) {
	t.Parallel()
	r := newPlace(t, `agents: {cook: {prompt: Cook.}, tutor: {prompt: Teach.}}
bind: [{match: "web:kitchen", agent: [cook, dragoman]}]
`).run()
	k := channels.MustKey("web:kitchen")
	expect := func(k channels.Key, want string) {
		t.Helper()
		list, err := api.ListAgents.Call(t.Context(), r.admin, api.About{Key: k})
		got := ""
		for _, a := range list.Data {
			got += fmt.Sprint(a.Name, " ", a.Answers, ", ")
		}
		if err != nil || got != want {
			t.Errorf("in %s answer %q, %v, want %q", k, got, err, want)
		}
	}
	expect(k, "cook true, dragoman false, ")
	choice := "dragoman"
	if _, err := api.Configure.Call(t.Context(), r.admin, api.Change{Key: k, Agent: &choice, New: true}); err != nil {
		t.Fatal(err)
	}
	expect(k, "cook false, dragoman true, ")
	expect(channels.MustKey("web:other"), "dragoman true, cook false, tutor false, ")
}
