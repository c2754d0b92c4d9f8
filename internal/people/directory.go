package people

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// AllNotes is the store of a [Directory], which changes the notes of several identities in
// one commit.
type AllNotes interface {
	Notes
	ChangeAllNotes(ctx context.Context, kinds []string, change func(have []sessions.Note) (put, remove []sessions.Note, err error)) error
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
// identities ("telegram:42"); several are joined by whoever runs Dragoman, or connected by
// the person themselves (see [Connections]). It keeps a copy of that in memory that is at
// most 2 seconds old.
//
// What is about a person (what is remembered, their reminders, what they used) asks
// [Directory.Person] and [Directory.Together]. What is about rights asks
// [Directory.Holder]: identities that a person connected are one person and have the rights
// that each had before.
type Directory struct {
	store AllNotes
	o     DirectoryOptions

	mu     sync.Mutex
	loaded time.Time
	dirty  bool
	links  links
}

// NewDirectory returns the directory of the people in store. Without a store (nil)
// nobody has joined identities.
func NewDirectory(store AllNotes, o DirectoryOptions) *Directory {
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
	return person == OperatorID, err // connecting never makes anybody the operator's
}

// Rooms are the names of the channels whose chats are rooms of ours.
func (d *Directory) Rooms() []string { return slices.Clone(d.o.Rooms) }

// OperatorChat is the private chat of whoever runs Dragoman that the configuration names;
// zero if it names none.
func (d *Directory) OperatorChat() channels.Key { return d.o.Operator() }

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
	return d.writersOf(identity, person, d.links.members(person)), nil
}

// held returns those of Identities that have the same rights.
func (d *Directory) held(ctx context.Context, identity string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(ctx); err != nil {
		return nil, err
	}
	holder := d.holderOf(identity)
	return d.writersOf(identity, holder, d.links.held(holder)), nil
}

// writersOf are identities of networks and those under which they write in rooms, sorted.
// Without known ones, identity is alone, unless it is the operator's.
func (d *Directory) writersOf(identity, person string, known []string) []string {
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
	return slices.Sorted(maps.Keys(found))
}

// Together returns the identities whose memory, reminders and time zone are common with
// those of this one, which comes first: all of a person, their rooms included. On a page that others can reach, nobody knows whether the operator
// writes: what is said there is not common.
func (d *Directory) Together(ctx context.Context, identity string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(ctx); err != nil {
		return nil, err
	}
	channel, id, _ := strings.Cut(identity, ":")
	if id == formerOwner && slices.Contains(d.o.Shared, channel) {
		return []string{identity}, nil
	}
	person := d.personOf(identity)
	all := d.links.members(person)
	if len(all) == 0 || person == OperatorID {
		all = append(all, person)
	}
	for _, one := range slices.Clone(all) {
		for _, room := range d.o.Rooms {
			all = append(all, Identity(room, one))
		}
	}
	for _, room := range d.o.Rooms {
		if person == OperatorID && !slices.Contains(d.o.Shared, room) {
			all = append(all, Identity(room, formerOwner))
		}
	}
	all = slices.DeleteFunc(all, func(one string) bool { return one == identity || one == OperatorID })
	slices.Sort(all)
	return append([]string{identity}, all...), nil
}

// Owners returns the owners of all sums and notes of the person to whom an identity, or the
// ID of a principal, belongs, sorted: one of their identities each, and their own name.
func (d *Directory) Owners(ctx context.Context, identity string) ([]string, error) {
	owners, err := d.Identities(ctx, identity)
	if err != nil {
		return nil, err
	}
	person, err := d.Person(ctx, identity)
	if err != nil {
		return nil, err
	}
	owners = append(owners, identity, person)
	slices.Sort(owners)
	return slices.Compact(owners), nil
}

// Joined returns the identities of networks that were joined with this one, sorted; none
// if nobody joined it.
func (d *Directory) Joined(ctx context.Context, identity string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(ctx); err != nil {
		return nil, err
	}
	others := d.links.members(d.personOf(identity))
	return slices.DeleteFunc(others, func(one string) bool { return one == identity }), nil
}

// personOf is Person. The caller holds d.mu.
func (d *Directory) personOf(identity string) string {
	return d.links.person(d.withoutRoom(identity))
}

// Holder returns whose rights an identity, or the ID of a principal, has: a name that is
// equal for the identities that whoever runs Dragoman joined. It is the identity itself
// unless that was joined with others. Identities that the person connected have the same
// [Directory.Person], and not the same Holder.
func (d *Directory) Holder(ctx context.Context, identity string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(ctx); err != nil {
		return "", err
	}
	return d.holderOf(identity), nil
}

// holderOf is Holder. The caller holds d.mu.
func (d *Directory) holderOf(identity string) string {
	return d.links.holder(d.withoutRoom(identity))
}

// withoutRoom is who writes under an identity in a room; any other identity is itself.
func (d *Directory) withoutRoom(identity string) string {
	channel, id, _ := strings.Cut(identity, ":")
	switch {
	case !slices.Contains(d.o.Rooms, channel):
		return identity
	case id == formerOwner:
		return OperatorID
	}
	return id
}

// Person is somebody with several identities.
type Person struct {
	// ID is what [Directory.Person] returns for each of the identities.
	ID         string
	Identities []string // sorted
	// Links say the same of each of Identities, in their order.
	Links []Linked
}

// Linked is an identity of a [Person].
type Linked struct {
	Identity string
	// Since is when it became one of several.
	Since time.Time
	// Connected: the person themselves connected it with others, which have other rights.
	Connected bool
}

// List returns the people whose identities were joined or connected, by ID.
func (d *Directory) List(ctx context.Context) ([]Person, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dirty = true
	if err := d.refresh(ctx); err != nil {
		return nil, err
	}
	var list []Person
	for _, id := range d.links.people() {
		p := Person{ID: id, Identities: d.links.members(id)}
		for _, one := range p.Identities {
			link := d.links[one]
			p.Links = append(p.Links, Linked{Identity: one, Since: link.Since, Connected: link.Holder != ""})
		}
		list = append(list, p)
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
	notes, err := d.store.Notes(ctx, sessions.NoteFilter{Kind: LinkKind})
	if err != nil {
		if !d.loaded.IsZero() {
			return nil
		}
		return fmt.Errorf("people: read who is one person: %w", err)
	}
	d.loaded = now
	d.dirty = false
	d.links = readLinks(notes)
	return nil
}
