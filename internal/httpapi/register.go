package httpapi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// register is what the store tells of the people of a channel: under which ids
// they wrote, where, and what is remembered.
type register struct {
	who channels.Key
	// beside has, for each id that the network gave, those that it gave with it
	// for the same message.
	beside map[string]map[string]bool
	// private are the ids of whoever wrote in the chat of who, if it is private.
	private map[string]bool
	names   map[string]map[string]bool       // display names, by id
	where   map[string]map[channels.Key]bool // conversations, by the id of who wrote in them
	chats   map[channels.Key]*heard          // of all channels
	facts   map[string][]sessions.Fact       // of all channels, by scope
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

// look reads the conversation of who, and nothing else.
func (a *admin) look(ctx context.Context, who channels.Key) (*register, error) {
	r, err := a.paired(ctx, who)
	if err != nil {
		return nil, err
	}
	return r, a.read(ctx, r, who)
}

// read adds what belongs to keys.
func (a *admin) read(ctx context.Context, r *register, keys ...channels.Key) error {
	return a.Store.Dump(ctx, keys, func(one sessions.Record) error {
		r.add(one)
		return nil
	})
}

// search finds all that there is of whoever is who, or may be: it reads the
// conversations in which they wrote or that have their name, and of all others
// the title and the summaries.
func (a *admin) search(ctx context.Context, who channels.Key) (*register, error) {
	r, err := a.meet(ctx, who)
	if err != nil {
		return nil, err
	}
	mine, maybe := r.kin(who)
	keys := []channels.Key{who}
	for _, id := range slices.Concat(mine, slices.Concat(maybe...)) {
		keys = slices.AppendSeq(keys, maps.Keys(r.where[id]))
		if k, err := channels.NewKey(who.Channel(), id); err == nil { // else there is no such chat
			keys = append(keys, k)
		}
	}
	if err := a.read(ctx, r, keys...); err != nil {
		return nil, err
	}
	return r, a.Store.Heads(ctx, func(one sessions.Record) error {
		r.add(one)
		return nil
	})
}

// meet finds the people alone: of messages only who wrote them is read.
func (a *admin) meet(ctx context.Context, who channels.Key) (*register, error) {
	r, err := a.paired(ctx, who)
	if err != nil {
		return nil, err
	}
	writers, err := a.Store.Writers(ctx, who.Channel())
	if err != nil {
		return nil, err
	}
	for _, w := range writers {
		r.wrote(w)
	}
	scopes, err := a.Store.Scopes(ctx, personScope(who.Channel(), ""))
	for _, scope := range scopes {
		r.remembered(scope)
	}
	return r, err
}

// paired begins a register with those who were let in or ask to be.
func (a *admin) paired(ctx context.Context, who channels.Key) (*register, error) {
	r := &register{
		who: who, beside: map[string]map[string]bool{}, private: map[string]bool{}, names: map[string]map[string]bool{},
		where: map[string]map[channels.Key]bool{}, chats: map[channels.Key]*heard{}, facts: map[string][]sessions.Fact{},
	}
	people, err := a.Store.Pairings(ctx, a.Now())
	for _, p := range people {
		if p.Channel == who.Channel() {
			r.met([]string{p.PersonID}, p.Name)
		}
	}
	return r, err
}

// wrote notes somebody of the channel.
func (r *register) wrote(w sessions.Writer) {
	r.met(w.IDs, w.Name)
	for _, id := range w.IDs {
		if r.where[id] == nil {
			r.where[id] = map[channels.Key]bool{}
		}
		r.where[id][w.Key] = true
	}
	if w.Private && w.Key == r.who {
		for _, id := range w.IDs {
			r.private[id] = true
		}
	}
}

// remembered notes whose memory scope is, if it is a person of the channel.
func (r *register) remembered(scope string) {
	if id, ok := strings.CutPrefix(scope, personScope(r.who.Channel(), "")); ok {
		r.met([]string{id}, "")
	}
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
		r.remembered(one.Fact.Scope)
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
				r.wrote(sessions.Writer{Key: one.Messages.Key, IDs: []string{m.Sender}, Name: m.Name})
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
	if in.Key.Channel() == r.who.Channel() {
		r.wrote(sessions.Writer{Key: in.Key, IDs: in.Sender.IDs, Name: in.Sender.Name, Private: in.Private})
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
