package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
)

const (
	deliverBatch = 32
	hurryBatch   = 1000
	retryBase    = time.Second
	retryMost    = 30 * time.Second
)

// errReread: somebody else was at the delivery since the outbox was read.
var errReread = errors.New("the outbox has to be read again")

// deliver sends what the claim's outbox holds, in order. It returns when the
// outbox is empty or its head is not due, or before a delivery when enough says
// so about how many are left. Only replies to commands overtake what comes before them, and answers
// to different people that take turns.
func (g *Gateway) deliver(ctx context.Context, c sessions.Claim, enough func(left int) bool) error {
	for {
		most := g.underway.most(c.Key)
		if g.interleaver(c.Key) != nil {
			most = hurryBatch
		}
		list, err := g.store.Unsent(ctx, c, most)
		if err != nil {
			return fmt.Errorf("read the outbox of %s: %w", c.Key, err)
		}
		reread := false
		list = g.underway.first(c.Key, g.interleave(c.Key, list))
		for i, d := range list {
			if reread = g.underway.overtaken(d); reread {
				break
			}
			if enough(len(list)-i) || d.NotBefore.After(g.opts.Now()) && !g.underway.unwanted(d) {
				return nil
			}
			g.underway.begins(d, g.asker(d.Key, d.ReplyTo), list[i+1:])
			sent, err := g.deliverOne(ctx, c, d)
			if reread = errors.Is(err, errReread); reread {
				break
			}
			if err != nil || !sent {
				return err
			}
		}
		if !reread && len(list) < most {
			return nil
		}
	}
}

// deliverOne makes one attempt. It reports whether the next delivery may go
// out: this one has arrived or was given up.
func (g *Gateway) deliverOne(ctx context.Context, c sessions.Claim, d sessions.Delivery) (bool, error) {
	if waited, err := g.inFlight.wait(ctx, d.ID); err != nil {
		return false, err
	} else if a, ended := g.inFlight.take(d.ID); ended {
		return g.settle(ctx, c, a)
	} else if waited {
		return false, errReread
	}
	if a, ended := g.elsewhere(ctx, d); ended {
		return g.settle(ctx, c, a)
	}
	if g.underway.unwanted(d) {
		return true, g.drop(ctx, c, d, "stopped")
	}
	name := d.Key.Channel()
	b := g.bindings[name]
	if g.opts.Now().Sub(d.Created) > g.opts.DeliveryLimit {
		return true, g.bury(ctx, c, d, fmt.Errorf("not delivered within %s; last error: %s", g.opts.DeliveryLimit, d.Error))
	}
	if b == nil {
		return false, g.store.Reschedule(ctx, c, d.ID, g.opts.Now().Add(time.Minute), false, "no channel is called "+name)
	}
	defer g.inFlight.begin(d.ID)()
	before := b.connected()
	if err := g.store.MarkSending(ctx, c, d.ID); err != nil {
		return false, fmt.Errorf("mark %s as sending: %w", d.ID, err)
	}
	receipt, err := g.send(ctx, b, g.outbound(b, d))
	if err == nil {
		g.underway.sent(d)
	}
	if err != nil && ctx.Err() != nil && !fenced(ctx) {
		return false, ctx.Err() // stays "sending": whoever comes next treats it as uncertain
	}
	next, settled := g.settle(ctx, c, attempt{d, receipt, err})
	if err != nil && !next && !(before && b.connected()) {
		b.stranded.add(d.ID)
	}
	return next, settled
}

// settle records how an attempt ended. If that cannot be recorded, because the
// claim is over or the store fails, it is kept for the next claim.
func (g *Gateway) settle(ctx context.Context, c sessions.Claim, a attempt) (next bool, err error) {
	switch {
	case fenced(ctx):
		err = sessions.ErrFenced
	case a.err != nil:
		next, err = g.undelivered(ctx, c, a.d, a.err)
	default:
		if err = g.store.MarkSent(ctx, c, a.d.ID, a.receipt); err == nil {
			g.opts.Observer.Delivered(a.d.Key.Channel(), "sent")
			g.bindings[a.d.Key.Channel()].works()
			g.underway.ended(a.d, true)
			return true, nil
		}
		err = fmt.Errorf("mark %s as sent: %w", a.d.ID, err)
	}
	if err != nil {
		g.inFlight.keep(a)
	}
	return next, err
}

// undelivered files an attempt that failed: given up, or tried again later.
func (g *Gateway) undelivered(ctx context.Context, c sessions.Claim, d sessions.Delivery, cause error) (bool, error) {
	log := g.log(d.Key).With("msg_id", d.ID, "attempt", d.Attempts+1)
	if errors.Is(cause, channels.ErrPermanent) {
		d.Attempts++ // the one that has just ended
		return true, g.bury(ctx, c, d, cause)
	}
	if errors.Is(cause, channels.ErrRemoved) && g.underway.end(d.Key, "", everything) {
		return true, g.drop(ctx, c, d, "removed from the chat before it was sent")
	}
	wait := delay(retryBase, retryMost, d.Attempts)
	uncertain := wasUncertain(d)
	var retry *channels.Retry
	var notSent *channels.NotSent
	switch {
	case errors.As(cause, &retry):
		wait = max(retry.After, retryBase)
	case errors.As(cause, &notSent):
	default:
		uncertain = true
	}
	// Whatever pause a server asks for, the person hears within the limit.
	wait = min(wait, max(g.opts.DeliveryLimit-g.opts.Now().Sub(d.Created), retryBase))
	log.Warn("delivery failed; will try again", "err", cause, "in", wait, "uncertain", uncertain)
	g.opts.Observer.Delivered(d.Key.Channel(), "deferred")
	if err := g.store.Reschedule(ctx, c, d.ID, g.opts.Now().Add(wait), uncertain, cause.Error()); err != nil {
		return false, fmt.Errorf("defer %s: %w", d.ID, err)
	}
	return false, nil
}

func (g *Gateway) bury(ctx context.Context, c sessions.Claim, d sessions.Delivery, cause error) error {
	g.log(d.Key).Error("delivery given up; see: dragoman queue list", "msg_id", d.ID, "err", cause)
	g.opts.Observer.Delivered(d.Key.Channel(), "dead")
	if err := g.store.MarkDead(ctx, c, d.ID, cause.Error()); err != nil {
		return fmt.Errorf("bury %s: %w", d.ID, err)
	}
	g.underway.ended(d, false)
	g.emit(event.Event{Event: event.DeliveryDead, Key: d.Key, Delivery: d.ID, Attempts: d.Attempts})
	return nil
}

// outbound is what the channel gets. A message that may have arrived already
// is marked, unless repeating it cannot show: an edit of a known message, or a
// network that deduplicates.
func (g *Gateway) outbound(b *binding, d sessions.Delivery) channels.Outbound {
	o := channels.Outbound{
		ID: d.ID, Key: d.Key, Text: d.Text, ReplyTo: d.ReplyTo, Edit: d.Edit, GoesOn: g.underway.goesOn(d), Finishes: g.underway.isLast(d),
		Attempt: d.Attempts + 1, Uncertain: wasUncertain(d),
	}
	b.asFile(&o)
	if _, safe := b.Channel.(channels.Deduper); o.Uncertain && o.Edit == "" && !safe {
		o.Text = RepeatMark + o.Text
		g.opts.Observer.Repeated(d.Key.Channel())
		g.log(d.Key).Warn("sending an answer again that may have arrived already", "msg_id", d.ID, "attempt", o.Attempt)
	}
	return o
}

// wasUncertain: a former attempt began and nobody knows how it ended.
func wasUncertain(d sessions.Delivery) bool {
	return d.State == sessions.DeliveryUnknown || d.State == sessions.DeliverySending
}

func (g *Gateway) send(ctx context.Context, b *binding, o channels.Outbound) (r channels.Receipt, err error) {
	defer recoverTo(&err, "send on "+o.Key.Channel())
	ctx, end := pastFence(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, g.opts.SendTimeout)
	defer cancel()
	c, _ := able[channels.Channel](b)
	return c.Send(ctx, o)
}
