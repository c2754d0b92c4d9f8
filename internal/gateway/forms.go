package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/forms"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// A turn whose call needs to know something of the person is parked until they have written
// it: see package forms. Their words are then no message for the model.

// identities are those of the author of m that are one person's.
func identities(m channels.Inbound) (list []string) {
	who := actions.Who{Channel: m.Key.Channel(), IDs: m.Sender.IDs}
	for _, id := range who.Vouched() {
		list = append(list, who.Channel+":"+id)
	}
	return list
}

// answerers are the identities under which the author of m answers a server; none: nobody can.
// Whoever runs Dragoman has another one in "dragoman ask" than where they write.
func (g *Gateway) answerers(m channels.Inbound) []string {
	who := identities(m)
	dir := g.opts.People
	switch {
	case dir.IsOperatorsRoom(m.Key), m.Private && m.Key == dir.OperatorChat():
		return append(who, people.OperatorID)
	case m.Sender.ID() == people.OperatorID && !slices.Contains(dir.Rooms(), m.Key.Channel()):
		return nil // in the chat of others, who did not ask
	}
	return who
}

// asker puts the forms of r's calls to whoever asked; nil: nobody is there.
func (r *run) asker() agent.Asker {
	if r.g.opts.Forms == nil || r.job != nil {
		return nil
	}
	newest := r.newest()
	return r.g.opts.Forms.Asker(forms.Turn{
		Chat: r.claim.Key, Item: r.item(), Who: r.g.answerers(newest), Name: newest.Sender.Name, Private: newest.Private,
	})
}

// formsAsked are the forms of a turn with those steps that were sent when it was parked, by
// call and number.
func formsAsked(steps []sessions.Step) map[string]int {
	asked := map[string]int{}
	open := map[string]int{}
	for _, s := range steps {
		switch s.Kind {
		case sessions.StepToolAsk:
			open[s.CallID]++
		case sessions.StepParked:
			for call, nth := range open {
				asked[call] = nth
			}
		}
	}
	return asked
}

// formOf returns the form of r that waits; nil: none does.
func (r *run) formOf(ctx context.Context) (*forms.Waiting, error) {
	if r.g.opts.Forms == nil {
		return nil, nil
	}
	w, err := r.g.opts.Forms.Waiting(ctx, r.claim.Key)
	if w == nil || err != nil || w.Turn != r.id {
		return nil, err
	}
	return w, nil
}

// askForm adds to p what asks for the form w, if that was not sent before.
func (r *run) askForm(p *sessions.Parking, w *forms.Waiting) {
	if w == nil {
		return
	}
	if p.Until.IsZero() || w.Until.Before(p.Until) {
		p.Until = w.Until
	}
	p.Why = "it waits for an answer to a server's question"
	if r.askedForms[w.Call] < w.Nth {
		l := sessions.Label{Kind: channels.KindForm, Turn: r.id}
		p.Replies = append(p.Replies, r.g.split(l, r.claim.Key, w.Question(), r.newest())...)
	}
}

// takeForm takes m as an answer to the form that waits in its chat, if its author may give one.
func (g *Gateway) takeForm(ctx context.Context, m channels.Inbound) (taken bool, err error) {
	_, isCommand := parseCommand(m.Text)
	switch {
	case g.opts.Forms == nil, m.Forwarded != nil, m.Edits != "", strings.TrimSpace(m.Text) == "",
		isCommand && !forms.IsCancel(m.Text), !m.Private && !m.Addressed:
		return false, nil
	}
	who := g.answerers(m)
	w, again, err := g.opts.Forms.Concerns(ctx, m.Key, who, m.ID)
	if err != nil || w == nil && !again {
		return false, err
	}
	if w != nil {
		waits, err := g.isQueued(ctx, m.Key, w.Item)
		if err == nil && !waits {
			return false, g.opts.Forms.Close(ctx, m.Key) // a /stop has ended its turn
		}
		if err != nil || !w.IsFor(who) && !again {
			return false, err
		}
		known, err := g.isStored(ctx, m)
		if err != nil || known && !again {
			return false, err
		}
	}
	t, err := g.opts.Forms.Take(ctx, m.Key, who, m.ID, m.Text)
	if err != nil || !t.Is {
		return false, err
	}
	l := sessions.Label{Kind: channels.KindForm}
	if t.Due != "" {
		l.Kind = channels.KindCommand // it waits for nothing more
	}
	replies := g.split(l, m.Key, t.Say, m)
	got, err := g.store.Accept(ctx, sessions.Entry{Inbound: m, Answered: true, Replies: replies})
	if err != nil {
		return false, fmt.Errorf("gateway: an answer to a form in %s: %w", m.Key, err)
	}
	g.countCommand(m.Key, got.Outcome)
	if t.Due != "" {
		g.makeDue(ctx, []string{t.Due})
	}
	g.chats.kick(m.Key)
	return true, nil
}

// isStored reports whether m came before and was stored: after a crash networks hand in again
// what they do not know to be taken, such as the message whose turn asks.
func (g *Gateway) isStored(ctx context.Context, m channels.Inbound) (bool, error) {
	const handedInAgain = 200 // at most so many
	items, err := g.store.Feed(ctx, m.Key, 0, handedInAgain)
	if err != nil {
		return false, fmt.Errorf("gateway: what was said in %s: %w", m.Key, err)
	}
	return slices.ContainsFunc(items, func(it sessions.FeedItem) bool { return it.ID == m.ID }), nil
}

// isQueued reports whether an item of the queue waits in a chat.
func (g *Gateway) isQueued(ctx context.Context, k channels.Key, item string) (bool, error) {
	items, err := g.store.QueueOf(ctx, k)
	for _, it := range items {
		if it.ID == item {
			return true, err
		}
	}
	return false, err
}
