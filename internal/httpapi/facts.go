package httpapi

import (
	"context"
	"fmt"
	"slices"

	"dragoman/sessions"
)

// Remembered is one fact in the memory of a chat or a person.
type Remembered struct {
	// Scope is "chat:" and a key, or "person:", channel and id.
	Scope string `json:"scope"`
	sessions.Fact
}

func (a *admin) facts(ctx context.Context, target string) ([]Remembered, error) {
	k, err := a.resolve(ctx, target)
	if err != nil {
		return nil, err
	}
	scopes, err := a.Eraser.Scopes(ctx, k)
	if err != nil {
		return nil, err
	}
	all := []Remembered{}
	for _, scope := range scopes {
		facts, err := a.Store.Recall(ctx, scope, "", maxPage)
		if err != nil {
			return nil, err
		}
		for _, f := range facts {
			all = append(all, Remembered{scope, f})
		}
	}
	return all, nil
}

// Fact is a fact of a target, by its number.
type Fact struct {
	Target string `json:"target"`
	ID     int64  `json:"fact"`
}

func (a *admin) forget(ctx context.Context, f Fact) error {
	facts, err := a.facts(ctx, f.Target)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(facts, func(one Remembered) bool { return one.ID == f.ID })
	if i < 0 {
		return fmt.Errorf("httpapi: forget: %w", sessions.ErrNotFound)
	}
	k, err := a.resolve(ctx, f.Target)
	if err != nil {
		return err
	}
	return a.Audit.Record("forget", func() error { return a.Store.Forget(ctx, facts[i].Scope, f.ID) }, k)
}
