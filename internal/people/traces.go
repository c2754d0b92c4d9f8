package people

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// TraceStore is what the store knows of people whom nobody introduced.
type TraceStore interface {
	Writers(ctx context.Context, channel string) ([]sessions.Writer, error)
	FactScopes(ctx context.Context, prefix string) ([]string, error)
	Pairings(ctx context.Context, now time.Time) ([]sessions.Pairing, error)
}

// Traces are what the store knows about the people of one channel, by id.
type Traces struct {
	ids map[string]*trace
}

// trace is what is known of one id.
type trace struct {
	with   map[string]bool // ids that the network gave with it for the same message
	names  map[string]bool // display names
	chats  map[channels.Key]bool
	alone  map[channels.Key]bool // private chats in which it wrote
	facts  bool                  // it has a memory
	paired int                   // its pairings
}

// ReadTraces finds out who wrote on a channel, is paired or has a memory there. It reads
// only the senders of messages.
func ReadTraces(ctx context.Context, store TraceStore, channel string, now time.Time) (*Traces, error) {
	t := &Traces{ids: map[string]*trace{}}
	all, err := store.Pairings(ctx, now)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Channel == channel {
			i := t.of(one.PersonID)
			i.paired++
			i.names[one.Name] = true
		}
	}
	writers, err := store.Writers(ctx, channel)
	if err != nil {
		return nil, err
	}
	for _, w := range writers {
		for _, id := range w.IDs {
			i := t.of(id)
			i.names[w.Name] = true
			i.chats[w.Key] = true
			if w.Private {
				i.alone[w.Key] = true
			}
			for _, other := range w.IDs {
				if other != id {
					i.with[other] = true
				}
			}
		}
	}
	prefix := sessions.PersonScope(channel, "")
	scopes, err := store.FactScopes(ctx, "")
	for _, scope := range scopes {
		if id, of := strings.CutPrefix(sessions.SharedScope(scope), prefix); of {
			t.of(id).facts = true
		}
	}
	return t, err
}

// Remembered reports whether there is a memory of id.
func (t *Traces) Remembered(id string) bool { return t.of(id).facts }

// Pairings is how many pairings id has.
func (t *Traces) Pairings(id string) int { return t.of(id).paired }

// of returns what is known of id.
func (t *Traces) of(id string) *trace {
	if t.ids[id] == nil {
		t.ids[id] = &trace{with: map[string]bool{}, names: map[string]bool{}, chats: map[channels.Key]bool{}, alone: map[channels.Key]bool{}}
	}
	return t.ids[id]
}

// ChatsOf returns the conversations in which one of ids wrote, sorted.
func (t *Traces) ChatsOf(ids []string) []channels.Key {
	all := map[channels.Key]bool{}
	for _, id := range ids {
		maps.Copy(all, t.of(id).chats)
	}
	return slices.SortedFunc(maps.Keys(all), byChat)
}

func byChat(a, b channels.Key) int { return strings.Compare(a.String(), b.String()) }

// Meant returns the ids of the person whom the target means, sorted, and ids
// that may be theirs or somebody else's, one group for each possible person. No other
// function decides which ids that a network vouched for belong to one person;
// channels.Person.Is only compares the senders of two messages.
//
// Ids that the network gave with one message belong to one person, and so do ids
// connected by several messages, but not through an id that several people had (see
// shared). A nick is no id. It stands for the person who wrote in the private chat of
// that name or, if that chat is gone, for the person who has the nick in a mask, and
// in both cases only if there is exactly one.
func (t *Traces) Meant(target channels.Key) (mine []string, maybe [][]string) {
	nick := target.Chat()
	all := t.sameAs(nick)
	var called, lead []string // ids with that nick; ids that wrote in the chat of that name
	for id, i := range t.ids {
		named := slices.ContainsFunc(slices.Collect(maps.Keys(i.names)), func(name string) bool { return strings.EqualFold(name, nick) })
		if named || nickIn(id) == nick {
			called = append(called, id)
		}
		if i.alone[target] {
			lead = append(lead, id)
		}
	}
	perhaps := slices.Concat(called, lead)
	if len(lead) == 0 {
		lead = slices.DeleteFunc(called, func(id string) bool { return nickIn(id) != nick })
	}
	if groups := t.groups(slices.DeleteFunc(lead, t.shared), all); len(groups) == 1 {
		for _, id := range groups[0] {
			all[id] = true
		}
	}
	for id := range all {
		perhaps = slices.AppendSeq(perhaps, maps.Keys(t.of(id).with))
	}
	return slices.Sorted(maps.Keys(all)), t.groups(perhaps, all)
}

// groups sorts ids into people, without those that are known.
func (t *Traces) groups(ids []string, known map[string]bool) (groups [][]string) {
	slices.Sort(ids)
	seen := maps.Clone(known)
	for _, id := range ids {
		if seen[id] {
			continue
		}
		group := slices.Sorted(maps.Keys(t.sameAs(id)))
		for _, one := range group {
			seen[one] = true
		}
		groups = append(groups, group)
	}
	return groups
}

// sameAs returns all ids of the person who has id.
func (t *Traces) sameAs(id string) map[string]bool {
	found := map[string]bool{id: true}
	if t.shared(id) {
		return found
	}
	for next := []string{id}; len(next) > 0; next = next[1:] {
		for other := range t.of(next[0]).with {
			if !found[other] && !t.shared(other) {
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
func (t *Traces) shared(id string) bool {
	had := map[string]bool{}
	for other := range t.of(id).with {
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
