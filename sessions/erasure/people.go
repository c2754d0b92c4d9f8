package erasure

import (
	"context"
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// people holds what the store knows about the people of a channel, by id.
type people struct {
	target channels.Key
	ids    map[string]*identity
}

// identity is one id.
type identity struct {
	with    map[string]bool // ids that the network gave with it for the same message
	names   map[string]bool // display names
	chats   map[channels.Key]bool
	private bool // it wrote in target, which is a private chat
	facts   bool // it has a memory
	paired  int  // its pairings
}

// people finds out who wrote on a channel, is paired or has a memory there. It reads
// only the senders of messages.
func (e *Eraser) people(ctx context.Context, channel string, target channels.Key) (*people, error) {
	p := &people{target: target, ids: map[string]*identity{}}
	all, err := e.Store.Pairings(ctx, e.Now())
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Channel == channel {
			i := p.of(one.PersonID)
			i.paired++
			i.names[one.Name] = true
		}
	}
	writers, err := e.Store.Writers(ctx, channel)
	if err != nil {
		return nil, err
	}
	for _, w := range writers {
		for _, id := range w.IDs {
			i := p.of(id)
			i.names[w.Name], i.chats[w.Key] = true, true
			i.private = i.private || w.Private && w.Key == target
			for _, other := range w.IDs {
				if other != id {
					i.with[other] = true
				}
			}
		}
	}
	prefix := sessions.PersonScope(channel, "")
	scopes, err := e.Store.FactScopes(ctx, prefix)
	for _, scope := range scopes {
		p.of(strings.TrimPrefix(scope, prefix)).facts = true
	}
	return p, err
}

// of returns the identity of id.
func (p *people) of(id string) *identity {
	if p.ids[id] == nil {
		p.ids[id] = &identity{with: map[string]bool{}, names: map[string]bool{}, chats: map[channels.Key]bool{}}
	}
	return p.ids[id]
}

// chatsOf returns the conversations in which one of ids wrote, sorted.
func (p *people) chatsOf(ids []string) []channels.Key {
	all := map[channels.Key]bool{}
	for _, id := range ids {
		maps.Copy(all, p.of(id).chats)
	}
	return slices.SortedFunc(maps.Keys(all), byChat)
}

func byChat(a, b channels.Key) int { return strings.Compare(a.String(), b.String()) }

// identities returns the ids of the person whom the target means, sorted, and ids
// that may be theirs or somebody else's, one group for each possible person. No other
// function decides which ids in the store belong to one person; channels.Person.Is only
// compares the senders of two messages.
//
// Ids that the network gave with one message belong to one person, and so do ids
// connected by several messages, but not through an id that several people had (see
// shared). A nick is no id. It stands for the person who wrote in the private chat of
// that name or, if that chat is gone, for the person who has the nick in a mask, and
// in both cases only if there is exactly one.
func (p *people) identities() (mine []string, maybe [][]string) {
	nick := p.target.Chat()
	all := p.sameAs(nick)
	var called, lead []string // ids with that nick; ids that wrote in the chat of that name
	for id, i := range p.ids {
		named := slices.ContainsFunc(slices.Collect(maps.Keys(i.names)), func(name string) bool { return strings.EqualFold(name, nick) })
		if named || nickIn(id) == nick {
			called = append(called, id)
		}
		if i.private {
			lead = append(lead, id)
		}
	}
	perhaps := slices.Concat(called, lead)
	if len(lead) == 0 {
		lead = slices.DeleteFunc(called, func(id string) bool { return nickIn(id) != nick })
	}
	if groups := p.groups(slices.DeleteFunc(lead, p.shared), all); len(groups) == 1 {
		for _, id := range groups[0] {
			all[id] = true
		}
	}
	for id := range all {
		perhaps = slices.AppendSeq(perhaps, maps.Keys(p.of(id).with))
	}
	return slices.Sorted(maps.Keys(all)), p.groups(perhaps, all)
}

// groups sorts ids into people, without those that are known.
func (p *people) groups(ids []string, known map[string]bool) (groups [][]string) {
	slices.Sort(ids)
	seen := maps.Clone(known)
	for _, id := range ids {
		if seen[id] {
			continue
		}
		group := slices.Sorted(maps.Keys(p.sameAs(id)))
		for _, one := range group {
			seen[one] = true
		}
		groups = append(groups, group)
	}
	return groups
}

// sameAs returns all ids of the person who has id.
func (p *people) sameAs(id string) map[string]bool {
	found := map[string]bool{id: true}
	if p.shared(id) {
		return found
	}
	for next := []string{id}; len(next) > 0; next = next[1:] {
		for other := range p.of(next[0]).with {
			if !found[other] && !p.shared(other) {
				found[other] = true
				next = append(next, other)
			}
		}
	}
	return found
}

// shared reports whether several people had id: the network gave it with two ids of
// one kind. A person has one account and one number, but a mask for each place they
// write from. So a mask with two accounts, or a number with two WhatsApp accounts,
// belongs to several people.
func (p *people) shared(id string) bool {
	had := map[string]bool{}
	for other := range p.of(id).with {
		kind := kindOf(other)
		if kind != "mask" && had[kind] {
			return true
		}
		had[kind] = true
	}
	return false
}

// kindOf returns the kind of an id by its form: "account:ann", "800@lid", "+1555".
func kindOf(id string) string {
	if kind, _, ok := strings.Cut(id, ":"); ok {
		return kind
	}
	if _, server, ok := strings.Cut(id, "@"); ok {
		return "@" + server
	}
	return strings.TrimRight(id, "0123456789")
}

// nickIn returns the nick in an IRC mask, or "".
func nickIn(id string) string {
	if mask, ok := strings.CutPrefix(id, "mask:"); ok {
		nick, _, _ := strings.Cut(mask, "!")
		return nick
	}
	return ""
}
