package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// addReplies puts replies into the outboxes of their keys.
func (st *step) addReplies(c *chat, replies []sessions.Reply) {
	for _, r := range replies {
		to := c
		if !r.Key.IsZero() {
			to = st.chat(r.Key)
		}
		to.Seq++
		o := &rows.Out{Fresh: true, OutboxRecord: sessions.OutboxRecord{Delivery: sessions.Delivery{
			Label: rules.Label(r.Label), ID: rules.Text(r.ID), Key: to.Key, Seq: to.Seq,
			Text: rules.Text(r.Text), ReplyTo: rules.Text(r.ReplyTo), Edit: rules.Text(r.Edit),
			State: sessions.DeliveryQueued, Created: rules.Time(st.now),
		}}}
		ch := st.touch(to)
		ch.Out = append(ch.Out, o)
	}
}

// Unsent lists the key's deliveries that are queued, sending or unknown, in order,
// due or not. "sending" means that an earlier claim ended during the network call.
func (s *Store) Unsent(ctx context.Context, cl sessions.Claim, most int) (ds []sessions.Delivery, err error) {
	err = s.live(ctx, "unsent", cl, func(v *view) {
		for o := range v.outbox(cl.Key, rows.QueueFilter{Unsent: true}) {
			ds = append(ds, o.Delivery)
			if len(ds) == most {
				break
			}
		}
	})
	return ds, err
}

// Sending returns the delivery with that id while a node sends it. Errors: ErrNotFound.
func (s *Store) Sending(ctx context.Context, id string) (d sessions.Delivery, err error) {
	v := s.view(ctx)
	var o *rows.Out
	if id != "" {
		o = first(v.outbox(channels.Key{}, rows.QueueFilter{ID: id}))
	}
	if o == nil || o.State != sessions.DeliverySending {
		return d, s.wrap("read a delivery", cmp.Or(v.err, sessions.ErrNotFound))
	}
	return o.Delivery, nil
}

// changeDelivery changes the unsent delivery id of the claim's key.
func (s *Store) changeDelivery(ctx context.Context, what string, cl sessions.Claim, id string, f func(*step, *rows.Out)) error {
	return s.claimed(ctx, what, cl, func(st *step, c *chat) error {
		o := first(st.outbox(cl.Key, rows.QueueFilter{ID: id}))
		switch {
		case o == nil || id == "":
			return fmt.Errorf("%w: delivery %q of %s", sessions.ErrNotFound, id, cl.Key)
		case !rules.Unsent(o.State):
			return fmt.Errorf("%w: delivery %s is %s", sessions.ErrConflict, id, o.State)
		}
		st.changeOut(c, o, func() { f(st, o) })
		return nil
	})
}

// changeOut stores o as change leaves it.
func (st *step) changeOut(c *chat, o *rows.Out, change func()) {
	state, attempts := o.State, o.Attempts
	change()
	if o.State == state && o.Attempts == attempts {
		st.still = append(st.still, o)
	}
	ch := st.touch(c)
	ch.Out = append(ch.Out, o)
}

// MarkSending is called before the network call and counts the attempt.
func (s *Store) MarkSending(ctx context.Context, cl sessions.Claim, id string) error {
	return s.changeDelivery(ctx, "mark sending", cl, id, func(_ *step, o *rows.Out) {
		// The outcome of an earlier attempt that is still sending is not known.
		o.Uncertain = o.Uncertain || o.State == sessions.DeliverySending
		o.State = sessions.DeliverySending
		o.Attempts++
	})
}

// MarkSent records that the network has the message.
func (s *Store) MarkSent(ctx context.Context, cl sessions.Claim, id string, r channels.Receipt) error {
	return s.changeDelivery(ctx, "mark sent", cl, id, func(_ *step, o *rows.Out) {
		o.State = sessions.DeliverySent
		o.MessageID = rules.Text(r.MessageID)
		o.Error = ""
	})
}

// Reschedule makes a delivery due at until. It becomes unknown if this attempt or an
// earlier one may have reached the network, else queued.
func (s *Store) Reschedule(ctx context.Context, cl sessions.Claim, id string, until time.Time, uncertain bool, why string) error {
	return s.changeDelivery(ctx, "reschedule", cl, id, func(_ *step, o *rows.Out) {
		o.Uncertain = o.Uncertain || uncertain
		o.State = retryState(o)
		o.NotBefore, o.Error = rules.Time(until), rules.Text(why)
	})
}

// retryState returns the state of a delivery that will be tried again. One that was
// uncertain once stays unknown, whatever later attempts say.
func retryState(o *rows.Out) sessions.DeliveryState {
	if o.Uncertain {
		return sessions.DeliveryUnknown
	}
	return sessions.DeliveryQueued
}

// MarkDead gives a delivery up. It stays visible as dead. The run of a job whose text it
// was counts as failed, because nobody has seen what it said.
func (s *Store) MarkDead(ctx context.Context, cl sessions.Claim, id, why string) error {
	return s.changeDelivery(ctx, "mark dead", cl, id, func(st *step, o *rows.Out) {
		o.State, o.Error = sessions.DeliveryDead, rules.Text(why)
		if o.Job != "" {
			st.unheard(o, why)
		}
	})
}

// Drop withdraws a delivery that its recipients no longer want. It stays in the store
// as dropped.
func (s *Store) Drop(ctx context.Context, cl sessions.Claim, id, why string) error {
	return s.changeDelivery(ctx, "drop", cl, id, func(_ *step, o *rows.Out) {
		o.State, o.Error = sessions.DeliveryDropped, rules.Text(why)
	})
}
