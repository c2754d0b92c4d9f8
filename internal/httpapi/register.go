package httpapi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// register is what one look through the store tells of the people of a channel:
// under which ids they wrote, where, and what is remembered.
type register struct {
	who channels.Key
	// beside has, for each id that the network gave, those that it gave with it
	// for the same message.
	beside map[string]map[string]bool
	// private are the ids of whoever wrote in the chat of who, if it is private.
	private map[string]bool
	names   map[string]map[string]bool // display names, by id
	chats   map[channels.Key]*heard    // of all channels
	facts   map[string][]sessions.Fact // of all channels, by scope
}

// heard is what a register knows of one conversation.
type heard struct {
	title string
	// summaries are those of the newest generation, which begins with the message
	// since; first is whose first message of it is which.
	summaries []sessions.Summary
	since     int64
	first     map[string]int64
	said      map[string]int   // messages of people, by sender; "" is nobody known
	queue     map[string]*sent // inbox rows, by their ids
	out       int              // deliveries
}

// sent counts inbox rows that have the same ids.
type sent struct {
	ids          []string
	all, waiting int
}

// look reads the store, or only what belongs to keys.
func (a *admin) look(ctx context.Context, who channels.Key, keys ...channels.Key) (*register, error) {
	r := &register{
		who: who, beside: map[string]map[string]bool{}, private: map[string]bool{}, names: map[string]map[string]bool{},
		chats: map[channels.Key]*heard{}, facts: map[string][]sessions.Fact{},
	}
	people, err := a.Store.Pairings(ctx, a.Now())
	for _, p := range people {
		if p.Channel == who.Channel() {
			r.met([]string{p.PersonID}, p.Name)
		}
	}
	if err != nil {
		return nil, err
	}
	return r, a.Store.Dump(ctx, keys, func(one sessions.Record) error {
		r.add(one)
		return nil
	})
}

func (r *register) add(one sessions.Record) {
	switch {
	case one.Conversation != nil:
		c := r.chat(one.Conversation.Key)
		c.title, c.summaries = one.Conversation.Title, one.Conversation.Summaries
		if n := len(one.Conversation.Generations); n > 0 {
			c.since = one.Conversation.Generations[n-1].FirstSeq
		}
	case one.Outbox != nil:
		r.chat(one.Outbox.Key).out++
	case one.Fact != nil:
		r.facts[one.Fact.Scope] = append(r.facts[one.Fact.Scope], one.Fact.Fact)
		if id, ok := strings.CutPrefix(one.Fact.Scope, personScope(r.who.Channel(), "")); ok {
			r.met([]string{id}, "")
		}
	case one.Messages != nil:
		c := r.chat(one.Messages.Key)
		for _, m := range one.Messages.Messages {
			if m.Role != sessions.RoleUser {
				continue
			}
			c.said[m.Sender]++
			if _, before := c.first[m.Sender]; !before && m.Sender != "" && m.Seq >= c.since {
				c.first[m.Sender] = m.Seq
			}
			if m.Sender != "" && one.Messages.Key.Channel() == r.who.Channel() {
				r.met([]string{m.Sender}, m.Name)
			}
		}
	case one.Inbox != nil:
		r.received(one.Inbox)
	}
}

func (r *register) received(row *sessions.InboxRecord) {
	in := row.Inbound
	c, name := r.chat(in.Key), strings.Join(in.Sender.IDs, "\n")
	if c.queue[name] == nil {
		c.queue[name] = &sent{ids: in.Sender.IDs}
	}
	c.queue[name].all++
	if row.State == "waiting" {
		c.queue[name].waiting++
	}
	if in.Key.Channel() != r.who.Channel() {
		return
	}
	r.met(in.Sender.IDs, in.Sender.Name)
	if in.Private && in.Key == r.who {
		for _, id := range in.Sender.IDs {
			r.private[id] = true
		}
	}
}

func (r *register) chat(k channels.Key) *heard {
	if r.chats[k] == nil {
		r.chats[k] = &heard{first: map[string]int64{}, said: map[string]int{}, queue: map[string]*sent{}}
	}
	return r.chats[k]
}

// met notes that the network gave ids for one person, who was called name.
func (r *register) met(ids []string, name string) {
	for _, id := range ids {
		if r.beside[id] == nil {
			r.beside[id], r.names[id] = map[string]bool{}, map[string]bool{}
		}
		if name != "" {
			r.names[id][name] = true
		}
		for _, other := range ids {
			if other != id {
				r.beside[id][other] = true
			}
		}
	}
}

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

// wrote counts the messages of people with one of ids in c, and those of others,
// waiting ones included.
func (c *heard) wrote(ids []string) (mine, others int) {
	for id, n := range c.said {
		if id != "" && slices.Contains(ids, id) {
			mine += n
		} else {
			others += n
		}
	}
	for _, s := range c.queue {
		if len(s.ids) > 0 && !s.of(ids) {
			others += s.waiting
		}
	}
	return mine, others
}

// queued counts the inbox rows in c of people with one of ids.
func (c *heard) queued(ids []string) (n int) {
	for _, s := range c.queue {
		if s.of(ids) {
			n += s.all
		}
	}
	return n
}

func (s *sent) of(ids []string) bool {
	return slices.ContainsFunc(s.ids, func(id string) bool { return slices.Contains(ids, id) })
}
