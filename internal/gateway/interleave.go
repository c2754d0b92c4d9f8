package gateway

import (
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
)

// piecesPerRound is how many pieces of answers to one person are sent before it
// is another person's turn.
const piecesPerRound = 3

// maxLeftForTurn is the greatest number of deliveries in an outbox with which a
// turn may begin.
const maxLeftForTurn = 50

// interleaver knows how the answers in k take turns; nil if they do not.
func (g *Gateway) interleaver(k channels.Key) channels.Interleaver {
	if iv, able := channelAs[channels.Interleaver](g, k); able && iv.Interleaves(k) {
		return iv
	}
	return nil
}

// asker names the person whom an answer to the message replyTo in k is for; ""
// where answers do not take turns.
func (g *Gateway) asker(k channels.Key, replyTo string) string {
	if iv := g.interleaver(k); iv != nil {
		return iv.Asker(replyTo)
	}
	return ""
}

// interleave lets the answers in list, the outbox of k, take turns. If any of
// them is not due, all of them wait, in the store's order.
func (g *Gateway) interleave(k channels.Key, list []sessions.Delivery) []sessions.Delivery {
	iv, now := g.interleaver(k), g.opts.Now()
	if iv == nil || slices.ContainsFunc(list, func(d sessions.Delivery) bool { return d.NotBefore.After(now) }) {
		return list
	}
	return rounds(list, iv, g.chats.lastStreak(k))
}

// rounds orders list so that each person gets a few pieces in turn. The order
// of one person's pieces stays.
func rounds(list []sessions.Delivery, iv channels.Interleaver, last streak) []sessions.Delivery {
	var order []string
	lanes := map[string][]sessions.Delivery{}
	for _, d := range list {
		asker := iv.Asker(d.ReplyTo)
		if len(lanes[asker]) == 0 {
			order = append(order, asker)
		}
		lanes[asker] = append(lanes[asker], d)
	}
	first := slices.Index(order, last.asker)
	if first < 0 {
		// Nothing was sent, or the daemon has restarted, maybe within an answer.
		last, first = streak{}, max(0, slices.IndexFunc(order, func(asker string) bool {
			return wasUncertain(lanes[asker][0]) || iv.Continues("", lanes[asker][0].Text)
		}))
	}
	order = slices.Concat(order[first:], order[:first])
	out := make([]sessions.Delivery, 0, len(list))
	for ; len(order) > 0; last = (streak{}) {
		asker := order[0]
		lane := lanes[asker]
		for len(lane) > 0 && (last.pieces < piecesPerRound || len(lane) == 1 || iv.Continues(last.text, lane[0].Text)) {
			out = append(out, lane[0])
			last.pieces++
			last.text = lane[0].Text
			lane = lane[1:]
		}
		order, lanes[asker] = order[1:], lane
		if len(lane) > 0 {
			order = append(order, asker)
		}
	}
	return out
}

// onlyFirstAsker keeps of p, the messages that wait in k, those of the first
// one's author if answers in k take turns: each person gets an answer.
func (g *Gateway) onlyFirstAsker(k channels.Key, p sessions.Pending) sessions.Pending {
	iv := g.interleaver(k)
	if iv == nil || len(p.Messages) == 0 {
		return p
	}
	all, first := len(p.Messages), iv.Asker(p.Messages[0].Inbound.MessageID)
	p.Messages = slices.DeleteFunc(p.Messages, func(w sessions.InboxRecord) bool { return iv.Asker(w.Inbound.MessageID) != first })
	p.More += all - len(p.Messages)
	return p
}

// mayBeginTurn reports whether a turn of c can begin while the outbox has
// deliveries left. Its answer then takes turns with them.
func (g *Gateway) mayBeginTurn(ctx context.Context, c sessions.Claim, left int) bool {
	if left > maxLeftForTurn || g.interleaver(c.Key) == nil || g.busy.closed() {
		return false
	}
	if !g.turns.TryAcquire(1) {
		return false // the turn would wait for a slot, and the outbox with it
	}
	g.turns.Release(1)
	p, err := g.pending(ctx, c)
	return err == nil && len(p.Messages) > 0
}
