package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Person is somebody: an identity, or several that were joined or connected.
type Person struct {
	// ID is "operator", an identity, or a name that says nothing.
	ID string `json:"id"`
	// Name is what they said when they asked to be let in, what they are called where they
	// write to Dragoman alone, or what that conversation is called, if the caller may read it.
	// Left out: nobody knows.
	Name       string   `json:"name,omitempty"`
	Identities []string `json:"identities"`
	// Links say more of each of Identities, in their order, if there are several.
	Links []Linked `json:"links"`
	// Seen is when something happened last in a private conversation of theirs.
	Seen time.Time `json:"seen,omitzero"`
}

// PeopleQuery asks for one page of people, the operator and those with several identities
// first.
type PeopleQuery struct {
	// Text must be in the name or an identity; case does not matter.
	Text string `json:"text,omitempty"`
	// Several: only those with several identities.
	Several bool `json:"several,omitempty"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: a hundred.
	Limit int `json:"limit,omitempty"`
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

// talkKind is the kind of the notes that say in which conversations an identity wrote.
const talkKind = "talk"

// knownPeople are those whose identities were joined or connected, and, unless several is
// set, everybody who wrote or was let in.
func (s *server) knownPeople(ctx context.Context, several bool) ([]Person, error) {
	joined, err := s.Directory.List(ctx)
	if err != nil {
		return nil, err
	}
	list := each(joined, personOf)
	if several || s.Notes == nil {
		return list, nil
	}
	names, identities, err := s.paired(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		for _, one := range list[i].Identities {
			list[i].Name = cmp.Or(list[i].Name, names[one])
		}
	}
	notes, err := s.Notes.Notes(ctx, sessions.NoteFilter{Kind: talkKind})
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, p := range list {
		known[p.ID] = true
	}
	for _, n := range notes {
		identities = append(identities, n.Owner)
	}
	for _, identity := range identities {
		person, err := s.Directory.Person(ctx, identity)
		if err != nil {
			return nil, err
		}
		if known[person] {
			continue
		}
		known[person] = true
		one := Person{ID: person, Name: names[person], Identities: []string{person}, Links: []Linked{}}
		if person == people.OperatorID {
			one.Identities, err = s.Directory.Identities(ctx, person)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// paired are the names of those who asked to be let in, by identity, and who of them was.
func (s *server) paired(ctx context.Context) (names map[string]string, approved []string, err error) {
	list, err := s.Store.Pairings(ctx, s.Now())
	names = map[string]string{}
	for _, p := range list {
		identity := people.Identity(p.Channel, p.PersonID)
		names[identity] = p.Name
		if !p.Approved.IsZero() {
			approved = append(approved, identity)
		}
	}
	return names, approved, err
}

// named adds to a person what their private conversations say of them.
func (s *server) named(ctx context.Context, p *Person) error {
	for _, identity := range p.Identities {
		k, err := channels.ParseKey(identity)
		if err != nil {
			continue
		}
		c, err := s.Store.Conversation(ctx, k)
		if errors.Is(err, sessions.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if c.Updated.After(p.Seen) {
			p.Seen = c.Updated
		}
		sight, err := s.sight(ctx, k)
		if err != nil {
			return err
		}
		called, err := s.called(ctx, k, identity)
		if err != nil {
			return err
		}
		p.Name = cmp.Or(p.Name, called)
		if sight.May { // a title has words of what was said
			p.Name = cmp.Or(p.Name, c.Title)
		}
	}
	return nil
}

// lookedAt is how many messages of a conversation are looked at for its person's name. Others
// of them are Dragoman's.
const lookedAt = 20

// called is what an identity was called lately by the network of its private conversation k; "":
// it says no name.
func (s *server) called(ctx context.Context, k channels.Key, identity string) (string, error) {
	items, err := s.Store.Feed(ctx, k, 0, lookedAt)
	for _, it := range slices.Backward(items) {
		if it.Name != "" && people.Identity(k.Channel(), it.Sender) == identity {
			return it.Name, err
		}
	}
	return "", err
}

func (s *server) people(ctx context.Context, q PeopleQuery) (Page[Person], error) {
	list, err := s.knownPeople(ctx, q.Several)
	if err != nil {
		return Page[Person]{}, err
	}
	if q.Text != "" { // names count, too
		for i := range list {
			if err := s.named(ctx, &list[i]); err != nil {
				return Page[Person]{}, err
			}
		}
		list = slices.DeleteFunc(list, func(p Person) bool { return !hasWords(q.Text, append(p.Identities, p.ID, p.Name)...) })
	}
	at := func(p Person) place {
		rank := "1 "
		if len(p.Links) > 0 || p.ID == people.OperatorID {
			rank = "0 "
		}
		return place{ID: rank + p.ID}
	}
	found, err := pageAfter(list, at, func(a, b place) int { return strings.Compare(a.ID, b.ID) }, q.After, q.Limit)
	if err != nil {
		return found, err
	}
	for i := range found.Data {
		if err := s.named(ctx, &found.Data[i]); err != nil {
			return Page[Person]{}, err
		}
	}
	return found, nil
}

// onePerson is somebody, by any of their identities.
func (s *server) onePerson(ctx context.Context, i OneIdentity) (Person, error) {
	id, err := s.Directory.Person(ctx, i.Identity)
	if err != nil {
		return Person{}, err
	}
	list, err := s.knownPeople(ctx, false)
	if err != nil {
		return Person{}, err
	}
	at := slices.IndexFunc(list, func(p Person) bool { return p.ID == id })
	if at < 0 {
		return Person{}, fmt.Errorf("api: person %.80q: %w", i.Identity, sessions.ErrNotFound)
	}
	err = s.named(ctx, &list[at])
	return list[at], err
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
