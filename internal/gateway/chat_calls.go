package gateway

import (
	"context"
	"errors"

	"dragoman/channels"
	"dragoman/sessions"
)

// The calls about one chat. The node that has the claim of its key, or the
// channel or the delivery in question, knows more about it than the caller.
const (
	callCommand = "chat.command"
	callPress   = "chat.press"
	callOutcome = "delivery.outcome"
	callAdmit   = "pairing.admit"
)

// chatCallLimit bounds the wait for another node. There a command may wait for
// a turn to end, and an outcome for its network.
const chatCallLimit = holdTimeout + muteTimeout + fencedGrace

// onNode runs f on the node that to names, or here if that is this node, if there is
// none, or if it fails.
func onNode[Q, A any](ctx context.Context, g *Gateway, to sessions.Peer, name string, q Q, f func(context.Context, Q) (A, error)) (A, error) {
	if g.opts.Peers == nil {
		return f(ctx, q)
	}
	limited, cancel := context.WithTimeout(ctx, chatCallLimit)
	defer cancel()
	a, err := call[A](limited, g, to, name, q)
	if err == nil || ctx.Err() != nil {
		return a, err
	}
	if !errors.Is(err, sessions.ErrNoPeer) {
		g.opts.Logger.Warn("a call to another node failed; doing it here", "call", name, "err", err)
	}
	return f(ctx, q)
}

// changedElsewhere is called when another node changed a key that this node has
// claimed: there may be more to deliver, and its turn may have more to read, or
// less.
func (g *Gateway) changedElsewhere(ctx context.Context, key []byte) ([]byte, error) {
	k, err := channels.ParseKey(string(key))
	if err != nil {
		return nil, err
	}
	t := g.chats.turn(k)
	if t == nil {
		return nil, nil // its worker reads the store anyway
	}
	signal(t.kicked)
	waiting, err := g.store.Waiting(ctx, t.claim)
	switch {
	case errors.Is(err, sessions.ErrFenced):
		return nil, nil
	case err != nil:
		return nil, err
	}
	t.changed(waiting, g.opts.Queue)
	return nil, nil
}

// changed compares the messages that the turn reads with those that wait now.
func (t *liveTurn) changed(waiting []sessions.InboxRecord, mode Mode) {
	mine := map[int64]int{} // the Rev of each
	for _, a := range t.bound() {
		mine[a.Seq] = a.Rev
	}
	same := 0
	for _, w := range waiting {
		rev, reads := mine[w.Seq]
		switch {
		case !reads && w.Source == sessions.SourceHeartbeat: // a turn of its own
		case !reads:
			t.hasMore(mode)
		case rev == w.Rev:
			same++
		}
	}
	if same < len(mine) {
		t.cancel(errInterrupted)
	}
}

// outcome is how the last call for a delivery ended, as far as its node knows.
type outcome struct {
	Sent    bool             `json:"sent,omitempty"`
	NotSent bool             `json:"not_sent,omitempty"`
	Receipt channels.Receipt `json:"receipt"`
	Error   string           `json:"error,omitempty"`
}

// outcomeFor waits for the end of this node's call for a delivery that another
// node has claimed now.
func (g *Gateway) outcomeFor(ctx context.Context, id string) (o outcome, err error) {
	if _, err := g.inFlight.wait(ctx, id); err != nil {
		return o, err
	}
	a, ended := g.inFlight.take(id)
	switch {
	case !ended:
	case a.err == nil:
		o.Sent, o.Receipt = true, a.receipt
	default:
		var retry *channels.Retry
		var notSent *channels.NotSent
		o.Error = a.err.Error()
		o.NotSent = errors.As(a.err, &retry) || errors.As(a.err, &notSent) ||
			errors.Is(a.err, channels.ErrPermanent) || errors.Is(a.err, channels.ErrRemoved)
	}
	return o, nil
}

// remoteAttempt is the attempt at d that another node began, if that node knows
// how it ended.
func (g *Gateway) remoteAttempt(ctx context.Context, d sessions.Delivery) (a attempt, ended bool) {
	if g.opts.Peers == nil || d.State != sessions.DeliverySending || d.Node == "" {
		return a, false
	}
	limited, cancel := context.WithTimeout(ctx, chatCallLimit)
	defer cancel()
	o, err := call[outcome](limited, g, sessions.Peer{Node: d.Node}, callOutcome, d.ID)
	if err != nil || !o.Sent && !o.NotSent {
		return a, false
	}
	d.State = sessions.DeliveryQueued // as it was before
	a = attempt{d: d, receipt: o.Receipt}
	if o.NotSent {
		a.err = &channels.NotSent{Err: errors.New(o.Error)}
	}
	return a, true
}
