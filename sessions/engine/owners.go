package engine

import (
	"context"
	"fmt"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Who wrote in a conversation is in its head, so that whoever asks about one
// conversation reads one row that is read anyway. In which conversations somebody wrote
// is found by notes of talkKind: one for each identity (the owner) and conversation (the
// name). They follow from the heads: a step that changes a head changes them, dumps and
// documents leave them out.
const talkKind = "talk"

// Derived reports whether notes of a kind follow from other rows, so that copies of the
// store leave them out.
func Derived(kind string) bool { return kind == talkKind }

const (
	// maxOwners is how many people of one conversation are remembered, the first ones.
	// In larger groups nobody reads along by a record of ours anyway.
	maxOwners = 64
	// maxIdentities is how many identities one of them has.
	maxIdentities = 8
)

// Owners lists who wrote in k, by their first messages. It is empty for a conversation
// that is not there, and for one whose authors are not known yet: see
// [Store.FindOwners].
func (s *Store) Owners(ctx context.Context, k channels.Key) ([]sessions.Owner, error) {
	v := s.viewOf(ctx, k)
	h, known := v.head(k)
	if !known || h.Conversation == nil {
		return nil, s.wrap("owners", v.err)
	}
	return ownOwners(h.Conversation.Owners), nil
}

// ownOwners is a copy of list.
func ownOwners(list []sessions.Owner) []sessions.Owner {
	own := slices.Clone(list)
	for i := range own {
		own[i].Identities = slices.Clone(own[i].Identities)
	}
	return own
}

// checkOwners refuses what no store can have written.
func checkOwners(list []sessions.Owner) error {
	if len(list) > maxOwners {
		return fmt.Errorf("%d people wrote in it, at most %d are remembered", len(list), maxOwners)
	}
	for _, o := range list {
		if len(o.Identities) == 0 || len(o.Identities) > maxIdentities {
			return fmt.Errorf("an author with %d identities", len(o.Identities))
		}
		for _, identity := range o.Identities {
			if err := checkName("identity", identity); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteAuthor adds the author of m, a new message of c, to its owners. authors says more
// about them than m does.
func (st *step) noteAuthor(c *chat, m *sessions.Message, authors []sessions.Owner) {
	v := c.Conversation
	if v.Owners == nil || m.Role != sessions.RoleUser || m.Sender == "" {
		return // nil: nobody has looked who wrote before
	}
	author := senderOf(c.Key, m.Sender)
	for _, a := range authors {
		if len(a.Identities) > 0 && a.Identities[0] == author.Identities[0] {
			author = a
		}
	}
	author.From = m.Seq
	v.Owners = addOwner(v.Owners, author)
}

// senderOf is the sender of a message in k, of whom nothing else is known. A chat that has
// its sender's name is private.
func senderOf(k channels.Key, id string) sessions.Owner {
	return sessions.Owner{Identities: []string{sessions.Sender{Channel: k.Channel(), ID: id}.Owner()}, Private: id == k.Chat()}
}

// addOwner returns list with a, which it shares nothing with. It is list itself if that
// has a already. Somebody is recognised by the identity that names them; others that came
// with it later are added.
func addOwner(list []sessions.Owner, a sessions.Owner) []sessions.Owner {
	a.Identities = slices.DeleteFunc(slices.Clone(a.Identities), func(id string) bool { return checkName("identity", id) != nil })
	if len(a.Identities) == 0 {
		return list
	}
	i := slices.IndexFunc(list, func(o sessions.Owner) bool { return o.Identities[0] == a.Identities[0] })
	if i < 0 {
		if len(list) >= maxOwners {
			return list
		}
		a.Identities = a.Identities[:min(len(a.Identities), maxIdentities)]
		return append(slices.Clip(list), a)
	}
	known := list[i]
	var fresh []string
	for _, id := range a.Identities {
		if !slices.Contains(known.Identities, id) && !slices.Contains(fresh, id) {
			fresh = append(fresh, id)
		}
	}
	fresh = fresh[:min(len(fresh), maxIdentities-len(known.Identities))]
	earlier := a.From < known.From
	if len(fresh) == 0 && !earlier {
		return list
	}
	changed := slices.Clone(list)
	changed[i].Identities = slices.Concat(known.Identities, fresh)
	changed[i].From = min(a.From, known.From)
	return changed
}

// joinOwners are the owners of two transcripts whose seqs grow by a number each.
func joinOwners(a *rows.Conversation, theirs int64, b *rows.Conversation, own int64) []sessions.Owner {
	joined := []sessions.Owner{}
	for _, part := range []struct {
		*rows.Conversation
		by int64
	}{{a, theirs}, {b, own}} {
		if part.Owners == nil && part.Messages > 0 {
			return nil // nobody knows
		}
		for _, o := range part.Owners {
			o.From += part.by
			joined = addOwner(joined, o)
		}
	}
	return joined
}

// removeOwners removes the people with one of these ids on the channel of c.
func (st *step) removeOwners(c *chat, ids []string) {
	v := c.Conversation
	if v == nil {
		return
	}
	theirs := func(o sessions.Owner) bool {
		return slices.ContainsFunc(o.Identities, func(identity string) bool {
			return slices.ContainsFunc(ids, func(id string) bool {
				return identity == sessions.Sender{Channel: c.Key.Channel(), ID: id}.Owner()
			})
		})
	}
	if !slices.ContainsFunc(v.Owners, theirs) {
		return
	}
	v.Owners = slices.DeleteFunc(slices.Clone(v.Owners), theirs)
	st.touch(c)
}

// indexOwners changes the notes that follow from the head of c.
func (st *step) indexOwners(c *chat) {
	var now []sessions.Owner
	if c.Conversation != nil {
		now = c.Conversation.Owners
	}
	if len(now) == len(c.stored) && (len(now) == 0 || &now[0] == &c.stored[0]) {
		return // as in nearly every turn
	}
	talk := func(identity string) rows.Record {
		return rows.Record{Note: &sessions.Note{Kind: talkKind, Owner: identity, Name: c.Key.String(), At: rules.Time(st.now)}}
	}
	before := identitiesOf(c.stored)
	after := identitiesOf(now)
	for _, identity := range before {
		if !slices.Contains(after, identity) {
			st.changes.Removed = append(st.changes.Removed, talk(identity))
		}
	}
	if len(c.Key.String()) > sessions.MaxNoteName {
		return // no note can have this name: "mine" does not list it
	}
	for _, identity := range after {
		if !slices.Contains(before, identity) {
			st.record(talk(identity))
		}
	}
}

// identitiesOf are all identities of list, each once, sorted.
func identitiesOf(list []sessions.Owner) []string {
	var all []string
	for _, o := range list {
		all = append(all, o.Identities...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// UnknownOwners lists the conversations of former versions, and imported ones, of which
// nobody knows yet who wrote in them, the most recently updated first.
func (s *Store) UnknownOwners(ctx context.Context) (unknown []channels.Key, err error) {
	v := s.view(ctx)
	for h := range v.heads(rows.Unowned) {
		unknown = append(unknown, h.Key)
	}
	return unknown, s.wrap("unknown owners", v.err)
}

// FindOwners finds out who wrote in these conversations, where nobody knows it, from the
// senders of their messages, in one commit. It may read each message once, which blocks no
// writes.
func (s *Store) FindOwners(ctx context.Context, keys ...channels.Key) error {
	type reading struct {
		authors []sessions.Owner
		through int64
	}
	read := make([]reading, len(keys))
	for i, k := range keys {
		v := s.viewOf(ctx, k)
		read[i].authors, read[i].through = v.authors(k, []sessions.Owner{}, 0)
		if v.err != nil {
			return s.wrap("find owners", v.err)
		}
	}
	return s.update(ctx, "find owners", func(st *step) error {
		for i, k := range keys {
			c := st.chat(k)
			if c.Conversation == nil || c.Conversation.Owners != nil {
				continue // deleted, or found out meanwhile
			}
			c.Conversation.Owners, _ = st.authors(k, read[i].authors, read[i].through) // what came meanwhile
			st.touch(c)
		}
		return nil
	}, keys...)
}

// authors adds to known who wrote in k after a seq, and returns the last seq it read. The
// inbox says which other identities came with a sender and who wrote in private, as far
// back as it goes.
func (v *view) authors(k channels.Key, known []sessions.Owner, after int64) (all []sessions.Owner, last int64) {
	came := map[string]sessions.Owner{} // by the identity that names them
	for r := range v.inbox(k, rows.QueueFilter{Writers: true}) {
		if o := sessions.AuthorOf(r.Inbound); len(o.Identities) > 0 {
			came[o.Identities[0]] = o
		}
	}
	all = known
	last = after
	for m := range v.messages(k, rows.MessageFilter{After: after, Light: true}) {
		last = m.Seq
		if m.Role != sessions.RoleUser || m.Sender == "" {
			continue
		}
		o := senderOf(k, m.Sender)
		if seen, found := came[o.Identities[0]]; found {
			o = seen
		}
		o.From = m.Seq
		all = addOwner(all, o)
	}
	return all, last
}
