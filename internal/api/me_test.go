package api_test

import (
	"testing"

	"dragoman/internal/api"
	"dragoman/internal/people"

	"github.com/google/go-cmp/cmp"
)

// A page that knows nothing learns from two calls who looks at it, and which conversations
// are theirs.
func TestMe(t *testing.T) {
	o := optionsOf(talks(t))
	o.Reads = &sights{}
	o.Channels = func() []api.Channel {
		return []api.Channel{{Name: "telegram", Type: "telegram"}, {Name: "web", Type: "web"}}
	}
	c := with(o, annsToken, people.Chat)
	me, err := api.ReadMe.Call(t.Context(), c, api.None{})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{me.Person, me.Name, string(me.Scope), me.Token, me.Home.String()}
	got = append(got, me.Identities...)
	want := []string{"telegram:1", "phone", "chat", "phone", "web:telegram:1/default", "telegram:1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("me (-want +got):\n%s", diff)
	}
	found, err := api.Find.Call(t.Context(), c, api.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		Network    string
		Group, Own bool
	}
	places := map[string]place{}
	for _, one := range found.Data {
		places[one.Key.String()] = place{one.Network, one.Group, one.Own}
	}
	wanted := map[string]place{annsRoom.String(): {"web", false, true}, group.String(): {"telegram", true, true}}
	if diff := cmp.Diff(wanted, places); diff != "" {
		t.Errorf("Ann's conversations (-want +got):\n%s", diff)
	}
	head, err := api.ReadConversation.Call(t.Context(), c, api.About{Key: annsRoom})
	if err != nil || head.Derived != "old tea of "+annsRoom.String() {
		t.Errorf("the head of her room is called %q, %v", head.Derived, err)
	}
}
