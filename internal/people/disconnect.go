package people

import (
	"context"
	"slices"
	"strings"

	"dragoman/channels"
)

// Disconnect makes the identities of s, with those of the same rights, a person of their own
// again, and returns the names of those that they leave; none if they were connected with
// nobody. Errors: *Refusal if only whoever runs Dragoman can undo it.
func (c *Connections) Disconnect(ctx context.Context, s Side) (left []string, err error) {
	s.Name = cleanSideName(s.Name)
	err = c.change(ctx, "disconnect", func(st *connecting) (err error) {
		left, err = st.leave(s)
		return err
	})
	return left, err
}

// leave is [Connections.Disconnect].
func (st *connecting) leave(s Side) (left []string, err error) {
	person := st.personOf(s)
	members := st.links.members(person)
	if len(members) == 0 {
		return nil, nil
	}
	var mine []string
	for _, identity := range members {
		same := slices.ContainsFunc(s.Identities, func(one string) bool { return st.links.holder(one) == st.links.holder(identity) })
		if same {
			mine = append(mine, identity)
		}
	}
	if len(mine) == len(members) {
		return nil, refusef("Whoever runs me made one person of %s. Only they can undo it: dragoman people part %s", strings.Join(members, ", "), s.Identities[0])
	}
	rest := slices.DeleteFunc(members, func(one string) bool { return slices.Contains(mine, one) })
	err = st.regroup(mine)
	if err != nil {
		return nil, err
	}
	err = st.regroup(rest)
	if err != nil {
		return nil, err
	}
	told := map[channels.Key]bool{}
	for _, identity := range rest {
		chat := st.links[identity].Chat
		if !chat.IsZero() && !told[chat] {
			told[chat] = true
			st.tell(identity, chat, s.Label())
		}
	}
	return rest, nil
}

// regroup makes a person of its own of some of the identities of one.
func (st *connecting) regroup(identities []string) error {
	if len(identities) == 1 {
		n, err := linkNote(identities[0], joined{})
		st.remove = append(st.remove, n)
		return err
	}
	person := newPerson()
	same := st.links.holder(identities[0])
	if !slices.ContainsFunc(identities, func(one string) bool { return st.links.holder(one) != same }) {
		same = person // what was joined at the machine, alone again
	}
	for _, identity := range identities {
		j := st.links[identity]
		j.Holder = st.links.holder(identity)
		if same == person {
			j.Holder = ""
		}
		j.Person = person
		n, err := linkNote(identity, j)
		if err != nil {
			return err
		}
		st.put = append(st.put, n)
	}
	return nil
}

// tell leaves a note for an identity that somebody left.
func (st *connecting) tell(identity string, chat channels.Key, gone string) {
	st.add(half{
		name: leftPrefix + newID(), side: Side{Identities: []string{identity}, Chat: chat},
		record: halfRecord{State: Left, Until: st.now.Add(triesLast), Gone: gone},
	})
}
