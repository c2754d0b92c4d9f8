package erasure

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// people is what the store knows about the people of a channel: the ids under
// which they wrote, where they wrote, and who is remembered.
type people struct {
	target channels.Key
	// aliases has, for each id, the ids that the network gave with it for the
	// same message.
	aliases map[string]map[string]bool
	// private are the ids of whoever wrote in target, if that is a private chat.
	private map[string]bool
	names   map[string]map[string]bool       // display names, by id
	where   map[string]map[channels.Key]bool // conversations, by the id of who wrote in them
	paired  []sessions.Pairing
	facts   map[string]bool // scopes of people that have facts
}

// people finds who wrote on the channel of target, which reads no message but
// who wrote it.
func (e *Eraser) people(ctx context.Context, target channels.Key) (*people, error) {
	p := newPeople(target)
	all, err := e.Store.Pairings(ctx, e.Now())
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Channel == target.Channel() {
			p.paired = append(p.paired, one)
			p.add([]string{one.PersonID}, one.Name)
		}
	}
	writers, err := e.Store.Writers(ctx, target.Channel())
	if err != nil {
		return nil, err
	}
	for _, w := range writers {
		p.addWriter(w)
	}
	prefix := sessions.PersonScope(target.Channel(), "")
	scopes, err := e.Store.FactScopes(ctx, prefix)
	for _, scope := range scopes {
		p.facts[scope] = true
		p.add([]string{strings.TrimPrefix(scope, prefix)}, "")
	}
	return p, err
}

func newPeople(target channels.Key) *people {
	return &people{
		target: target, aliases: map[string]map[string]bool{}, private: map[string]bool{}, names: map[string]map[string]bool{},
		where: map[string]map[channels.Key]bool{}, facts: map[string]bool{},
	}
}

// chatsOf are the conversations in which somebody with one of ids wrote, sorted.
func (p *people) chatsOf(ids []string) []channels.Key {
	all := map[channels.Key]bool{}
	for _, id := range ids {
		maps.Copy(all, p.where[id])
	}
	return slices.SortedFunc(maps.Keys(all), byChat)
}

func byChat(a, b channels.Key) int { return cmp.Compare(a.String(), b.String()) }

// add notes that the network gave ids for one person, who is called name.
func (p *people) add(ids []string, name string) {
	for _, id := range ids {
		if p.aliases[id] == nil {
			p.aliases[id], p.names[id] = map[string]bool{}, map[string]bool{}
		}
		if name != "" {
			p.names[id][name] = true
		}
		for _, other := range ids {
			if other != id {
				p.aliases[id][other] = true
			}
		}
	}
}

func (p *people) addWriter(w sessions.Writer) {
	p.add(w.IDs, w.Name)
	for _, id := range w.IDs {
		if p.where[id] == nil {
			p.where[id] = map[channels.Key]bool{}
		}
		p.where[id][w.Key] = true
		if w.Private && w.Key == p.target {
			p.private[id] = true
		}
	}
}
