package people

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// LinkKind is the kind of the notes that join identities into one person. A
// note's owner is the identity, so that erasing it leaves no trace of it with
// the others; they share the name of the person, which says nothing.
const (
	LinkKind = "link"

	linkName = "person" // of the note: an identity belongs to one person
	// personPrefix begins the name of a person with several identities.
	personPrefix = "person:"
)

// joined is an identity's note. On disk: it only gains fields.
type joined struct {
	Person string    `json:"person"`
	Since  time.Time `json:"since"`
	// Holder names those of the person's identities that have the same rights. "": Person
	// does.
	Holder string `json:"holder,omitempty"`
	// Chat is where the person connected the identity, and can be told of it.
	Chat channels.Key `json:"chat,omitzero"`
}

// links are the notes of all joined identities, by identity.
type links map[string]joined

// readLinks reads notes. One that cannot be read joins nothing.
func readLinks(notes []sessions.Note) links {
	l := links{}
	for _, n := range notes {
		var j joined
		if n.Kind == LinkKind && n.Name == linkName && json.Unmarshal(n.Data, &j) == nil && j.Person != "" {
			l[n.Owner] = j
		}
	}
	return l
}

// person is whose an identity is: itself, if it is alone.
func (l links) person(identity string) string {
	return cmp.Or(l[identity].Person, identity)
}

// holder is whose rights an identity has.
func (l links) holder(identity string) string {
	return cmp.Or(l[identity].Holder, l.person(identity))
}

// people are the names of those with several identities, sorted.
func (l links) people() []string {
	names := map[string]bool{}
	for _, j := range l {
		names[j.Person] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// members are the identities of a person, sorted; none of one who has a single one.
func (l links) members(person string) []string {
	return l.where(func(identity string) bool { return l[identity].Person == person })
}

// held are the identities with the rights of a holder, sorted.
func (l links) held(holder string) []string {
	return l.where(func(identity string) bool { return l.holder(identity) == holder })
}

func (l links) where(is func(string) bool) (list []string) {
	for identity := range l {
		if is(identity) {
			list = append(list, identity)
		}
	}
	slices.Sort(list)
	return list
}

// all are the identities of the person that an identity is of, sorted; never empty.
func (l links) all(identity string) []string {
	if list := l.members(l.person(identity)); len(list) > 0 {
		return list
	}
	return []string{identity}
}

// newPerson returns a name for a person, or a holder, that says nothing.
func newPerson() string { return personPrefix + rand.Text()[:12] }

// linkNote is the note of an identity.
func linkNote(identity string, j joined) (sessions.Note, error) {
	data, err := json.Marshal(j)
	if err != nil {
		return sessions.Note{}, fmt.Errorf("people: join %s: %w", identity, err)
	}
	return sessions.Note{Kind: LinkKind, Owner: identity, Name: linkName, Data: data}, nil
}

// Join makes one person of two identities, with all that each was joined with
// before, and with the rights of both. One of them may be [OperatorID]. The caller has
// proof that somebody has both. It is one commit. Errors: those of [Directory.Check];
// *Refusal if somebody would get the operator's rights by an identity that they connected
// themselves.
func (d *Directory) Join(ctx context.Context, one, other string) error {
	if one == other {
		return refusef("%s is one person already: name two identities", one)
	}
	for _, id := range []string{one, other} {
		if err := d.Check(id); err != nil {
			return err
		}
	}
	if d.store == nil {
		return fmt.Errorf("people: join %s: %w", one, errors.ErrUnsupported)
	}
	err := d.store.ChangeAllNotes(ctx, []string{LinkKind}, func(have []sessions.Note) (put, remove []sessions.Note, err error) {
		put, err = readLinks(have).join(one, other, d.o.Now())
		return put, nil, err
	})
	d.forget()
	return attempt("join "+one, err)
}

// join returns the notes that make one person of two identities.
func (l links) join(one, other string, now time.Time) (put []sessions.Note, err error) {
	if l.holder(one) == l.holder(other) {
		return nil, nil
	}
	into := l.into(one, other)
	moving := slices.Concat(l.all(one), l.all(other))
	slices.Sort(moving)
	moving = slices.Compact(moving)
	touched := func(identity string) bool {
		was := l.holder(identity)
		return was == l.holder(one) || was == l.holder(other)
	}
	holder := into
	if slices.ContainsFunc(moving, func(identity string) bool { return !touched(identity) }) {
		holder = l.into(l.holder(one), l.holder(other))
	}
	for _, identity := range moving {
		if identity == OperatorID {
			continue
		}
		j := joined{Person: into, Since: now, Holder: l.holder(identity), Chat: l[identity].Chat}
		if touched(identity) {
			j.Holder = holder
		}
		if into == OperatorID && j.Holder != OperatorID {
			return nil, refusef("%s was connected by the person themselves, so it would be yours, too: part it first, with dragoman people part %s", identity, identity)
		}
		if j.Holder == into {
			j.Holder = ""
		}
		n, err := linkNote(identity, j)
		if err != nil {
			return nil, err
		}
		put = append(put, n)
	}
	return put, nil
}

// into is the name of the person that two become: the operator's, or one that they have.
func (l links) into(one, other string) string {
	a, b := l.person(one), l.person(other)
	switch {
	case a == OperatorID || b == OperatorID:
		return OperatorID
	case strings.HasPrefix(a, personPrefix):
		return a
	case strings.HasPrefix(b, personPrefix):
		return b
	}
	return newPerson()
}

// Part makes an identity a person of its own again. Errors: sessions.ErrNotFound
// if it was joined with nothing.
func (d *Directory) Part(ctx context.Context, identity string) error {
	if d.store == nil {
		return fmt.Errorf("people: part %s: %w", identity, errors.ErrUnsupported)
	}
	err := d.store.ChangeNotes(ctx, LinkKind, identity, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		if len(have) == 0 {
			return nil, nil, sessions.ErrNotFound
		}
		return nil, []string{linkName}, nil
	})
	d.forget()
	return attempt("part "+identity, err)
}
