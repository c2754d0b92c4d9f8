package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Somebody is one person with all their ids: those that networks vouched for together, and
// the identities that were joined.
type Somebody struct {
	// IDs are theirs, sorted, by channel.
	IDs map[string][]string
	// Joined are the identities that are theirs only because they were joined, sorted.
	Joined []string
	// Maybe are ids on the target's channel that may be theirs or somebody else's, one
	// group for each possible person.
	Maybe [][]string

	traces map[string]*Traces // by channel, of those in IDs
}

// Traces are those of a channel of IDs.
func (s *Somebody) Traces(channel string) *Traces { return s.traces[channel] }

// Channels are those of IDs, sorted.
func (s *Somebody) Channels() []string {
	var names []string
	for name := range s.IDs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Meant returns the person whom a target means on its channel, and what was joined with
// them on other channels.
func (d *Directory) Meant(ctx context.Context, store TraceStore, target channels.Key, now time.Time) (*Somebody, error) {
	s := &Somebody{IDs: map[string][]string{}, traces: map[string]*Traces{}}
	first, err := s.read(ctx, store, target.Channel(), now)
	if err != nil {
		return nil, err
	}
	ids, maybe := first.Meant(target)
	s.IDs[target.Channel()] = ids
	var next []string // identities whose joined ones are not known yet
	for _, id := range ids {
		next = append(next, Identity(target.Channel(), id))
	}
	for ; len(next) > 0; next = next[1:] {
		others, err := d.Joined(ctx, next[0])
		if err != nil {
			return nil, err
		}
		for _, other := range others {
			channel, id, _ := strings.Cut(other, ":")
			if s.has(channel, id) {
				continue
			}
			on, err := s.read(ctx, store, channel, now)
			if err != nil {
				return nil, err
			}
			s.Joined = append(s.Joined, other)
			for one := range on.sameAs(id) {
				if !s.has(channel, one) {
					s.IDs[channel] = append(s.IDs[channel], one)
					next = append(next, Identity(channel, one))
				}
			}
		}
	}
	for _, ids := range s.IDs {
		slices.Sort(ids)
	}
	slices.Sort(s.Joined)
	for _, group := range maybe {
		if !slices.ContainsFunc(group, func(id string) bool { return s.has(target.Channel(), id) }) {
			s.Maybe = append(s.Maybe, group)
		}
	}
	return s, nil
}

func (s *Somebody) has(channel, id string) bool { return slices.Contains(s.IDs[channel], id) }

// read reads the traces of a channel once.
func (s *Somebody) read(ctx context.Context, store TraceStore, channel string, now time.Time) (*Traces, error) {
	if s.traces[channel] == nil {
		on, err := ReadTraces(ctx, store, channel, now)
		if err != nil {
			return nil, err
		}
		s.traces[channel] = on
	}
	return s.traces[channel], nil
}

// Pairings lists who was let in.
type Pairings interface {
	Pairings(ctx context.Context, now time.Time) ([]sessions.Pairing, error)
}

// Named reads how somebody names a conversation or a person: as a key, as an identity like
// telegram:123456, or by the name under which a person was paired. Paired people are known
// only to those who may see them. Errors: *Refusal.
func Named(ctx context.Context, who Principal, store Pairings, target string, now time.Time) (channels.Key, error) {
	if k, err := channels.ParseKey(target); err == nil {
		return k, nil
	}
	var paired []sessions.Pairing
	if who.May(Operate) {
		var err error
		paired, err = store.Pairings(ctx, now)
		if err != nil {
			return channels.Key{}, fmt.Errorf("people: look up who was paired: %w", err)
		}
	}
	var found []channels.Key
	for _, p := range paired {
		if k, err := channels.NewKey(p.Channel, p.PersonID); err == nil && target != "" && strings.EqualFold(p.Name, target) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return channels.Key{}, refusef("this is neither a conversation's key, nor a person like telegram:123456, nor the name of a paired person")
	case 1:
		return found[0], nil
	}
	return channels.Key{}, refusef("several people were paired under this name: write %s or %s", found[0], found[1])
}
