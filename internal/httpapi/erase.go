package httpapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// Shared are conversations that stay, and how many messages in each are
	// replaced.
	Shared   []SharedPart `json:"shared"`
	Facts    int          `json:"facts"`
	Pairings int          `json:"pairings"`
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
	// Naming are those of them in which the person is called by name.
	Naming []sessions.Fact `json:"naming,omitempty"`
}

// Empty reports whether nothing was found to erase.
func (p Plan) Empty() bool {
	return len(p.Conversations) == 0 && len(p.Shared) == 0 && p.Facts == 0 && p.Pairings == 0
}

// planErase finds what belongs to a conversation or a person. The target is a
// key, "channel:id" of a person, or a name that somebody was paired with.
func (a *admin) planErase(ctx context.Context, r *request) (any, error) {
	who, err := a.resolve(ctx, r.text("target"))
	if err != nil {
		return nil, err
	}
	p := Plan{Conversations: []sessions.Conversation{}, Shared: []SharedPart{}}
	p.Erasure.Keys = []channels.Key{who}
	if r.text("only") != "conversation" {
		if err := a.planPerson(ctx, &p, who); err != nil {
			return nil, err
		}
	}
	for _, k := range p.Erasure.Keys {
		p.Erasure.Scopes = append(p.Erasure.Scopes, chatScope(k))
		c, err := a.Store.Conversation(ctx, k)
		switch {
		case err == nil:
			p.Conversations = append(p.Conversations, c)
		case !errors.Is(err, sessions.ErrNotFound):
			return nil, err
		}
	}
	for _, scope := range p.Erasure.Scopes {
		facts, err := a.Store.Recall(ctx, scope, "", maxPage)
		if err != nil {
			return nil, err
		}
		p.Facts += len(facts)
	}
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

// chatScope is where the facts of a conversation are.
func chatScope(k channels.Key) string { return "chat:" + k.String() }

// resolve makes a channel and an id of what an operator wrote.
func (a *admin) resolve(ctx context.Context, target string) (channels.Key, error) {
	if k, err := channels.ParseKey(target); err == nil {
		return k, nil
	}
	people, err := a.Store.Pairings(ctx, a.Now())
	if err != nil {
		return channels.Key{}, err
	}
	var found []channels.Key
	for _, p := range people {
		if k, err := channels.NewKey(p.Channel, p.PersonID); err == nil && target != "" && strings.EqualFold(p.Name, target) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return channels.Key{}, &badRequest{"this is neither a conversation's key, nor a person like telegram:123456, nor the name of somebody who was paired"}
	case 1:
		return found[0], nil
	}
	return channels.Key{}, &badRequest{fmt.Sprintf("several people were paired under this name: write %s or %s", found[0], found[1])}
}

// identities are the ids of the person whom who means: the one that was
// written, and those that the network gave in the private chat of that key.
func (a *admin) identities(ctx context.Context, who channels.Key) ([]string, error) {
	ids := []string{who.Chat()}
	err := a.Store.Dump(ctx, []channels.Key{who}, func(r sessions.Record) error {
		if r.Inbox != nil && r.Inbox.Inbound.Private {
			ids = append(ids, r.Inbox.Inbound.Sender.IDs...)
		}
		return nil
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// planPerson adds what a person has beyond the conversation of that name.
func (a *admin) planPerson(ctx context.Context, p *Plan, who channels.Key) error {
	names := []string{who.Chat()}
	ids, err := a.identities(ctx, who)
	if err != nil {
		return err
	}
	for _, id := range ids {
		p.Erasure.Senders = append(p.Erasure.Senders, sessions.Sender{Channel: who.Channel(), ID: id})
		p.Erasure.Scopes = append(p.Erasure.Scopes, "person:"+who.Channel()+":"+id)
	}
	people, err := a.Store.Pairings(ctx, a.Now())
	if err != nil {
		return err
	}
	for _, one := range people {
		if one.Channel == who.Channel() && slices.Contains(ids, one.PersonID) {
			p.Pairings++
			names = append(names, one.Name)
		}
	}
	err = sessions.Walk(ctx, a.Store.Find, sessions.Query{Channel: who.Channel()}, func(c sessions.Conversation) error {
		if c.Key == who {
			return nil
		}
		mine, others, called, err := a.count(ctx, c.Key, ids)
		names = append(names, called...)
		switch {
		case err != nil:
			return err
		case mine > 0 && others == 0:
			p.Erasure.Keys = append(p.Erasure.Keys, c.Key)
		case mine > 0:
			facts, err := a.Store.Recall(ctx, chatScope(c.Key), "", maxPage)
			if err != nil {
				return err
			}
			p.Shared = append(p.Shared, SharedPart{Key: c.Key, Messages: mine, Facts: len(facts), Naming: facts})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, s := range p.Shared { // now that all names are known
		p.Shared[i].Naming = naming(s.Naming, names)
	}
	return nil
}

// count counts the messages of one person and those of others in k, and tells
// under which names the person wrote them.
func (a *admin) count(ctx context.Context, k channels.Key, ids []string) (mine, others int, names []string, err error) {
	for after := int64(0); ; {
		page, err := a.Store.Messages(ctx, k, after, maxPage)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return 0, 0, nil, err
		}
		for _, m := range page {
			switch after = m.Seq; {
			case m.Role != sessions.RoleUser:
			case slices.Contains(ids, m.Sender):
				mine++
				if m.Name != "" && !slices.Contains(names, m.Name) {
					names = append(names, m.Name)
				}
			default:
				others++
			}
		}
		if len(page) < maxPage {
			return mine, others, names, nil
		}
	}
}

// erase carries out a plan. What was cut off before goes first; it is the whole
// answer if it was the same. Once begun it goes on without who asked.
func (a *admin) erase(ctx context.Context, r *request) (any, error) {
	var e sessions.Erasure
	if err := r.decode(&e); err != nil {
		return nil, err
	}
	if len(e.Keys)+len(e.Senders)+len(e.Scopes) == 0 {
		return nil, &badRequest{"there is nothing to erase"}
	}
	ctx = context.WithoutCancel(ctx)
	a.erasing.Lock()
	defer a.erasing.Unlock()
	before, got, err := a.finish(ctx)
	if err != nil {
		return nil, fmt.Errorf("an erasure that was cut off before could not be finished: %w", err)
	}
	if before != nil && before.covers(e) {
		return got, nil
	}
	got, err = a.carryOut(ctx, e)
	if err == nil && nothing(got) {
		err = errNothing
	}
	if err != nil {
		return nil, err
	}
	return got, nil
}

// Finished tells what became of an erasure that was cut off.
type Finished struct {
	// Found says that there was one.
	Found bool `json:"found"`
}

// finishErase carries out again what was cut off, if there is anything.
func (a *admin) finishErase(ctx context.Context, _ *request) (any, error) {
	a.erasing.Lock()
	defer a.erasing.Unlock()
	before, _, err := a.finish(context.WithoutCancel(ctx))
	return Finished{Found: before != nil}, err
}

// errNothing: nothing of what was to be erased was there.
var errNothing = fmt.Errorf("httpapi: erase: %w", sessions.ErrNotFound)

func nothing(e sessions.Erased) bool {
	return e.Conversations+e.Messages+e.Queued+e.Facts+e.Summaries+e.Pairings+e.Noted+len(e.Copies)+len(e.Files) == 0
}
