package api

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Remembered is one fact in the memory of a chat or a person.
type Remembered struct {
	// Scope is "chat:" and a key, or "person:", channel and id; before that "agent:", a
	// persona and ":", if only that one remembers it.
	Scope string    `json:"scope"`
	ID    int64     `json:"id"`
	Text  string    `json:"text"`
	At    time.Time `json:"at"`
	// Origins are whose words it is, beside the person's: as in Message.
	Origins []sessions.Origin `json:"origins,omitempty"`
	// From is the conversation that it was said in; it is left out where nobody knows.
	From string `json:"from,omitempty"`
	// Pinned facts come first in a prompt.
	Pinned bool `json:"pinned,omitempty"`
}

func rememberedOf(scope string, f sessions.Fact) Remembered {
	r := Remembered{Scope: scope, ID: f.ID, Text: f.Text, At: f.At, Origins: f.Origins, Pinned: f.Pinned}
	if !f.From.IsZero() {
		r.From = f.From.String()
	}
	return r
}

// FactsOf asks for one page of the facts about a conversation or a person, who is named as
// in a [Target].
type FactsOf struct {
	Target string `json:"target"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: a hundred.
	Limit int `json:"limit,omitempty"`
}

func (s *server) facts(ctx context.Context, of FactsOf) (Page[Remembered], error) {
	k, err := s.resolve(ctx, of.Target)
	if err != nil {
		return Page[Remembered]{}, err
	}
	all, err := s.factsOf(ctx, k)
	if err != nil {
		return Page[Remembered]{}, err
	}
	at := func(f Remembered) place { return place{ID: strconv.FormatInt(f.ID, 10)} }
	newest := func(a, b place) int { return oldestFirst(b, a) }
	return pageAfter(all, at, newest, of.After, of.Limit)
}

// factsOf returns the facts about a chat and, if it is a private one, about its person.
// The memory of a chat does not say when it began, so only who has seen all of it reads it.
func (s *server) factsOf(ctx context.Context, k channels.Key) ([]Remembered, error) {
	scopes, err := s.memoriesOf(ctx, k)
	if err != nil {
		return nil, err
	}
	var all []Remembered
	for _, scope := range scopes {
		facts, err := s.Store.Recall(ctx, scope, "", math.MaxInt)
		if err != nil {
			return nil, err
		}
		for _, f := range facts {
			all = append(all, rememberedOf(scope, f))
		}
	}
	return all, nil
}

// memoriesOf returns the scopes of a chat and of its person that the caller sees.
func (s *server) memoriesOf(ctx context.Context, k channels.Key) (seen []string, err error) {
	if err := s.readAll(ctx, k); err != nil {
		return nil, err
	}
	scopes, err := s.Eraser.Scopes(ctx, k)
	if err != nil {
		return nil, err
	}
	for _, scope := range scopes {
		may, err := s.seesFacts(ctx, k, scope)
		if err != nil {
			return nil, err
		}
		if sessions.SharedScope(scope) == sessions.ChatScope(k) || may {
			seen = append(seen, scope)
		}
	}
	return seen, nil
}

// seesFacts reports whether the caller sees the facts of a scope, which are those of a
// chat or of a person. A person is as private as their private chat, which a person of the
// page does not have: the room k of theirs stands for it.
func (s *server) seesFacts(ctx context.Context, k channels.Key, scope string) (bool, error) {
	_, of, _ := strings.Cut(sessions.SharedScope(scope), ":")
	chat, err := channels.ParseKey(of)
	if err != nil {
		return AtSocket(ctx), nil
	}
	if k.Channel() == pageType && strings.HasPrefix(k.String(), of+"/") {
		chat = k
	}
	sight, err := s.sight(ctx, chat)
	return sight.May && !hidesSome(sight), err
}

// Fact is a fact of a target, by its number.
type Fact struct {
	Target string `json:"target"`
	ID     int64  `json:"fact"`
}

func (s *server) forget(ctx context.Context, f Fact) error {
	found, err := s.toChange(ctx, f)
	if err != nil {
		return err
	}
	return s.Store.Forget(ctx, found.Scope, f.ID)
}

// toChange finds a fact that the caller may change.
func (s *server) toChange(ctx context.Context, f Fact) (Remembered, error) {
	k, err := s.resolve(ctx, f.Target)
	if err != nil {
		return Remembered{}, err
	}
	if err := s.change(ctx, k); err != nil {
		return Remembered{}, err
	}
	facts, err := s.factsOf(ctx, k)
	if err != nil {
		return Remembered{}, err
	}
	i := slices.IndexFunc(facts, func(one Remembered) bool { return one.ID == f.ID })
	if i < 0 {
		return Remembered{}, fmt.Errorf("api: fact %d: %w", f.ID, sessions.ErrNotFound)
	}
	return facts[i], nil
}
