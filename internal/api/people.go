package api

import (
	"context"
	"time"

	"dragoman/internal/people"
)

// Person is somebody with several identities that were joined or connected.
type Person struct {
	// ID is "operator", or a name that says nothing.
	ID         string   `json:"id"`
	Identities []string `json:"identities"`
	// Links say more of each of Identities, in their order.
	Links []Linked `json:"links"`
}

// Linked is an identity of a person.
type Linked struct {
	Identity string `json:"identity"`
	// Since is when it became one of several.
	Since time.Time `json:"since"`
	// Connected: the person did it themselves, with /connect. Then their identities have one
	// memory and different rights.
	Connected bool `json:"connected"`
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

func personOf(p people.Person) Person {
	return Person{ID: p.ID, Identities: p.Identities, Links: each(p.Links, func(l people.Linked) Linked { return Linked(l) })}
}

// joinPeople makes one person of two. Each of them then reads the private talks of the
// other with their tokens: so only the machine's own operator does it, as with tokens of
// other people.
func (s *server) joinPeople(ctx context.Context, i Identities) error {
	return s.Directory.Join(ctx, i.One, i.Other)
}

func (s *server) partPeople(ctx context.Context, i OneIdentity) error {
	return s.Directory.Part(ctx, i.Identity)
}
