package storetest

import (
	"context"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
)

// rate notes what owner thinks of the answer of a turn.
func rate(t *testing.T, r *rig, owner, turn string) {
	t.Helper()
	must(t, r.ChangeNotes(t.Context(), sessions.FeedbackKind, owner, func([]sessions.Note) (put []sessions.Note, remove []string, err error) {
		return []sessions.Note{{Name: turn, Data: []byte(`{"value":"up"}`)}}, nil, nil
	}))
}

// ratings are the turns that somebody has given feedback about, with who did.
func ratings(t *testing.T, r *rig) (list []string) {
	t.Helper()
	notes, err := r.Notes(t.Context(), sessions.NoteFilter{Kind: sessions.FeedbackKind})
	must(t, err)
	for _, n := range notes {
		list = append(list, n.Owner+" "+n.Name)
	}
	return list
}

var feedbackTests = map[string]func(*testing.T, *rig){
	// Feedback belongs to a person, and to the conversation in which the turn is now.
	"Feedback/GoesWithItsConversation": func(t *testing.T, r *rig) {
		answer := assistant("a")
		answer.Turn = "x:1#1"
		r.say(t, "x:1", "1", user("q"), answer)
		r.say(t, "x:2", "2", user("q"))
		r.say(t, "x:11", "3", user("q"))
		rate(t, r, "x:42", "x:1#1")
		rate(t, r, "x:7", "x:1#1")
		rate(t, r, "x:7", "x:11#1")
		must(t, r.Join(t.Context(), key("x:1"), key("x:2")))
		gone := sessions.Erasure{Keys: []channels.Key{key("x:2")}, Owners: []string{"x:42"}}
		planned, _, err := r.Owned(t.Context(), gone)
		must(t, err)
		got, err := r.Erase(context.WithoutCancel(t.Context()), gone)
		must(t, err)
		if planned != 2 || got.Notes != 2 {
			t.Errorf("the plan has %d notes, and the erasure %d, want 2", planned, got.Notes)
		}
		same(t, "feedback", ratings(t, r), []string{"x:7 x:11#1"})
		must(t, erased(r.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})))
		same(t, "feedback", ratings(t, r), nil)
	},
}
