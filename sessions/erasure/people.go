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
	facts   map[string]bool        // scopes of people that have facts
	chats   map[channels.Key]*chat // those that were read
}

// chat counts what is in one conversation.
type chat struct {
	said  map[string]int   // messages of people, by sender; "" is unknown
	queue map[string]*rows // inbox rows, by their ids
	out   int              // deliveries
}

// rows are inbox rows with the same ids.
type rows struct {
	ids          []string
	all, waiting int
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
		where: map[string]map[channels.Key]bool{}, facts: map[string]bool{}, chats: map[channels.Key]*chat{},
	}
}

// read adds to p what is in the conversations of keys.
func (e *Eraser) read(ctx context.Context, p *people, keys ...channels.Key) error {
	return e.Store.Dump(ctx, keys, func(r sessions.Record) error {
		switch {
		case r.Conversation != nil:
			p.chat(r.Conversation.Key)
		case r.Outbox != nil:
			p.chat(r.Outbox.Key).out++
		case r.Inbox != nil:
			p.chat(r.Inbox.Inbound.Key).addRow(r.Inbox)
		case r.Messages != nil:
			c := p.chat(r.Messages.Key)
			for _, m := range r.Messages.Messages {
				if m.Role == sessions.RoleUser {
					c.said[m.Sender]++
				}
			}
		}
		return nil
	})
}

// readOf adds to p the conversations in which somebody with one of ids wrote,
// those that have an id for a name, and that of the target.
func (e *Eraser) readOf(ctx context.Context, p *people, ids []string) error {
	keys := append(p.chatsOf(ids), p.target)
	for _, id := range ids {
		if k, err := channels.NewKey(p.target.Channel(), id); err == nil { // else no chat can have that name
			keys = append(keys, k)
		}
	}
	return e.read(ctx, p, keys...)
}

// chatsOf are the conversations in which somebody with one of ids wrote, sorted.
func (p *people) chatsOf(ids []string) []channels.Key {
	all := map[channels.Key]bool{}
	for _, id := range ids {
		maps.Copy(all, p.where[id])
	}
	return slices.SortedFunc(maps.Keys(all), byChat)
}

func byChat(a, b channels.Key) int { return cmp.Compare(a.Chat(), b.Chat()) }

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

func (p *people) chat(k channels.Key) *chat {
	if p.chats[k] == nil {
		p.chats[k] = &chat{said: map[string]int{}, queue: map[string]*rows{}}
	}
	return p.chats[k]
}

// keys are the conversations of the channel that were read, sorted.
func (p *people) keys() (keys []channels.Key) {
	for k := range p.chats {
		if k.Channel() == p.target.Channel() {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, byChat)
	return keys
}

func (c *chat) addRow(r *sessions.InboxRecord) {
	ids := r.Inbound.Sender.IDs
	name := strings.Join(ids, "\n")
	if c.queue[name] == nil {
		c.queue[name] = &rows{ids: ids}
	}
	c.queue[name].all++
	if r.State == "waiting" {
		c.queue[name].waiting++
	}
}

// wrote counts the messages in c of people with one of ids, and those of others,
// which include waiting ones.
func (c *chat) wrote(ids []string) (mine, others int) {
	for id, n := range c.said {
		if id != "" && slices.Contains(ids, id) {
			mine += n
		} else {
			others += n
		}
	}
	for _, r := range c.queue {
		if len(r.ids) > 0 && !r.of(ids) {
			others += r.waiting
		}
	}
	return mine, others
}

// queued counts the inbox rows in c of people with one of ids.
func (c *chat) queued(ids []string) (n int) {
	for _, r := range c.queue {
		if r.of(ids) {
			n += r.all
		}
	}
	return n
}

func (r *rows) of(ids []string) bool {
	return slices.ContainsFunc(r.ids, func(id string) bool { return slices.Contains(ids, id) })
}
