package gateway

import (
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// inRound is how many pieces of one person's answers go out before it is
// somebody else's turn.
const inRound = 3

// mostLeaving is how many pieces wait in an outbox at most when a turn begins
// before all of them are out.
const mostLeaving = 50

// interleaver is how the answers in k take turns, or nil if they do not.
func (g *Gateway) interleaver(k channels.Key) channels.Interleaver {
	b := g.bindings[k.Channel()]
	if b == nil {
		return nil
	}
	if iv, able := b.Channel.(channels.Interleaver); able && iv.Interleaves(k) {
		return iv
	}
	return nil
}

// asker names whom what answers replyTo in k is for, or is "" where answers do
// not take turns.
func (g *Gateway) asker(k channels.Key, replyTo string) string {
	if iv := g.interleaver(k); iv != nil {
		return iv.Asker(replyTo)
	}
	return ""
}

// interleave lets the answers in list, k's outbox, take turns. Its first one
// must be due: else all of it waits, and in the order that the store waits for.
func (g *Gateway) interleave(k channels.Key, list []sessions.Delivery) []sessions.Delivery {
	iv, now := g.interleaver(k), g.opts.Now()
	if iv == nil || slices.ContainsFunc(list, func(d sessions.Delivery) bool { return d.NotBefore.After(now) }) {
		return list
	}
	return rounds(list, iv, g.underway.lastSaid(k))
}

// rounds is list with a few pieces of each person's answers in turn, whose order
// among themselves stays.
func rounds(list []sessions.Delivery, iv channels.Interleaver, last said) []sessions.Delivery {
	var order []string
	lanes := map[string][]sessions.Delivery{}
	for _, d := range list {
		asker := iv.Asker(d.ReplyTo)
		if len(lanes[asker]) == 0 {
			order = append(order, asker)
		}
		lanes[asker] = append(lanes[asker], d)
	}
	first := slices.Index(order, last.who)
	if first < 0 {
		// Nothing was said, or we have started again, maybe in the middle of something.
		last, first = said{}, max(0, slices.IndexFunc(order, func(asker string) bool {
			return wasUncertain(lanes[asker][0]) || iv.Continues("", lanes[asker][0].Text)
		}))
	}
	order = slices.Concat(order[first:], order[:first])
	out := make([]sessions.Delivery, 0, len(list))
	for ; len(order) > 0; last = (said{}) {
		asker := order[0]
		lane := lanes[asker]
		for len(lane) > 0 && (last.pieces < inRound || len(lane) == 1 || iv.Continues(last.text, lane[0].Text)) {
			out = append(out, lane[0])
			last.pieces, last.text, lane = last.pieces+1, lane[0].Text, lane[1:]
		}
		order, lanes[asker] = order[1:], lane
		if len(lane) > 0 {
			order = append(order, asker)
		}
	}
	return out
}

// ofOneAsker is p, what waits in k, without the messages of others than the first
// one's author, if answers in k take turns: each of them gets an answer.
func (g *Gateway) ofOneAsker(k channels.Key, p sessions.Pending) sessions.Pending {
	iv := g.interleaver(k)
	if iv == nil || len(p.Messages) == 0 {
		return p
	}
	all, first := len(p.Messages), iv.Asker(p.Messages[0].Inbound.MessageID)
	p.Messages = slices.DeleteFunc(p.Messages, func(w sessions.Waiting) bool { return iv.Asker(w.Inbound.MessageID) != first })
	p.More += all - len(p.Messages)
	return p
}

// mayBegin reports whether a turn of c can begin before the pieces that are left
// in the outbox are out: its answer then takes turns with them.
func (g *Gateway) mayBegin(ctx context.Context, c sessions.Claim, left int) bool {
	if left > mostLeaving || g.interleaver(c.Key) == nil || g.busy.closed() {
		return false
	}
	if !g.turns.TryAcquire(1) {
		return false // It would only wait, and the outbox with it.
	}
	g.turns.Release(1)
	p, err := g.pending(ctx, c)
	return err == nil && len(p.Messages) > 0
}
