package erasure

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Plan is what an erasure would have removed when the plan was made.
type Plan struct {
	Erasure sessions.Erasure `json:"erasure"`
	// Conversations are removed as a whole.
	Conversations []sessions.Conversation `json:"conversations"`
	// Names are keys without any data. They are removed, too.
	Names []channels.Key `json:"names,omitempty"`
	// Shared are conversations in which only the person's messages are replaced.
	Shared   []SharedPart `json:"shared"`
	Queued   int          `json:"queued"` // messages and deliveries, done ones included
	Facts    int          `json:"facts"`
	Pairings int          `json:"pairings"`
	// Notes are what subjects keep of the person or chat: tokens, reminders and the like.
	// Counts are sums by day.
	Notes  int `json:"notes,omitempty"`
	Counts int `json:"counts,omitempty"`
	// Joined are the identities of other networks, or of this one, that are erased with the
	// target because they were joined into one person.
	Joined []string `json:"joined,omitempty"`
	// Maybe are ids that may belong to the person or to somebody else. Their data is
	// kept.
	Maybe []Namesake `json:"maybe,omitempty"`
	// Unfinished is when an interrupted erasure began. It is finished before this one.
	Unfinished time.Time `json:"unfinished,omitzero"`
	// Elsewhere are other stores, which are not in use and are not erased from.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// SharedPart is a person's part of a conversation with others.
type SharedPart struct {
	Key      channels.Key `json:"key"`
	Messages int          `json:"messages"`
	// Facts counts the memory of that chat. It is kept, because it does not say which
	// facts come from the person.
	Facts int `json:"facts,omitempty"`
}

// Namesake is somebody who may be the person.
type Namesake struct {
	// Person is "channel:id", a target for an erasure.
	Person string `json:"person"`
	// Chats are the conversations in which the namesake wrote.
	Chats []channels.Key `json:"chats,omitempty"`
}

// Empty reports whether nothing was found to erase.
func (p Plan) Empty() bool {
	return len(p.Conversations) == 0 && len(p.Shared) == 0 && p.Facts == 0 && p.Pairings == 0 && p.Queued == 0 && p.Notes == 0 && p.Counts == 0
}

// Plan finds everything that belongs to target: the conversation of that key and,
// unless onlyConversation, the person with that name or id.
func (e *Eraser) Plan(ctx context.Context, target channels.Key, onlyConversation bool) (p Plan, err error) {
	p = Plan{Conversations: []sessions.Conversation{}, Shared: []SharedPart{}}
	p.Erasure.Keys = []channels.Key{target}
	var seen map[channels.Key]*chat
	if onlyConversation {
		seen, err = e.count(ctx, nil, p.Erasure.Keys)
	} else {
		seen, err = e.planPerson(ctx, &p, target)
	}
	if err == nil {
		err = e.planKeys(ctx, &p, seen)
	}
	if err != nil {
		return p, err
	}
	p.Notes, p.Counts, err = e.Store.Owned(ctx, p.Erasure)
	if err != nil {
		return p, err
	}
	before, err := e.unfinished()
	if err != nil {
		return p, err
	}
	if before != nil {
		p.Unfinished = before.At
	}
	if e.Leftovers != nil {
		p.Elsewhere, err = e.Leftovers()
	}
	return p, err
}

// planRooms adds to p the rooms of our own that somebody with these ids opened, and
// returns them. There a sender's id is the whole identity: "telegram:42".
func (e *Eraser) planRooms(ctx context.Context, p *Plan, channel string, ids []string) ([]channels.Key, error) {
	if e.Rooms == nil {
		return nil, nil
	}
	var identities []string
	for _, id := range ids {
		identities = append(identities, people.Identity(channel, id))
	}
	rooms, err := e.Rooms(ctx, identities)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, k := range rooms {
		names[k.Channel()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, identity := range identities {
			p.Erasure.Senders = append(p.Erasure.Senders, sessions.Sender{Channel: name, ID: identity})
			p.Erasure.Scopes = append(p.Erasure.Scopes, sessions.PersonScope(name, identity))
		}
	}
	p.Erasure.Keys = append(p.Erasure.Keys, rooms...)
	return rooms, nil
}

// planPerson adds to p the person's data beyond the target's conversation. It returns
// the counts of the conversations in which the person wrote, of those whose name is
// one of the ids, and of the target.
func (e *Eraser) planPerson(ctx context.Context, p *Plan, target channels.Key) (map[channels.Key]*chat, error) {
	who, err := e.People.Meant(ctx, e.Store, target, e.Now())
	if err != nil {
		return nil, err
	}
	p.Joined = who.Joined
	for _, group := range who.Maybe {
		p.Maybe = append(p.Maybe, Namesake{people.Identity(target.Channel(), group[0]), who.Traces(target.Channel()).ChatsOf(group)})
	}
	seen := map[channels.Key]*chat{}
	for _, channel := range who.Channels() {
		some, err := e.planChannel(ctx, p, who, channel, target)
		if err != nil {
			return nil, err
		}
		maps.Copy(seen, some)
	}
	return seen, nil
}

// planChannel is planPerson for the person's ids on one channel.
func (e *Eraser) planChannel(ctx context.Context, p *Plan, who *people.Somebody, channel string, target channels.Key) (map[channels.Key]*chat, error) {
	ids := who.IDs[channel]
	traces := who.Traces(channel)
	keys := traces.ChatsOf(ids)
	if channel == target.Channel() {
		keys = append(keys, target)
	}
	for _, id := range ids {
		p.Erasure.Senders = append(p.Erasure.Senders, sessions.Sender{Channel: channel, ID: id})
		p.Pairings += traces.Pairings(id)
		// A plan for a hundred masks need not name a hundred empty memories.
		if channel == target.Channel() && id == target.Chat() || traces.Remembered(id) {
			p.Erasure.Scopes = append(p.Erasure.Scopes, sessions.PersonScope(channel, id))
		}
		if k, err := channels.NewKey(channel, id); err == nil { // else no chat can have that name
			keys = append(keys, k)
		}
	}
	rooms, err := e.planRooms(ctx, p, channel, ids)
	if err != nil {
		return nil, err
	}
	seen, err := e.count(ctx, ids, append(keys, rooms...))
	if err != nil {
		return nil, err
	}
	for _, k := range slices.SortedFunc(maps.Keys(seen), byChat) {
		c := seen[k]
		switch {
		case k == target || k.Channel() != channel:
		case slices.Contains(ids, k.Chat()) || c.mine > 0 && c.others == 0: // a private chat, or one in which only the person wrote
			p.Erasure.Keys = append(p.Erasure.Keys, k)
		default:
			p.Queued += c.asked
			if c.mine == 0 {
				continue
			}
			facts, err := e.Store.CountFacts(ctx, sessions.ChatScope(k))
			if err != nil {
				return nil, err
			}
			p.Shared = append(p.Shared, SharedPart{Key: k, Messages: c.mine, Facts: facts})
		}
	}
	return seen, nil
}

func byChat(a, b channels.Key) int { return strings.Compare(a.String(), b.String()) }

// planKeys adds to p the data that is removed with its keys, and counts facts.
func (e *Eraser) planKeys(ctx context.Context, p *Plan, seen map[channels.Key]*chat) (err error) {
	for _, k := range p.Erasure.Keys {
		p.Erasure.Scopes = append(p.Erasure.Scopes, sessions.ChatScope(k))
		c, err := e.Store.Conversation(ctx, k)
		if err == nil {
			p.Conversations = append(p.Conversations, c)
		} else if !errors.Is(err, sessions.ErrNotFound) {
			return err
		}
		if c := seen[k]; c != nil {
			p.Queued += c.queued
			if err != nil && c.queued == 0 {
				p.Names = append(p.Names, k)
			}
		}
	}
	p.Erasure.Scopes, err = e.withOwn(ctx, p.Erasure.Scopes)
	if err != nil {
		return err
	}
	p.Facts, err = e.Store.CountFacts(ctx, p.Erasure.Scopes...)
	return err
}

// withOwn returns scopes and those in which personas have memories of their own about the
// same.
func (e *Eraser) withOwn(ctx context.Context, scopes []string) ([]string, error) {
	all, err := e.Store.FactScopes(ctx, sessions.OwnScopes)
	if err != nil {
		return nil, err
	}
	shared := slices.Clone(scopes)
	for _, own := range all {
		if slices.Contains(shared, sessions.SharedScope(own)) {
			scopes = append(scopes, own)
		}
	}
	return scopes, nil
}

// Scopes returns the memories of the chat k and of the person with that name or id,
// under every id. It includes people who may be the same, because reading their
// memories, or forgetting one fact, does no harm.
func (e *Eraser) Scopes(ctx context.Context, k channels.Key) ([]string, error) {
	traces, err := people.ReadTraces(ctx, e.Store, k.Channel(), e.Now())
	if err != nil {
		return nil, err
	}
	mine, maybe := traces.Meant(k)
	scopes := []string{sessions.ChatScope(k)}
	for _, id := range slices.Concat(mine, slices.Concat(maybe...)) {
		scopes = append(scopes, sessions.PersonScope(k.Channel(), id))
	}
	return e.withOwn(ctx, scopes)
}

// chat counts what is in one conversation.
type chat struct {
	mine   int // messages of the person
	others int // messages of others, waiting ones included
	asked  int // inbox entries of the person
	queued int // all entries of the queues
}

// count counts the messages and queue entries in the conversations of keys, with ids
// as the person's. A key that the store does not know has no counts.
func (e *Eraser) count(ctx context.Context, ids []string, keys []channels.Key) (map[channels.Key]*chat, error) {
	all := map[channels.Key]*chat{}
	in := func(k channels.Key) *chat {
		if all[k] == nil {
			all[k] = &chat{}
		}
		return all[k]
	}
	err := e.Store.Dump(ctx, keys, func(r sessions.Record) error {
		switch {
		case r.Conversation != nil:
			in(r.Conversation.Key)
		case r.Outbox != nil:
			in(r.Outbox.Key).queued++
		case r.Inbox != nil:
			c, from := in(r.Inbox.Inbound.Key), r.Inbox.Inbound.Sender.IDs
			c.queued++
			if slices.ContainsFunc(from, func(id string) bool { return slices.Contains(ids, id) }) {
				c.asked++
			} else if len(from) > 0 && r.Inbox.State == "waiting" {
				c.others++
			}
		case r.Messages != nil:
			c := in(r.Messages.Key)
			for _, m := range r.Messages.Messages {
				switch {
				case m.Role != sessions.RoleUser:
				case m.Sender != "" && slices.Contains(ids, m.Sender):
					c.mine++
				default:
					c.others++
				}
			}
		}
		return nil
	})
	return all, err
}
