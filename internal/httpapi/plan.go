package httpapi

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Plan is what an erasure would take away. It was true when it was made: what
// comes later is not part of it.
type Plan struct {
	Erasure sessions.Erasure `json:"erasure"`
	// Conversations go as a whole.
	Conversations []sessions.Conversation `json:"conversations"`
	// Names are keys of which nothing but the name is left. They go as well.
	Names []channels.Key `json:"names,omitempty"`
	// Shared are conversations that stay, and how many messages in each are
	// replaced.
	Shared   []SharedPart `json:"shared"`
	Queued   int          `json:"queued"` // messages and deliveries, done ones included
	Facts    int          `json:"facts"`
	Pairings int          `json:"pairings"`
	// Maybe are ids that may be the same person's, or somebody else's. They stay.
	Maybe []Namesake `json:"maybe,omitempty"`
	// Naming are facts that stay, in any memory, in which a word of a name of the
	// person's stands; Titles are conversations that stay, with such a title.
	Naming []Remembered `json:"naming,omitempty"`
	Titles []Titled     `json:"titles,omitempty"`
	// Summaries are those that stay and have such a word in them.
	Summaries []Summarised `json:"summaries,omitempty"`
	// Unfinished is when an erasure began that was cut off. It is finished before
	// this one.
	Unfinished time.Time `json:"unfinished,omitzero"`
	// Copies of the whole store go with whatever is erased.
	Copies []string `json:"copies,omitempty"`
	// Elsewhere are stores that are not in use, in which nothing is erased.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// SharedPart is a person's part of a conversation with others.
type SharedPart struct {
	Key      channels.Key `json:"key"`
	Messages int          `json:"messages"`
	// Facts are in the memory of that chat, and stay: nobody can tell which of
	// them come from the person or tell of them.
	Facts int `json:"facts,omitempty"`
}

// Titled is a conversation that stays, with its title.
type Titled struct {
	Key   channels.Key `json:"key"`
	Title string       `json:"title"`
}

// Summarised is a summary that stays. Its conversation is what can be erased:
// the messages of which it tells stay as well.
type Summarised struct {
	Key       channels.Key `json:"key"`
	CoversSeq int64        `json:"covers_seq"`
	Text      string       `json:"text"`
}

// Namesake is somebody of whom nobody can tell whether they are the person.
type Namesake struct {
	// Person is a channel and an id, as an erasure takes it.
	Person   string         `json:"person"`
	Messages int            `json:"messages"`
	Chats    []channels.Key `json:"chats,omitempty"` // where those are
	Facts    int            `json:"facts"`
}

// Empty reports whether nothing was found to erase.
func (p Plan) Empty() bool {
	return len(p.Conversations) == 0 && len(p.Shared) == 0 && p.Facts == 0 && p.Pairings == 0 && p.Queued == 0
}

// planErase finds what belongs to a conversation or a person. The target is a
// key, "channel:id" of a person, or a name that somebody was paired with.
func (a *admin) planErase(ctx context.Context, r *request) (any, error) {
	who, err := a.resolve(ctx, r.text("target"))
	if err != nil {
		return nil, err
	}
	defer a.Room()()
	p := Plan{Conversations: []sessions.Conversation{}, Shared: []SharedPart{}}
	p.Erasure.Keys = []channels.Key{who}
	var seen *register
	var names []string
	if r.text("only") == "conversation" {
		seen, err = a.look(ctx, who)
	} else if seen, err = a.search(ctx, who); err == nil {
		names, err = a.planPerson(ctx, &p, seen)
	}
	if err != nil {
		return nil, err
	}
	if err := a.planKeys(ctx, &p, seen); err != nil {
		return nil, err
	}
	seen.naming(&p, newCalling(names))
	before, err := a.unfinished()
	if err != nil {
		return nil, err
	}
	if before != nil {
		p.Unfinished = before.At
	}
	if a.Beside != nil {
		p.Copies, p.Elsewhere, err = a.Beside()
	}
	return p, err
}

// planKeys adds what goes with the conversations of p, and counts facts.
func (a *admin) planKeys(ctx context.Context, p *Plan, seen *register) error {
	for _, k := range p.Erasure.Keys {
		p.Erasure.Scopes = append(p.Erasure.Scopes, chatScope(k))
		c, err := a.Store.Conversation(ctx, k)
		switch {
		case err == nil:
			p.Conversations = append(p.Conversations, c)
		case !errors.Is(err, sessions.ErrNotFound):
			return err
		}
		if h := seen.chats[k]; h != nil {
			p.Queued += h.out
			for _, s := range h.queue {
				p.Queued += s.all
			}
			if err != nil && h.out+len(h.queue) == 0 {
				p.Names = append(p.Names, k)
			}
		}
	}
	for _, scope := range p.Erasure.Scopes {
		facts, err := a.Store.Recall(ctx, scope, "", maxPage)
		if err != nil {
			return err
		}
		p.Facts += len(facts)
	}
	return nil
}

// chatScope is where the facts of a conversation are.
func chatScope(k channels.Key) string { return "chat:" + k.String() }

// personScope is where the facts of the person of this id are.
func personScope(channel, id string) string { return "person:" + channel + ":" + id }

// planPerson adds what a person has beyond the conversation of that name, and
// returns how the person is called.
func (a *admin) planPerson(ctx context.Context, p *Plan, seen *register) (names []string, err error) {
	who := seen.who
	ids, maybe := seen.kin(who)
	if seen.beside[who.Chat()] != nil { // an id of the network's, and no room of that name
		names = append(names, who.Chat())
	}
	for _, id := range ids {
		p.Erasure.Senders = append(p.Erasure.Senders, sessions.Sender{Channel: who.Channel(), ID: id})
		// A plan with a hundred masks need not name a hundred empty memories.
		if scope := personScope(who.Channel(), id); id == who.Chat() || len(seen.facts[scope]) > 0 {
			p.Erasure.Scopes = append(p.Erasure.Scopes, scope)
		}
		names = slices.AppendSeq(append(names, nickIn(id)), maps.Keys(seen.names[id]))
	}
	people, err := a.Store.Pairings(ctx, a.Now())
	if err != nil {
		return nil, err
	}
	for _, one := range people {
		if one.Channel == who.Channel() && slices.Contains(ids, one.PersonID) {
			p.Pairings++
		}
	}
	for _, k := range seen.keys() {
		if k == who {
			continue
		}
		c := seen.chats[k]
		mine, others := c.wrote(ids)
		if slices.Contains(ids, k.Chat()) || mine > 0 && others == 0 { // a private chat under another id, or as good as that
			p.Erasure.Keys = append(p.Erasure.Keys, k)
			continue
		}
		p.Queued += c.queued(ids)
		if mine > 0 {
			p.Shared = append(p.Shared, SharedPart{Key: k, Messages: mine, Facts: len(seen.facts[chatScope(k)])})
		}
	}
	p.Maybe = seen.namesakes(maybe)
	return names, nil
}

// keys are the conversations of the channel, sorted.
func (r *register) keys() (keys []channels.Key) {
	for k := range r.chats {
		if k.Channel() == r.who.Channel() {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b channels.Key) int { return cmp.Compare(a.Chat(), b.Chat()) })
	return keys
}

// namesakes tells what there is of those who may be the person, without those
// of whom there is nothing.
func (r *register) namesakes(maybe [][]string) (list []Namesake) {
	for _, ids := range maybe {
		one := Namesake{Person: r.who.Channel() + ":" + ids[0]}
		queued := 0
		for _, id := range ids {
			one.Facts += len(r.facts[personScope(r.who.Channel(), id)])
		}
		for _, k := range r.keys() {
			mine, _ := r.chats[k].wrote(ids)
			queued += r.chats[k].queued(ids)
			if one.Messages += mine; mine > 0 {
				one.Chats = append(one.Chats, k)
			}
		}
		if one.Messages+one.Facts+queued > 0 {
			list = append(list, one)
		}
	}
	return list
}
