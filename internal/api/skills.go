package api

import (
	"context"
	"fmt"

	"dragoman/sessions"
)

// Skills are the instructions in skills.dir. Errors: sessions.ErrNotFound for one that is not
// there. An error that the caller is to read is a [respond.Refusal].
type Skills interface {
	List(ctx context.Context) ([]Skill, error)
	// Accept offers a skill to the model, as whoever accepts it has read it.
	Accept(ctx context.Context, a AcceptedSkill) error
}

// Skill is a skill as it is now.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"` // its own words
	// State is accepted, new, changed (another version was accepted), wrong (it cannot be
	// accepted), or gone (it was accepted, and is not there).
	State string `json:"state"`
	Why   string `json:"why,omitempty"` // it is wrong
	// Hash is of the whole folder: whoever accepts it says what they have read.
	Hash string `json:"hash,omitempty"`
	// Files and Bytes are how much there is, and Tokens about how many its instructions have.
	Files  int `json:"files"`
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
	// Hints are what to look at before it is accepted. They are no verdict.
	Hints []string `json:"hints,omitempty"`
}

// AcceptedSkill says which skill is accepted.
type AcceptedSkill struct {
	Name string `json:"name"`
	Hash string `json:"hash"` // of a Skill; one that is gone is forgotten
}

func (s *server) skills(ctx context.Context, _ None) (Page[Skill], error) {
	if s.Skills == nil {
		return pageOf[Skill](nil, nil)
	}
	return pageOf(s.Skills.List(ctx))
}

func (s *server) acceptSkill(ctx context.Context, a AcceptedSkill) error {
	if s.Skills == nil {
		return fmt.Errorf("api: skill %s: %w", a.Name, sessions.ErrNotFound)
	}
	return s.Skills.Accept(ctx, a)
}
