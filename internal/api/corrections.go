package api

import (
	"context"
	"slices"
	"strings"

	"dragoman/sessions"
)

// Correction is what replaces a fact.
type Correction struct {
	Target string `json:"target"`
	ID     int64  `json:"fact"`
	// Text is one fact, up to 2000 bytes.
	Text string `json:"text"`
}

// maxFact is the longest fact, in bytes, as for the model and for people.
const maxFact = 2000

func (s *server) correct(ctx context.Context, c Correction) (Remembered, error) {
	text := strings.TrimSpace(c.Text)
	switch {
	case text == "":
		return Remembered{}, refuse("text", "The text is empty.")
	case len(text) > maxFact:
		return Remembered{}, refuse("text", "The text has %d bytes; one fact may have %d.", len(text), maxFact)
	}
	old, err := s.toChange(ctx, Fact{Target: c.Target, ID: c.ID})
	if err != nil {
		return Remembered{}, err
	}
	kept, err := s.Store.Remember(ctx, old.Scope, sessions.NewFact{Text: text, Replaces: []int64{c.ID}})
	if err != nil {
		return Remembered{}, err
	}
	return rememberedOf(old.Scope, kept.Fact), nil
}

func (s *server) pinFact(ctx context.Context, f Fact) error { return s.setPinned(ctx, f, true) }

func (s *server) unpinFact(ctx context.Context, f Fact) error { return s.setPinned(ctx, f, false) }

func (s *server) setPinned(ctx context.Context, f Fact, pinned bool) error {
	found, err := s.toChange(ctx, f)
	if err != nil {
		return err
	}
	return s.Store.PinFact(ctx, found.Scope, f.ID, pinned)
}

// MemoryOf names one memory of a target.
type MemoryOf struct {
	Target string `json:"target"`
	// Scope is that of its facts: a target may have the memory of the chat and that of the
	// person.
	Scope string `json:"scope"`
}

// Undone is what taking back the last change of a memory did.
type Undone struct {
	// Back are the facts that count again.
	Back []Remembered `json:"back"`
	// Dropped is the fact that had replaced them, if there was one. It is deleted.
	Dropped *Remembered `json:"dropped,omitempty"`
}

func (s *server) undoMemory(ctx context.Context, m MemoryOf) (Undone, error) {
	k, err := s.resolve(ctx, m.Target)
	if err != nil {
		return Undone{}, err
	}
	if err := s.change(ctx, k); err != nil {
		return Undone{}, err
	}
	scopes, err := s.memoriesOf(ctx, k)
	if err != nil {
		return Undone{}, err
	}
	if !slices.Contains(scopes, m.Scope) {
		return Undone{}, refuse("scope", "The scope must be one of %s.", strings.Join(scopes, ", "))
	}
	undone, err := s.Store.UndoFacts(ctx, m.Scope)
	if err != nil {
		return Undone{}, err
	}
	var u Undone
	for _, f := range undone.Back {
		u.Back = append(u.Back, rememberedOf(m.Scope, f))
	}
	if undone.Dropped != nil {
		dropped := rememberedOf(m.Scope, *undone.Dropped)
		u.Dropped = &dropped
	}
	return u, nil
}
