package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Owners knows who wrote in a conversation.
type Owners interface {
	// Owners lists those who wrote in k. It is empty for a conversation that
	// is not there, or whose authors are not known yet.
	Owners(ctx context.Context, k channels.Key) ([]sessions.Owner, error)
}

// VisibilityOptions configure a [Visibility].
type VisibilityOptions struct {
	// Gate says who may talk now. Nil: nobody may, which leaves rooms.
	Gate *Gate
	// ReadAlong lets people with the scope read see the private talks of
	// others (people.read_along).
	ReadAlong bool
	// Audit writes a line before p reads what others wrote in private. If it
	// fails, p may not read. Nil: they may not.
	Audit func(p Principal, k channels.Key) error
	// Tell tells the people of k, once, that p can read along, before the
	// first reading. If it fails, p may not read. Nil: they may not.
	Tell func(ctx context.Context, k channels.Key) error
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Sight is what somebody may see of a conversation.
type Sight struct {
	// May: they may see what was said.
	May bool
	// Own: it is one of theirs.
	Own bool
	// From is the first seq that they may see. 0: all.
	From int64
	// Along: it is other people's, and seeing it has to be recorded first: see
	// [Visibility.Read].
	Along bool
	// Group: more people than one can read what is said there. It is known of
	// conversations on networks, also where May is false.
	Group bool
}

// Visibility decides who reads whose talks, for the API, the page, the stream,
// search, export and all else. No scope and no other package does:
//
//   - one's own rooms; that is all for an open port, where nobody shows who they are;
//   - one's own private talks, while one may talk there;
//   - a group, from one's own first message on, while the allow list or pairing
//     admits the person there (an entry for the whole group does not say who
//     is still in it);
//   - private talks of others: at the socket, which is the machine's own
//     operator and is recorded, or with the scope read where people.read_along
//     is set, which is recorded and told to them before the first time.
//
// The conversations that jobs run in are the operator's. A private talk in which
// two people wrote is nobody's.
type Visibility struct {
	people *Directory
	owners Owners
	o      VisibilityOptions

	mu   sync.Mutex
	read map[reading]time.Time // when it was last recorded
}

// reading is somebody reading a conversation of others.
type reading struct {
	person, token string
	key           channels.Key
}

// jobs is the channel part of the keys that jobs run under. No configured
// channel has this name.
const jobs = "heartbeat"

// recordEvery is how often a reading is recorded that goes on.
const recordEvery = time.Hour

// maxReadings bounds the memory. Beyond it more lines are written.
const maxReadings = 10_000

// NewVisibility decides by what d and owners know.
func NewVisibility(d *Directory, owners Owners, o VisibilityOptions) *Visibility {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Visibility{people: d, owners: owners, o: o, read: map[reading]time.Time{}}
}

// AtSocket reports whether p is the machine's own operator: whoever can open
// the socket, or runs a command without a daemon.
func (p Principal) AtSocket() bool { return p.IsOperator() && p.Token == "" && p.Scope == Admin }

// AtOpenPort reports whether p is anybody on this machine, at a port without tokens. They
// have shown nothing, so they read the operator's rooms and no other talk.
func (p Principal) AtOpenPort() bool { return p.IsOperator() && p.Token == "" && p.Scope == Chat }

// IsOwn reports whether k is one of p's conversations.
func (v *Visibility) IsOwn(ctx context.Context, p Principal, k channels.Key) (bool, error) {
	s, err := v.Of(ctx, p, k)
	return s.Own, err
}

// Sees reports whether p may see words of k without anybody being told: in a
// list of conversations, a title. It records nothing.
func (v *Visibility) Sees(ctx context.Context, p Principal, k channels.Key) (bool, error) {
	s, err := v.Of(ctx, p, k)
	return s.May && (!s.Along || p.AtSocket()), err
}

// Mine returns the identities under which p wrote: a list of p's conversations asks the
// store for those in which one of them did, and then Of about each.
func (v *Visibility) Mine(ctx context.Context, p Principal) ([]string, error) {
	if !p.May(Chat) {
		return []string{}, nil
	}
	return v.people.held(ctx, p.ID)
}

// Read is Of for somebody who is about to read. Reading along is recorded, and
// its people are told, before Read returns. If either fails, so does Read.
func (v *Visibility) Read(ctx context.Context, p Principal, k channels.Key) (Sight, error) {
	s, err := v.Of(ctx, p, k)
	if err != nil || !s.Along {
		return s, err
	}
	if !v.due(p, k) {
		return s, nil
	}
	if !p.AtSocket() {
		if v.o.Tell == nil {
			return Sight{}, nil
		}
		if err := v.o.Tell(ctx, k); err != nil {
			return Sight{}, fmt.Errorf("people: tell %s that it is read: %w", k, err)
		}
	}
	if v.o.Audit == nil {
		return Sight{}, nil
	}
	if err := v.o.Audit(p, k); err != nil {
		return Sight{}, fmt.Errorf("people: record that %s is read: %w", k, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.read) >= maxReadings {
		clear(v.read)
	}
	v.read[readingOf(p, k)] = v.o.Now()
	return s, nil
}

func readingOf(p Principal, k channels.Key) reading { return reading{p.ID, p.Token, k} }

// due reports whether this reading has to be recorded now.
func (v *Visibility) due(p Principal, k channels.Key) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	last, found := v.read[readingOf(p, k)]
	return !found || v.o.Now().Sub(last) >= recordEvery
}

// MayRead is Read for callers who need only its answer.
func (v *Visibility) MayRead(ctx context.Context, p Principal, k channels.Key) (bool, error) {
	s, err := v.Read(ctx, p, k)
	return s.May, err
}

// Of returns what p may see of k. It records nothing. Errors are those of the
// store; then p may see nothing.
func (v *Visibility) Of(ctx context.Context, p Principal, k channels.Key) (Sight, error) {
	if !p.May(Chat) || k.IsZero() {
		return Sight{}, nil
	}
	person, err := v.people.Holder(ctx, p.ID)
	if err != nil {
		return Sight{}, err
	}
	if v.people.isRoom(k) {
		return v.room(ctx, p, person, k)
	}
	if p.AtOpenPort() {
		return Sight{}, nil
	}
	if k.Channel() == jobs && person == OperatorID {
		return Sight{May: true, Own: true}, nil
	}
	owners, err := v.owners.Owners(ctx, k)
	if err != nil {
		return Sight{}, fmt.Errorf("people: look up who wrote in %s: %w", k, err)
	}
	seen, err := v.own(ctx, p, k, owners)
	if err != nil {
		return Sight{}, err
	}
	if !seen.Own {
		seen = v.along(p)
	}
	seen.Group = slices.ContainsFunc(owners, func(o sessions.Owner) bool { return !o.Private })
	return seen, nil
}

// room is Of for a room of the page or the terminal.
func (v *Visibility) room(ctx context.Context, p Principal, person string, k channels.Key) (Sight, error) {
	owner, err := v.people.Holder(ctx, roomPerson(k.Chat()))
	if err != nil {
		return Sight{}, err
	}
	if owner == person {
		return Sight{May: true, Own: true}, nil
	}
	return v.along(p), nil
}

// along is what p may see of the talks of others.
func (v *Visibility) along(p Principal) Sight {
	if p.AtSocket() || v.o.ReadAlong && p.May(Read) {
		return Sight{May: true, Along: true}
	}
	return Sight{}
}

// own is what p sees of a conversation on a network because they wrote in it.
func (v *Visibility) own(ctx context.Context, p Principal, k channels.Key, owners []sessions.Owner) (Sight, error) {
	identities, err := v.people.held(ctx, p.ID)
	if err != nil || v.o.Gate == nil {
		return Sight{}, err
	}
	mine := func(o sessions.Owner) bool { return sharesAny(o.Identities, identities) }
	seen := Sight{}
	for _, o := range owners {
		if !mine(o) {
			continue
		}
		admitted, err := v.o.Gate.Admits(ctx, k, idsOn(k.Channel(), o.Identities), o.Private)
		if err != nil {
			return Sight{}, err
		}
		if !admitted || o.Private && anotherWrote(o, owners, mine) {
			continue
		}
		from := o.From
		if o.Private {
			from = 0
		}
		if !seen.Own || from < seen.From {
			seen.From = from
		}
		seen.May = true
		seen.Own = true
	}
	return seen, nil
}

// anotherWrote reports whether somebody else wrote in the private talk of o: on
// IRC a nick can change hands, and both would read what the other wrote. Those
// who share an identity with o may be o, and whoever runs Dragoman may ask a
// question in any conversation.
func anotherWrote(o sessions.Owner, owners []sessions.Owner, mine func(sessions.Owner) bool) bool {
	return slices.ContainsFunc(owners, func(other sessions.Owner) bool {
		asked := slices.Equal(idsOn("", other.Identities), []string{OperatorID})
		return !mine(other) && !asked && !sharesAny(other.Identities, o.Identities)
	})
}

// sharesAny reports whether the lists have an element in common.
func sharesAny(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}

// idsOn are the ids in identities of one channel, or of all for "".
func idsOn(channel string, identities []string) []string {
	var ids []string
	for _, one := range identities {
		if on, id, _ := strings.Cut(one, ":"); on == channel || channel == "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// isRoom reports whether k is a room of the page or the terminal.
func (d *Directory) isRoom(k channels.Key) bool { return slices.Contains(d.o.Rooms, k.Channel()) }
