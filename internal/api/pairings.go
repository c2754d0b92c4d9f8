package api

import (
	"context"

	"dragoman/sessions"
)

// Code is what a person was given who asks to be let in. Case and dashes do not matter.
type Code struct {
	Code string `json:"code"`
}

func (s *server) pairings(ctx context.Context, _ None) (Page[sessions.Pairing], error) {
	return pageOf(s.Store.Pairings(ctx, s.Now()))
}

func (s *server) approve(ctx context.Context, c Code) (sessions.Pairing, error) {
	return s.Approve(ctx, c.Code, s.Now())
}

// Paired is a person who was let in on a channel.
type Paired struct {
	Channel string `json:"channel"`
	Person  string `json:"person"`
}

func (s *server) unpair(ctx context.Context, p Paired) error {
	return s.Store.Unpair(ctx, p.Channel, p.Person)
}
