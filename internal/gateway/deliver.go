package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/internal/metrics"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

const (
	deliverBatch  = 32
	urgentBatch   = 1000
	retryBase     = time.Second
	maxRetryPause = 30 * time.Second
)

// errReread: another claim worked on the delivery since the outbox was read.
var errReread = errors.New("the outbox has to be read again")

// deliver sends the outbox of the claim in order. It returns when the outbox is
// empty or its head is not due, or before the next delivery when enough, called
// with the number of deliveries left, says so. Only replies to commands, and
// answers to different people that take turns, change the order.
func (g *Gateway) deliver(ctx context.Context, c sessions.Claim, enough func(left int) bool) error {
	for {
		most := g.chats.batch(c.Key)
		if g.interleaver(c.Key) != nil {
			most = urgentBatch
		}
		list, err := g.store.Unsent(ctx, c, most)
		if err != nil {
			return fmt.Errorf("read the outbox of %s: %w", c.Key, err)
		}
		reread := false
		list = g.chats.urgentFirst(c.Key, g.interleave(c.Key, list))
		for i, d := range list {
			reread = g.chats.overtaken(d)
			if reread {
				break
			}
			if enough(len(list)-i) || d.NotBefore.After(g.opts.Now()) && !g.chats.cancelled(d) {
				return nil
			}
			g.chats.begins(d, g.asker(d.Key, d.ReplyTo), list[i+1:])
			sent, err := g.deliverOne(ctx, c, d)
			reread = errors.Is(err, errReread)
			if reread {
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

// deliverOne makes one attempt. It reports whether the next delivery may follow.
func (g *Gateway) deliverOne(ctx context.Context, c sessions.Claim, d sessions.Delivery) (bool, error) {
	if waited, err := g.inFlight.wait(ctx, d.ID); err != nil {
		return false, err
	} else if a, ended := g.inFlight.take(d.ID); ended {
		return g.recordOutcome(ctx, c, a)
	} else if waited {
		return false, errReread
	}
	if a, ended := g.remoteAttempt(ctx, d); ended {
		return g.recordOutcome(ctx, c, a)
	}
	if g.chats.cancelled(d) {
		return true, g.drop(ctx, c, d, "stopped")
	}
	name := d.Key.Channel()
	b := g.bindings[name]
	if g.opts.Now().Sub(d.Created) > g.opts.DeliveryLimit {
		return true, g.markDead(ctx, c, d, fmt.Errorf("not delivered within %s; last error: %s", g.opts.DeliveryLimit, d.Error))
	}
	if b == nil {
		return false, g.store.Reschedule(ctx, c, d.ID, g.opts.Now().Add(time.Minute), false, "no channel is called "+name)
	}
	defer g.inFlight.begin(d.ID)()
	before := b.connected()
	if err := g.store.MarkSending(ctx, c, d.ID); err != nil {
		return false, fmt.Errorf("mark %s as sending: %w", d.ID, err)
	}
	span := g.deliverySpan(d)
	receipt, err := g.send(ctx, b, g.outbound(b, d))
	if err != nil {
		span.Fail("delivery")
	}
	span.End()
	if err == nil {
		g.chats.sent(d)
	}
	if err != nil && ctx.Err() != nil && !fenced(ctx) {
		return false, ctx.Err() // stays "sending": the next claim treats it as uncertain
	}
	next, unrecorded := g.recordOutcome(ctx, c, attempt{d, receipt, err})
	if err != nil && !next && !(before && b.connected()) {
		b.stranded.add(d.ID)
	}
	return next, unrecorded
}

// recordOutcome records how an attempt ended. If it cannot, because the claim is over
// or the store fails, it keeps the outcome for the next claim.
func (g *Gateway) recordOutcome(ctx context.Context, c sessions.Claim, a attempt) (next bool, err error) {
	switch {
	case fenced(ctx):
		err = sessions.ErrFenced
	case a.err != nil:
		next, err = g.undelivered(ctx, c, a.d, a.err)
	default:
		if err = g.store.MarkSent(ctx, c, a.d.ID, a.receipt); err == nil {
			g.opts.Observer.Delivered(a.d.Key.Channel(), "sent")
			g.opts.Observer.Phase(metrics.PhaseDelivery, g.opts.Now().Sub(a.d.Created))
			if b := g.bindings[a.d.Key.Channel()]; b != nil { // nil: only another node has the channel
				b.reviveIfFailed()
			}
			g.chats.ended(a.d, true)
			g.shown(ctx, a.d, a.receipt)
			return true, nil
		}
		err = fmt.Errorf("mark %s as sent: %w", a.d.ID, err)
	}
	if err != nil {
		g.inFlight.keep(a)
	}
	return next, err
}

func (g *Gateway) undelivered(ctx context.Context, c sessions.Claim, d sessions.Delivery, cause error) (bool, error) {
	log := g.log(d.Key).With("msg_id", d.ID, "attempt", d.Attempts+1)
	if errors.Is(cause, channels.ErrPermanent) {
		d.Attempts++ // the present one
		return true, g.markDead(ctx, c, d, cause)
	}
	if errors.Is(cause, channels.ErrRemoved) && g.chats.cancelRest(d.Key, "", allPieces) {
		return true, g.drop(ctx, c, d, "removed from the chat before it was sent")
	}
	wait := delay(retryBase, maxRetryPause, d.Attempts)
	uncertain := false // the store remembers if an earlier attempt was
	var retry *channels.Retry
	var notSent *channels.NotSent
	switch {
	case errors.As(cause, &retry):
		wait = max(retry.After, retryBase)
	case errors.As(cause, &notSent):
	default:
		uncertain = true
	}
	// However long a pause a server asks for, the limit ends it.
	wait = min(wait, max(g.opts.DeliveryLimit-g.opts.Now().Sub(d.Created), retryBase))
	log.Warn("delivery failed; will try again", "err", cause, "in", wait, "uncertain", uncertain)
	g.opts.Observer.Delivered(d.Key.Channel(), "deferred")
	if err := g.store.Reschedule(ctx, c, d.ID, g.opts.Now().Add(wait), uncertain, cause.Error()); err != nil {
		return false, fmt.Errorf("reschedule %s: %w", d.ID, err)
	}
	return false, nil
}

func (g *Gateway) markDead(ctx context.Context, c sessions.Claim, d sessions.Delivery, cause error) error {
	g.log(d.Key).Error("delivery given up; see: dragoman queue list", "msg_id", d.ID, "err", cause)
	g.opts.Observer.Delivered(d.Key.Channel(), "dead")
	if err := g.store.MarkDead(ctx, c, d.ID, cause.Error()); err != nil {
		return fmt.Errorf("mark %s as dead: %w", d.ID, err)
	}
	g.chats.ended(d, false)
	g.emit(stream.Event{Event: stream.DeliveryDead, Key: d.Key, Delivery: d.ID, Attempts: d.Attempts})
	return nil
}

// outbound is d for its channel. A message that may have arrived already is
// marked, unless a repeat cannot show: an edit of a known message, or a network
// that deduplicates.
func (g *Gateway) outbound(b *binding, d sessions.Delivery) channels.Outbound {
	o := channels.Outbound{
		ID: d.ID, Key: d.Key, Kind: d.Kind, Text: d.Text, Form: d.Form,
		ReplyTo: d.ReplyTo, Edit: d.Edit, Attempt: d.Attempts + 1, Uncertain: wasUncertain(d),
	}
	o.GoesOn = g.chats.continues(d)
	o.Finishes = finishes(d)
	o.Choices = choices(d)
	b.asFile(&o, d.Label)
	if _, safe := b.Channel.(channels.Deduper); o.Uncertain && o.Edit == "" && !safe {
		o.Repeats = true
		g.opts.Observer.Repeated(d.Key.Channel())
		g.log(d.Key).Warn("sending an answer again that may have arrived already", "msg_id", d.ID, "attempt", o.Attempt)
	}
	return o
}

// wasUncertain: an earlier attempt began, and its outcome is not known.
func wasUncertain(d sessions.Delivery) bool {
	return d.State == sessions.DeliveryUnknown || d.State == sessions.DeliverySending
}

func (g *Gateway) send(ctx context.Context, b *binding, o channels.Outbound) (r channels.Receipt, err error) {
	defer recoverTo(&err, "send on "+o.Key.Channel())
	ctx, end := pastFence(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, g.opts.SendTimeout)
	defer cancel()
	if _, marks := b.Channel.(channels.RepeatMarker); o.Repeats && !marks {
		o.Text = channels.RepeatMark + o.Text
		if o.File != nil && o.File.Instead != "" {
			o.File.Instead = channels.RepeatMark + o.File.Instead
		}
		o.Repeats = false
	}
	c, _ := ability[channels.Channel](b)
	if !b.elsewhere() {
		o, err = g.withContent(o)
		if err != nil {
			return channels.Receipt{}, err
		}
	}
	return c.Send(ctx, o)
}
