package api

import (
	"context"

	"dragoman/internal/people"
)

// Person is somebody with several identities that were joined.
type Person struct {
	// ID is "operator", or a name that says nothing.
	ID         string   `json:"id"`
	Identities []string `json:"identities"`
}

// Identities are two of one person. One of them may be "operator".
type Identities struct {
	One   string `json:"one"`
	Other string `json:"other"`
}

// OneIdentity is an identity of a network, like telegram:123456.
type OneIdentity struct {
	Identity string `json:"identity"`
}

func (s *server) people(ctx context.Context, _ None) (Page[Person], error) {
	list, err := s.Directory.List(ctx)
	return pageOf(each(list, personOf), err)
}

func personOf(p people.Person) Person { return Person(p) }

// joinPeople makes one person of two. Each of them then reads the private talks of the
// other with their tokens: so only the machine's own operator does it, as with tokens of
// other people.
func (s *server) joinPeople(ctx context.Context, i Identities) error {
	return s.Directory.Join(ctx, i.One, i.Other)
}

func (s *server) partPeople(ctx context.Context, i OneIdentity) error {
	return s.Directory.Part(ctx, i.Identity)
}
