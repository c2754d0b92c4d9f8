package erasure_test

import (
	"errors"
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
	"dragoman/sessions/sqlite/sqlitetest"
)

// Somebody who never wrote, and of whom there are only notes and counts, is planned and
// erased with them. An erasure of the conversation alone leaves the person's.
func TestNotesArePlanned(t *testing.T) {
	s := sqlitetest.Open(t, now)
	e := erasure.New(erasure.Options{Store: s, Now: now})
	key := channels.MustKey("telegram:42")
	for _, owner := range []string{"telegram:42", sessions.ChatScope(key), "telegram:7"} {
		err := s.ChangeNotes(t.Context(), "stickers", owner, func([]sessions.Note) ([]sessions.Note, []string, error) {
			return []sessions.Note{{Name: "a"}, {Name: "b"}}, nil, nil
		})
		err = errors.Join(err, s.Count(t.Context(), sessions.Count{Kind: "stickers", Owner: owner, Day: "20260301", N: 1}))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		onlyConversation bool
		notes, counts    int
	}{
		{true, 2, 1},
		{false, 2, 1}, // the chat's are gone
	} {
		plan, err := e.Plan(t.Context(), key, step.onlyConversation)
		if err != nil || plan.Notes != step.notes || plan.Counts != step.counts || plan.Empty() {
			t.Fatalf("Plan = %+v, %v, want %d notes and %d counts", plan, err, step.notes, step.counts)
		}
		got, err := e.Erase(t.Context(), plan.Erasure)
		if err != nil || got.Notes != step.notes || got.Counts != step.counts {
			t.Fatalf("Erase = %+v, %v, want what was planned", got, err)
		}
	}
	if plan, err := e.Plan(t.Context(), key, false); err != nil || !plan.Empty() {
		t.Errorf("Plan = %+v, %v, want an empty one", plan, err)
	}
	left, err := s.Notes(t.Context(), sessions.NoteFilter{Kind: "stickers"})
	if err != nil || len(left) != 2 || left[0].Owner != "telegram:7" {
		t.Errorf("left are %+v, %v", left, err)
	}
}
