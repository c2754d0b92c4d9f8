package people_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"dragoman/sessions"
)

// store has notes in memory. It counts what it does, and fails if it is told to.
type store struct {
	mu              sync.Mutex
	notes           []sessions.Note
	reads, writes   int
	fail, failWrite error
}

func newStore() *store { return &store{} }

// Notes is that of the engine, as far as it is used.
func (s *store) Notes(_ context.Context, like sessions.NoteFilter) ([]sessions.Note, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.fail != nil {
		return nil, s.fail
	}
	var found []sessions.Note
	for _, n := range s.notes {
		if (like.Kind == "" || n.Kind == like.Kind) && (like.Owner == "" || n.Owner == like.Owner) && (like.Name == "" || n.Name == like.Name) {
			n.Data = slices.Clone(n.Data)
			found = append(found, n)
		}
	}
	return found, nil
}

// ChangeNotes is that of the engine.
func (s *store) ChangeNotes(_ context.Context, kind, owner string, change func([]sessions.Note) ([]sessions.Note, []string, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil || s.failWrite != nil {
		if s.fail != nil {
			return s.fail
		}
		return s.failWrite
	}
	var have, others []sessions.Note
	for _, n := range s.notes {
		if n.Kind == kind && n.Owner == owner {
			have = append(have, n)
		} else {
			others = append(others, n)
		}
	}
	put, remove, err := change(slices.Clone(have))
	if err != nil {
		return err
	}
	s.writes++
	have = slices.DeleteFunc(have, func(n sessions.Note) bool {
		return slices.Contains(remove, n.Name) || slices.ContainsFunc(put, func(p sessions.Note) bool { return p.Name == n.Name })
	})
	s.notes = append(append(others, have...), put...)
	return nil
}

// ChangeAllNotes is that of the engine.
func (s *store) ChangeAllNotes(_ context.Context, kinds []string, change func([]sessions.Note) (put, remove []sessions.Note, err error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmp.Or(s.fail, s.failWrite); err != nil {
		return err
	}
	var have []sessions.Note
	for _, n := range s.notes {
		if slices.Contains(kinds, n.Kind) {
			have = append(have, n)
		}
	}
	put, remove, err := change(have)
	if err != nil {
		return err
	}
	s.writes++
	same := func(list []sessions.Note, n sessions.Note) bool {
		return slices.ContainsFunc(list, func(o sessions.Note) bool { return o.Kind == n.Kind && o.Owner == n.Owner && o.Name == n.Name })
	}
	s.notes = slices.DeleteFunc(s.notes, func(n sessions.Note) bool { return same(put, n) || same(remove, n) })
	s.notes = append(s.notes, put...)
	return nil
}

// erase removes the notes of one owner.
func (s *store) erase(owner string) {
	s.notes = slices.DeleteFunc(s.notes, func(n sessions.Note) bool { return n.Owner == owner })
}

// text is all that is stored.
func (s *store) text(t *testing.T) string {
	text, err := json.Marshal(s.notes)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
