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
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// linkKind is the kind of the notes that join identities into one person. A
// note's owner is the identity, so that erasing it leaves no trace of it with
// the others; they share the name of the person, which says nothing.
const (
	linkKind = "link"
	linkName = "person" // of the note: an identity belongs to one person
	// personPrefix begins the name of a person with several identities.
	personPrefix = "person:"
)

// joined is an identity's note. On disk: it only gains fields.
type joined struct {
	Person string    `json:"person"`
	Since  time.Time `json:"since"`
}

// DirectoryOptions configure a [Directory].
type DirectoryOptions struct {
	// Rooms are the names of the channels whose chats are rooms of ours: the
	// page and the terminal. There a sender's id is the ID of a [Principal].
	Rooms []string
	// Shared are those of Rooms that people other than the operator may have opened with
	// one token: a page that others can reach. What concerns only whoever runs Dragoman is
	// not shown there.
	Shared []string
	// Operator returns the private chat of whoever runs Dragoman, if the
	// configuration names one; else the zero key. Nil: it names none.
	Operator func() channels.Key
	// Wrong says why nobody on a channel can have an id, in a sentence, and "" if somebody
	// can. Nil: on a channel that has no rooms, somebody can have any.
	Wrong func(channel, id string) string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Directory alone says which identities are one person's. Networks vouch for
// identities ("telegram:42"); the records that join several are made by the
// person themselves, and only read here. It keeps a copy of them in memory that
// is at most 2 seconds old.
type Directory struct {
	store Notes
	o     DirectoryOptions

	mu     sync.Mutex
	loaded time.Time
	dirty  bool
	person map[string]string   // of an identity that was joined
	all    map[string][]string // the identities of such a person, sorted
}

// NewDirectory returns the directory of the people in store. Without a store (nil)
// nobody has joined identities.
func NewDirectory(store Notes, o DirectoryOptions) *Directory {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Operator == nil {
		o.Operator = func() channels.Key { return channels.Key{} }
	}
	return &Directory{store: store, o: o}
}

// formerOwner is the id of the operator in rooms. It was everybody's before rooms knew
// people, when the page was the operator's, and stored messages have it.
const formerOwner = "owner"

// Identity is how a network's id is written: "telegram:42".
func Identity(channel, id string) string { return channel + ":" + id }

// Person returns who an identity, or the ID of a principal, belongs to: a name
// that is equal for all identities of one person. It is the identity itself
// unless that was joined with others.
func (d *Directory) Person(ctx context.Context, identity string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(ctx); err != nil {
		return "", err
	}
	return d.personOf(identity), nil
}

// Resolve returns whose ids these are, which a network vouched for in one
// message; "" if it vouched for none. Errors are those of the store.
func (d *Directory) Resolve(ctx context.Context, channel string, ids []string) (string, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		return "", nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(ctx); err != nil {
		return "", err
	}
	for _, id := range ids {
		if person := d.personOf(Identity(channel, id)); person != Identity(channel, id) {
			return person, nil
		}
	}
	return Identity(channel, ids[0]), nil
}

// IsOperator reports whether whoever runs Dragoman wrote m: in a room of
// theirs, with an identity that is joined with theirs, in the private chat that
// the configuration names, or from the command line (only there is
// [OperatorID] a sender).
func (d *Directory) IsOperator(ctx context.Context, m channels.Inbound) (bool, error) {
	if m.Sender.ID() == OperatorID || m.Private && m.Key == d.o.Operator() {
		return true, nil
	}
	if m.Sender.ID() == formerOwner && slices.Contains(d.o.Shared, m.Key.Channel()) {
		return false, nil
	}
	person, err := d.Resolve(ctx, m.Key.Channel(), m.Sender.IDs)
	return person == OperatorID, err
}

// Rooms are the names of the channels whose chats are rooms of ours.
func (d *Directory) Rooms() []string { return slices.Clone(d.o.Rooms) }

// IsOperatorsRoom reports whether k is a room that only whoever runs Dragoman reads.
func (d *Directory) IsOperatorsRoom(k channels.Key) bool {
	return d.isRoom(k) && !slices.Contains(d.o.Shared, k.Channel()) && roomPerson(k.Chat()) == OperatorID
}

// Identities returns all identities of the person to whom this one belongs,
// sorted: those of networks, and those under which they write in rooms.
func (d *Directory) Identities(ctx context.Context, identity string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(ctx); err != nil {
		return nil, err
	}
	person := d.personOf(identity)
	known := slices.Clone(d.all[person])
	if person == identity && person != OperatorID {
		known = append(known, identity)
	}
	found := map[string]bool{}
	for _, one := range known {
		found[one] = true
		for _, room := range d.o.Rooms {
			found[Identity(room, one)] = true
		}
	}
	if person == OperatorID {
		for _, room := range d.o.Rooms {
			found[Identity(room, formerOwner)] = true
			found[Identity(room, OperatorID)] = true
		}
		if k := d.o.Operator(); !k.IsZero() {
			found[k.String()] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Joined returns the identities of networks that were joined with this one, sorted; none
// if nobody joined it.
func (d *Directory) Joined(ctx context.Context, identity string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(ctx); err != nil {
		return nil, err
	}
	others := slices.Clone(d.all[d.personOf(identity)])
	return slices.DeleteFunc(others, func(one string) bool { return one == identity }), nil
}

// personOf is Person. The caller holds d.mu.
func (d *Directory) personOf(identity string) string {
	channel, id, _ := strings.Cut(identity, ":")
	if slices.Contains(d.o.Rooms, channel) {
		if id == formerOwner {
			return OperatorID
		}
		identity = id
	}
	return cmp.Or(d.person[identity], identity)
}

// Person is somebody with several identities.
type Person struct {
	// ID is what [Directory.Person] returns for each of the identities.
	ID         string
	Identities []string // sorted
}

// List returns the people whose identities were joined, by ID.
func (d *Directory) List(ctx context.Context) ([]Person, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dirty = true
	if err := d.refresh(ctx); err != nil {
		return nil, err
	}
	var list []Person
	for _, id := range slices.Sorted(maps.Keys(d.all)) {
		list = append(list, Person{ID: id, Identities: slices.Clone(d.all[id])})
	}
	return list, nil
}

// Check refuses what can be nobody: neither [OperatorID] nor an identity that a network
// vouches for. The page and the terminal vouch for nobody, so a room is no identity.
// Errors: *Refusal.
func (d *Directory) Check(identity string) error {
	if err := checkPerson(identity); err != nil || identity == OperatorID {
		return err
	}
	channel, id, _ := strings.Cut(identity, ":")
	if slices.Contains(d.o.Rooms, channel) {
		return refusef("%s is a room and no person: name an identity of a network, like telegram:123456, or %q", identity, OperatorID)
	}
	if d.o.Wrong == nil {
		return nil
	}
	if wrong := d.o.Wrong(channel, id); wrong != "" {
		return refusef("%s is nobody: %s", identity, wrong)
	}
	return nil
}

// Join makes one person of two identities, with all that each was joined with
// before. One of them may be [OperatorID]. The caller has proof that somebody
// has both. If it fails in the middle, doing it again completes it. Errors: those of
// [Directory.Check].
func (d *Directory) Join(ctx context.Context, one, other string) error {
	if one == other {
		return refusef("%s is one person already: name two identities", one)
	}
	for _, id := range []string{one, other} {
		if err := d.Check(id); err != nil {
			return err
		}
	}
	a, err := d.Person(ctx, one)
	if err != nil {
		return err
	}
	b, err := d.Person(ctx, other)
	if err != nil || a == b {
		return err
	}
	into := personPrefix + rand.Text()[:12]
	for _, known := range []string{OperatorID, a, b} {
		if known == OperatorID && (a == OperatorID || b == OperatorID) || strings.HasPrefix(known, personPrefix) {
			into = known
			break
		}
	}
	d.mu.Lock()
	moving := slices.Concat(d.all[a], d.all[b])
	d.mu.Unlock()
	for _, id := range []string{one, other} {
		if id != OperatorID {
			moving = append(moving, id)
		}
	}
	slices.Sort(moving)
	for _, id := range slices.Compact(moving) {
		if err := d.put(ctx, id, into); err != nil {
			return err
		}
	}
	return nil
}

// put says that an identity is a person's.
func (d *Directory) put(ctx context.Context, identity, person string) error {
	if d.store == nil {
		return fmt.Errorf("people: join %s: %w", identity, errors.ErrUnsupported)
	}
	data, err := json.Marshal(joined{Person: person, Since: d.o.Now()})
	if err != nil {
		return fmt.Errorf("people: join %s: %w", identity, err)
	}
	err = d.store.ChangeNotes(ctx, linkKind, identity, func([]sessions.Note) ([]sessions.Note, []string, error) {
		return []sessions.Note{{Kind: linkKind, Owner: identity, Name: linkName, Data: data}}, nil, nil
	})
	d.forget()
	return attempt("join "+identity, err)
}

// Part makes an identity a person of its own again. Errors: sessions.ErrNotFound
// if it was joined with nothing.
func (d *Directory) Part(ctx context.Context, identity string) error {
	if d.store == nil {
		return fmt.Errorf("people: part %s: %w", identity, errors.ErrUnsupported)
	}
	err := d.store.ChangeNotes(ctx, linkKind, identity, func(have []sessions.Note) ([]sessions.Note, []string, error) {
		if len(have) == 0 {
			return nil, nil, sessions.ErrNotFound
		}
		return nil, []string{linkName}, nil
	})
	d.forget()
	return attempt("part "+identity, err)
}

func (d *Directory) forget() {
	d.mu.Lock()
	d.dirty = true
	d.mu.Unlock()
}

// refresh reads the joined identities again if the copy is old. While the store
// cannot be read, the copy serves, because who is one person rarely changes. The
// caller holds d.mu.
func (d *Directory) refresh(ctx context.Context) error {
	if d.store == nil {
		return nil
	}
	now := d.o.Now()
	age := now.Sub(d.loaded)
	if !d.dirty && !d.loaded.IsZero() && age >= 0 && age <= freshFor {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	notes, err := d.store.Notes(ctx, sessions.NoteFilter{Kind: linkKind})
	if err != nil {
		if !d.loaded.IsZero() {
			return nil
		}
		return fmt.Errorf("people: read who is one person: %w", err)
	}
	d.loaded = now
	d.dirty = false
	d.person = map[string]string{}
	d.all = map[string][]string{}
	for _, n := range notes {
		var j joined
		if n.Name != linkName || json.Unmarshal(n.Data, &j) != nil || j.Person == "" {
			continue // it joins nothing
		}
		d.person[n.Owner] = j.Person
		d.all[j.Person] = append(d.all[j.Person], n.Owner)
	}
	return nil
}
