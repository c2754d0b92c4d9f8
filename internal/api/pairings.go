package api

import (
	"context"
	"strings"
	"time"

	"dragoman/sessions"
)

// Pairing is a person whom the operator approved, or who asks for that.
type Pairing struct {
	Channel  string    `json:"channel"`
	PersonID string    `json:"person_id"`
	Name     string    `json:"name,omitempty"`
	Code     string    `json:"code,omitempty"` // while not approved
	Expires  time.Time `json:"expires,omitzero"`
	Approved time.Time `json:"approved,omitzero"`
}

func pairingOf(p sessions.Pairing) Pairing { return Pairing(p) }

// Code is what a person was given who asks to be let in. Case and dashes do not matter.
type Code struct {
	Code string `json:"code"`
}

func (s *server) pairings(ctx context.Context, q Limited) (Page[Pairing], error) {
	all, err := s.Store.Pairings(ctx, s.Now())
	if err != nil {
		return Page[Pairing]{}, err
	}
	at := func(p Pairing) place { return place{ID: p.Channel + ":" + p.PersonID} }
	byPerson := func(a, b place) int { return strings.Compare(a.ID, b.ID) }
	return pageAfter(each(all, pairingOf), at, byPerson, q.After, q.Limit)
}

func (s *server) approve(ctx context.Context, c Code) (Pairing, error) {
	p, err := s.Approve(ctx, c.Code, s.Now())
	return pairingOf(p), err
}

func (s *server) refusePairing(ctx context.Context, c Code) (Pairing, error) {
	p, err := s.Store.RefusePairing(ctx, c.Code, s.Now())
	return pairingOf(p), err
}

// Paired is a person who was let in on a channel.
type Paired struct {
	Channel string `json:"channel"`
	Person  string `json:"person"`
}

func (s *server) unpair(ctx context.Context, p Paired) error {
	return s.Store.Unpair(ctx, p.Channel, p.Person)
}
