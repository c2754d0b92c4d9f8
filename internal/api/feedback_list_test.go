package api_test

import (
	"context"
	"testing"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Whoever runs Dragoman lists what people think of answers, and sees it by model.
func TestListFeedback(t *testing.T) {
	s := rated(t)
	o := optionsOf(s)
	o.Notes = s
	c := api.InProcess(api.New(o))
	defer c.Close()
	ctx, k := t.Context(), channels.MustKey("telegram:1")
	if err := api.GiveFeedback.Call(ctx, c, api.FeedbackOn{Key: k, Seq: 5, Value: "down", Note: "wrong year"}); err != nil {
		t.Fatal(err)
	}
	list, err := api.ListFeedback.Call(ctx, c, api.FeedbackQuery{})
	want := []api.GivenFeedback{{Key: k, Seq: 5, Turn: "telegram:1#9", Model: "m", Person: "operator", Value: "down", Note: "wrong year"}}
	if diff := cmp.Diff(want, list.Data, cmpopts.IgnoreFields(api.GivenFeedback{}, "At"), cmpopts.EquateComparable(channels.Key{})); diff != "" || err != nil {
		t.Errorf("the list, %v (-want +got):\n%s", err, diff)
	}
	models, err := api.CountFeedback.Call(ctx, c, api.None{})
	if diff := cmp.Diff([]api.ModelFeedback{{Model: "m", Down: 1}}, models.Data); diff != "" || err != nil {
		t.Errorf("by model, %v (-want +got):\n%s", err, diff)
	}
	for _, q := range []api.FeedbackQuery{{Value: "up"}, {Model: "other"}, {Key: channels.MustKey("telegram:2")}} {
		if list, err := api.ListFeedback.Call(ctx, c, q); err != nil || len(list.Data) > 0 {
			t.Errorf("ListFeedback(%+v) = %+v, %v, want nothing", q, list, err)
		}
	}
}

// What somebody thinks of an answer is shown to themselves with the message; whoever runs
// Dragoman sees it in the list, without its words if the talk is not theirs to read.
func TestFeedbackOfOthers(t *testing.T) {
	s := rated(t)
	o := optionsOf(s)
	o.Notes = s
	o.Directory = people.NewDirectory(s, people.DirectoryOptions{Operator: func() channels.Key { return channels.Key{} }})
	k := channels.MustKey("telegram:1")
	o.Reads = seen{k: {May: true, Own: true}}
	ann := as(o, people.Principal{ID: "telegram:1", Name: "ann", Scope: people.Chat, Token: "ann", TokenID: "1"})
	err := api.GiveFeedback.Call(t.Context(), ann, api.FeedbackOn{Key: k, Seq: 5, Value: "up", Note: "my words"})
	if err != nil {
		t.Fatal(err)
	}
	if page, err := api.ReadMessages.Call(t.Context(), ann, api.Part{Key: k}); err != nil || page.Data[4].Feedback == nil {
		t.Errorf("ann reads %+v, %v; want her feedback", page.Data, err)
	}
	bob := as(o, people.Principal{ID: "telegram:2", Name: "bob", Scope: people.Operate, Token: "bob", TokenID: "2"})
	if page, err := api.ReadMessages.Call(t.Context(), bob, api.Part{Key: k}); err != nil || page.Data[4].Feedback != nil {
		t.Errorf("bob reads %+v, %v; want no feedback of others", page.Data, err)
	}
	o.Reads = seen{}
	bob = as(o, people.Principal{ID: "telegram:2", Name: "bob", Scope: people.Operate, Token: "bob", TokenID: "2"})
	list, err := api.ListFeedback.Call(t.Context(), bob, api.FeedbackQuery{})
	if err != nil || len(list.Data) != 1 || list.Data[0].Note != "" || list.Data[0].Value != "up" || list.Data[0].Person != "telegram:1" {
		t.Errorf("bob lists %+v, %v; want ann's without her words", list.Data, err)
	}
}

// Feedback stays with its answer when conversations are joined, and goes with the
// conversation and with the person.
func TestFeedbackMovesAndIsErased(t *testing.T) {
	for name, erase := range map[string]sessions.Erasure{
		"the conversation":                 {Keys: []channels.Key{channels.MustKey("telegram:5")}},
		"the conversation of that name":    {Keys: []channels.Key{channels.MustKey("telegram:1")}},
		"the person":                       {Owners: []string{"operator"}},
		"both, and it is counted one time": {Owners: []string{"operator"}, Keys: []channels.Key{channels.MustKey("telegram:5")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := rated(t)
			o := optionsOf(s)
			o.Notes = s
			c := api.InProcess(api.New(o))
			defer c.Close()
			from, to := channels.MustKey("telegram:1"), channels.MustKey("telegram:5")
			if err := api.GiveFeedback.Call(t.Context(), c, api.FeedbackOn{Key: from, Seq: 5, Value: "up"}); err != nil {
				t.Fatal(err)
			}
			if err := s.Join(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			page, err := api.ReadMessages.Call(t.Context(), c, api.Part{Key: to})
			if err != nil || len(page.Data) != 6 || page.Data[4].Feedback == nil {
				t.Fatalf("after the join: %+v, %v; want the feedback", page.Data, err)
			}
			list, err := api.ListFeedback.Call(t.Context(), c, api.FeedbackQuery{})
			if err != nil || len(list.Data) != 1 || list.Data[0].Seq != 0 {
				t.Errorf("after the join, the list is %+v, %v; want no number", list.Data, err)
			}
			planned, _, err := s.Owned(t.Context(), erase)
			if err != nil || planned != 1 {
				t.Errorf("the plan has %d notes, %v; want 1", planned, err)
			}
			got, err := s.Erase(context.Background(), erase)
			if err != nil || got.Notes != 1 {
				t.Errorf("Erase = %+v, %v; want one note", got, err)
			}
			left, err := s.Notes(t.Context(), sessions.NoteFilter{Kind: sessions.FeedbackKind})
			if err != nil || len(left) > 0 {
				t.Errorf("%+v is left, %v", left, err)
			}
		})
	}
}
