package api_test

import (
	"context"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/internal/usage"
	"dragoman/sessions"

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

// At a port without tokens anybody on the machine asks: they learn nothing of the operator's
// networks.
func TestMeAtAnOpenPort(t *testing.T) {
	s := talks(t)
	o := optionsOf(s)
	o.Channels = func() []api.Channel {
		return []api.Channel{{Name: "telegram", Type: "telegram"}, {Name: "web", Type: "web"}}
	}
	o.Directory = people.NewDirectory(s, people.DirectoryOptions{
		Rooms: []string{"web"}, Operator: func() channels.Key { return channels.MustKey("telegram:9") },
	})
	err := o.Directory.Join(t.Context(), people.OperatorID, "telegram:42")
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string][]string{
		"":      {"web:operator", "web:owner"},
		"phone": {"telegram:42", "telegram:9", "web:operator", "web:owner", "web:telegram:42"},
	} {
		c := with(o, people.Principal{ID: people.OperatorID, Token: token}, people.Chat)
		me, err := api.ReadMe.Call(t.Context(), c, api.None{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, me.Identities); diff != "" {
			t.Errorf("with the token %q (-want +got):\n%s", token, diff)
		}
		_, err = api.ListChannels.Call(t.Context(), c, api.None{})
		if (err == nil) != (token != "") {
			t.Errorf("channels with the token %q: %v", token, err)
		}
	}
}

// What somebody used on their networks, and what is left of it, is told to whoever shows a
// token. At a port without tokens anybody on the machine asks.
func TestUsedAtAnOpenPort(t *testing.T) {
	s := talks(t)
	o := optionsOf(s)
	o.Directory = people.NewDirectory(s, people.DirectoryOptions{Rooms: []string{"web"}, Operator: func() channels.Key { return channels.MustKey("telegram:9") }})
	o.Budgets = oneBudget{}
	for _, person := range []string{"telegram:9", "web:operator", "operator"} {
		said := []sessions.Message{{Model: "m", Usage: &sessions.Usage{Input: 1}}}
		err := s.Count(t.Context(), usage.Turn{Person: person, At: o.Now(), Messages: said}.Counts()...)
		if err != nil {
			t.Fatal(err)
		}
	}
	for token, want := range map[string]struct{ turns, budgets int }{"": {1, 0}, "phone": {3, 1}} {
		c := with(o, people.Principal{ID: people.OperatorID, Token: token}, people.Chat)
		used, err := api.ReadOwnUsage.Call(t.Context(), c, api.UsageQuery{})
		if err != nil || used.Total.Turns != want.turns {
			t.Errorf("usage with the token %q = %+v, %v, want %d turns", token, used.Total, err, want.turns)
		}
		left, err := api.ListOwnBudgets.Call(t.Context(), c, api.None{})
		if err != nil || len(left.Data) != want.budgets {
			t.Errorf("budgets with the token %q = %+v, %v, want %d", token, left, err, want.budgets)
		}
	}
}

// oneBudget is that of everybody.
type oneBudget struct{}

func (oneBudget) All(context.Context) ([]api.Budget, error) { return []api.Budget{{Of: "all"}}, nil }

func (b oneBudget) Of(ctx context.Context, _ string) ([]api.Budget, error) { return b.All(ctx) }
