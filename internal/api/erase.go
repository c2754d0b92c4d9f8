package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/erasure"
)

func (a *admin) resolve(ctx context.Context, target string) (channels.Key, error) {
	if k, err := channels.ParseKey(target); err == nil {
		return k, nil
	}
	people, err := a.Store.Pairings(ctx, a.Now())
	if err != nil {
		return channels.Key{}, err
	}
	var found []channels.Key
	for _, p := range people {
		if k, err := channels.NewKey(p.Channel, p.PersonID); err == nil && target != "" && strings.EqualFold(p.Name, target) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return channels.Key{}, &Refusal{Sentence: "this is neither a conversation's key, nor a person like telegram:123456, nor the name of a paired person"}
	case 1:
		return found[0], nil
	}
	return channels.Key{}, &Refusal{Sentence: fmt.Sprintf("several people were paired under this name: write %s or %s", found[0], found[1])}
}

// Target is a conversation or a person: Name is a key, "channel:id" of a person, or a
// name under which a person was paired.
type Target struct {
	Name             string `json:"target"`
	OnlyConversation bool   `json:"only_conversation,omitempty"`
}

func (a *admin) planErase(ctx context.Context, t Target) (erasure.Plan, error) {
	k, err := a.resolve(ctx, t.Name)
	if err != nil {
		return erasure.Plan{}, err
	}
	return a.Eraser.Plan(ctx, k, t.OnlyConversation)
}

func (a *admin) erase(ctx context.Context, e sessions.Erasure) (sessions.Erased, error) {
	if len(e.Keys)+len(e.Senders)+len(e.Scopes) == 0 {
		return sessions.Erased{}, &Refusal{Sentence: "there is nothing to erase"}
	}
	return a.Eraser.Erase(ctx, e)
}

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
		return fmt.Errorf("api: forget: %w", sessions.ErrNotFound)
	}
	k, err := a.resolve(ctx, f.Target)
	if err != nil {
		return err
	}
	return a.Audit.Record("forget", func() error { return a.Store.Forget(ctx, facts[i].Scope, f.ID) }, k)
}
