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

// identities are the ids of the person whom the target means, sorted, and those
// that may be theirs or somebody else's, in one group for each possible person.
// Nowhere else is it decided who is one person.
//
// Ids that the network gave with one message are one person's, and so on from
// each to the next, but not through an id that several people had (see shared).
// A nick is no id. It leads to whoever wrote in the private chat of that name
// or, if that chat is gone, to whoever has the nick in a mask; and in both
// cases only if that is one person, and not several one after the other.
func (p *people) identities() (mine []string, maybe [][]string) {
	nick := p.target.Chat()
	all := p.sameAs(nick)
	var called []string // by that nick
	for id := range p.aliases {
		if nickIn(id) == nick || hasFold(p.names[id], nick) {
			called = append(called, id)
		}
	}
	lead := slices.Collect(maps.Keys(p.private))
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
		perhaps = slices.AppendSeq(perhaps, maps.Keys(p.aliases[id]))
	}
	return slices.Sorted(maps.Keys(all)), p.groups(perhaps, all)
}

// groups sorts ids into people, and leaves out those that are known.
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

// sameAs are the ids of the person who has id.
func (p *people) sameAs(id string) map[string]bool {
	found := map[string]bool{id: true}
	if p.shared(id) {
		return found
	}
	for next := []string{id}; len(next) > 0; next = next[1:] {
		for other := range p.aliases[next[0]] {
			if !found[other] && !p.shared(other) {
				found[other] = true
				next = append(next, other)
			}
		}
	}
	return found
}

// shared reports whether several people had id: the network gave it with two
// ids of one kind. A person has one account and one number, but as many masks as
// places to write from. So a mask with two accounts, or a number with two
// WhatsApp accounts, is not one person's alone.
func (p *people) shared(id string) bool {
	had := map[string]bool{}
	for other := range p.aliases[id] {
		kind := kindOf(other)
		if kind != "mask" && had[kind] {
			return true
		}
		had[kind] = true
	}
	return false
}

// kindOf tells ids apart by their form: "account:ann", "800@lid", "+1555".
func kindOf(id string) string {
	if kind, _, ok := strings.Cut(id, ":"); ok {
		return kind
	}
	if _, server, ok := strings.Cut(id, "@"); ok {
		return "@" + server
	}
	return strings.TrimRight(id, "0123456789")
}

// nickIn is the nick that an IRC mask has, or "".
func nickIn(id string) string {
	if mask, ok := strings.CutPrefix(id, "mask:"); ok {
		nick, _, _ := strings.Cut(mask, "!")
		return nick
	}
	return ""
}

func hasFold(names map[string]bool, name string) bool {
	for one := range names {
		if strings.EqualFold(one, name) {
			return true
		}
	}
	return false
}
