package storetest

import (
	"testing"

	"dragoman/sessions"
)

var endingTests = map[string]func(*testing.T, *rig){
	"Ending/OfNothing": func(t *testing.T, r *rig) {
		end, err := r.Ending(t.Context(), key("x:1"))
		must(t, err)
		same(t, "Ending", end, sessions.Ending{})
	},
	"Ending/ShowsTheNewestAndWhatIsNotOver": func(t *testing.T, r *rig) {
		ctx := t.Context()
		first := r.accept(t, "x:1", "1", "hello")
		r.accept(t, "x:1", "2", "are you there?")
		end, err := r.Ending(ctx, key("x:1"))
		must(t, err)
		if end.Last == nil || end.Last.Text != "are you there?" || end.Last.From != "person" || end.Waiting != 2 || end.Begun || end.Dead != 0 {
			t.Errorf("Ending = %+v, last %+v", end, end.Last)
		}
		h := r.claim(t)
		r.accept(t, "x:2", "3", "another chat")
		answers := []sessions.Answered{{Seq: first}}
		must(t, r.AppendStep(ctx, h.Claim, "t", answers, sessions.Step{Kind: sessions.StepNote}))
		end, err = r.Ending(ctx, key("x:1"))
		must(t, err)
		if end.Waiting != 2 || !end.Begun {
			t.Errorf("while a turn runs, Ending = %+v", end)
		}
		must(t, r.CommitTurn(ctx, h.Claim, sessions.Turn{ID: "t", Answers: answers, Messages: []sessions.Message{user("hello"), assistant("hi")}, Replies: []sessions.Reply{{Text: "hi"}}}))
		ds, err := r.Unsent(ctx, h.Claim, 0)
		must(t, err)
		must(t, r.MarkDead(ctx, h.Claim, ds[0].ID, "blocked"))
		end, err = r.Ending(ctx, key("x:1"))
		must(t, err)
		if end.Last == nil || end.Last.Text != "are you there?" || end.Waiting != 1 || end.Begun || end.Dead != 1 {
			t.Errorf("after a delivery was given up, Ending = %+v, last %+v", end, end.Last)
		}
	},
}
