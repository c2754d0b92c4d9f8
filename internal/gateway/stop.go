package gateway

import (
	"context"
	"fmt"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
)

// The answers to /stop while no turn runs.
const (
	// sayGivenUp: a message waits because the model does not answer.
	sayGivenUp = "Stopped. Your message was waiting, because the model is not answering yet. I will not answer it now; ask again whenever you like."
	// sayNotAsked: a message waits for its turn to begin.
	sayNotAsked = "Stopped. Your message was still waiting. I will not answer it now; ask again whenever you like."
	// sayNothing: no message waits.
	sayNothing = "Nothing is running now."
)

// control ends the running turn with /stop or /new and keeps its text so far.
//
// /stop also ends the answer that is being delivered. Messages that wait after the
// running turn are answered next; only if no turn runs, /stop closes them and says so.
// /new closes all waiting messages and begins a new generation.
func (g *Gateway) control(ctx context.Context, m channels.Inbound, c sessions.Control, stoppedDelivery bool) error {
	e := sessions.Entry{Inbound: m, Answered: true, Control: c}
	defer g.live.get(m.Key).hold(ctx)()
	var turn, partial, preview string
	var seqs []int64
	whose, spared := "", false
	if c == sessions.ControlStop {
		whose, spared = g.stops(m)
	}
	if !spared {
		turn, partial, preview, seqs = g.live.partial(ctx, m.Key)
	}
	text := "Stopped."
	switch {
	case len(seqs) > 0:
	case c == sessions.ControlStop && g.underway.partlySent(m.Key, whose):
		e.Control = sessions.ControlNone // it ends the delivery; the waiting messages are answered next
	default:
		waits, err := g.sayWaits(ctx, m.Key)
		if err != nil {
			return fmt.Errorf("gateway: %s %s: %w", c, m.Key, err)
		}
		text = waits
		if stoppedDelivery && waits == sayNothing {
			text = "Stopped."
		}
	}
	if c == sessions.ControlStop {
		e.Ends = seqs
	}
	if strings.TrimSpace(partial) != "" {
		e.Append = []sessions.Message{{
			Role: sessions.RoleAssistant, Content: partial + "\n\n[stopped by the person]",
			At: g.opts.Now(), Synthetic: true,
		}}
		text = partial + "\n\n*(stopped)*"
	}
	if c == sessions.ControlStop || strings.TrimSpace(partial) != "" {
		l := sessions.Label{Kind: channels.KindCommand, Turn: turn}
		if e.Append != nil {
			l.Kind = channels.KindAnswer
		}
		e.Replies = g.split(l, m.Key, text, m)
		e.Replies[0].Edit = preview
	}
	if c == sessions.ControlNew { // a message apart from the edited preview: networks do not notify about edits
		e.Replies = append(e.Replies, g.split(sessions.Label{Kind: channels.KindCommand}, m.Key, "A new conversation begins. The old one is kept.", m)...)
	}
	got, err := g.store.Accept(ctx, e)
	if err != nil {
		return fmt.Errorf("gateway: %s %s: %w", c, m.Key, err)
	}
	if c == sessions.ControlStop && got.Outcome == sessions.Done && (g.underway.cancelRest(m.Key, whose, got.Seq) || g.interleaver(m.Key) != nil) {
		g.underway.expedite(m.Key, got.Seq, len(e.Replies))
	}
	g.refusals.clear(m.Key)
	g.outages.ended(m.Key)
	g.countCommand(m.Key, got.Outcome)
	g.live.kick(m.Key)
	return nil
}

// stops returns whose answers the /stop m ends, "" for everybody's, and whether
// the running turn goes on. Where answers take turns, people stop their own;
// those who wait for no answer stop everything.
func (g *Gateway) stops(m channels.Inbound) (whose string, sparesTurn bool) {
	who := g.asker(m.Key, m.MessageID)
	t := g.live.get(m.Key)
	switch {
	case who == "", t != nil && t.asker == who:
		return who, false
	case g.underway.partlySent(m.Key, who):
		return who, t != nil
	}
	return "", false
}

// sayWaits answers a /stop when no turn runs, depending on what waits in k.
func (g *Gateway) sayWaits(ctx context.Context, k channels.Key) (string, error) {
	items, err := g.store.ListQueue(ctx, maxQueueItems)
	text := sayNothing
	for _, it := range items {
		switch {
		case it.Kind != "in" || it.Key != k.String():
		case it.State == "postponed":
			return sayGivenUp, err
		case it.State == "waiting":
			text = sayNotAsked
		}
	}
	return text, err
}
