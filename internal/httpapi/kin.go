package httpapi

import (
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
)

// kin are the ids of the person whom who means, sorted, and those of whom
// nobody can tell whether they are theirs: one group for each that may be a
// person.
//
// Ids that the network gave for one message are of one person, and so on from
// each to the next, but not by way of an id that several had (see shared). A
// nick is no id. It leads to whoever wrote in the private chat of that name
// or, where nothing is left of that chat, to whoever had that nick elsewhere;
// and in both cases only if that is one person and not several, one after the
// other.
func (r *register) kin(who channels.Key) (mine []string, maybe [][]string) {
	nick := who.Chat()
	all := r.own(nick)
	var called []string // by that nick
	for id := range r.beside {
		if nickIn(id) == nick || hasFold(r.names[id], nick) {
			called = append(called, id)
		}
	}
	lead := slices.Collect(maps.Keys(r.private))
	if len(lead) == 0 {
		lead = slices.DeleteFunc(slices.Clone(called), func(id string) bool { return nickIn(id) != nick })
	}
	lead = slices.DeleteFunc(lead, r.shared)
	if groups := r.groups(lead, all); len(groups) == 1 {
		for _, id := range groups[0] {
			all[id] = true
		}
	}
	perhaps := slices.Concat(called, slices.Collect(maps.Keys(r.private)))
	for id := range all {
		perhaps = slices.AppendSeq(perhaps, maps.Keys(r.beside[id]))
	}
	return slices.Sorted(maps.Keys(all)), r.groups(perhaps, all)
}

// groups sorts ids into people, without those that are known.
func (r *register) groups(ids []string, known map[string]bool) (groups [][]string) {
	slices.Sort(ids)
	seen := maps.Clone(known)
	for _, id := range ids {
		if seen[id] {
			continue
		}
		group := slices.Sorted(maps.Keys(r.own(id)))
		for _, one := range group {
			seen[one] = true
		}
		groups = append(groups, group)
	}
	return groups
}

// own are the ids that are of the same person as id.
func (r *register) own(id string) map[string]bool {
	found := map[string]bool{id: true}
	if r.shared(id) {
		return found
	}
	for next := []string{id}; len(next) > 0; next = next[1:] {
		for other := range r.beside[next[0]] {
			if !found[other] && !r.shared(other) {
				found[other] = true
				next = append(next, other)
			}
		}
	}
	return found
}

// shared reports whether several people had id: it stood beside two ids of one
// kind. Of accounts, numbers and the like a person has one; of masks, which
// tell where somebody wrote from, as many as there are places. So a mask with
// two accounts, or a number with two WhatsApp accounts, belongs to nobody alone.
func (r *register) shared(id string) bool {
	had := map[string]bool{}
	for other := range r.beside[id] {
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
