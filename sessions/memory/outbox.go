package memory

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rules"
)

// outRow is one delivery.
type outRow struct {
	sessions.Delivery
	uncertain bool // some attempt may have reached the network
	messageID string
}

func (o *outRow) item() dispatch.Item {
	return dispatch.Item{
		Key: o.Key, Seq: o.Seq, Lane: dispatch.Delivery, Due: o.NotBefore, Since: o.Created,
		Uncertain: o.uncertain, Gone: !rules.Unsent(o.State),
	}
}

// others are the chats of replies that go to another key than the step's own.
// They are looked up before anything is changed, because that can fail.
func (s *Store) others(replies []sessions.Reply) (map[channels.Key]*chat, error) {
	var list map[channels.Key]*chat
	for _, r := range replies {
		if r.Key.IsZero() {
			continue
		}
		c, err := s.chat(r.Key)
		if err != nil {
			return nil, err
		}
		if list == nil {
			list = map[channels.Key]*chat{}
		}
		list[r.Key] = c
	}
	return list, nil
}

// addReplies puts replies into the outboxes of their keys.
func (s *Store) addReplies(ch *change, c *chat, others map[channels.Key]*chat, replies []sessions.Reply) {
	for _, r := range replies {
		to := c
		if !r.Key.IsZero() {
			to = others[r.Key]
		}
		ch.touch(to)
		to.seq++
		s.lastOut++
		o := &outRow{Delivery: sessions.Delivery{
			ID: cmp.Or(rules.Text(r.ID), s.deliveryID(s.lastOut)), Key: to.key, Seq: to.seq,
			Text: rules.Text(r.Text), ReplyTo: rules.Text(r.ReplyTo), Edit: rules.Text(r.Edit),
			State: sessions.DeliveryQueued, Created: ch.now,
		}}
		to.out = append(to.out, o)
		s.sent.add(o.ID)
		ch.out(to, o)
	}
}

// deliveryID names a delivery to networks that deduplicate. Over a disk it has
// the store's random name in it, so that a store that was begun anew does not
// repeat the ids of the one before.
func (s *Store) deliveryID(n int64) string { return fmt.Sprintf("out-%s%d", s.prefix, n) }

// deliveryNumber is the n of deliveryID, 0 for ids of other stores.
func (s *Store) deliveryNumber(id string) int64 {
	rest, _ := strings.CutPrefix(id, "out-"+s.prefix)
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil || id != s.deliveryID(n) {
		return 0
	}
	return n
}

// idFilter knows ids of deliveries by their hashes: one that it does not have is
// not there, one that it has may be, or may have been. A nil one takes none.
type idFilter map[uint64]struct{}

var idSeed = maphash.MakeSeed()

func (f idFilter) add(id string) {
	if f != nil {
		f[maphash.String(idSeed, id)] = struct{}{}
	}
}

func (f idFilter) has(id string) bool {
	_, has := f[maphash.String(idSeed, id)]
	return has
}

// Unsent is part of [sessions.Outbox].
func (s *Store) Unsent(ctx context.Context, cl sessions.Claim, most int) (ds []sessions.Delivery, err error) {
	err = s.claimedRead(ctx, "unsent", cl, func(c *chat) error {
		for _, o := range c.out {
			if rules.Unsent(o.State) && (most <= 0 || len(ds) < most) {
				ds = append(ds, o.Delivery)
			}
		}
		return nil
	})
	return ds, err
}

// deliver changes the delivery called id if it is one of the claim's that is
// not done yet.
func (s *Store) deliver(ctx context.Context, what string, cl sessions.Claim, id string, f func(*outRow) error) error {
	return s.claimed(ctx, what, cl, func(ch *change, c *chat) error {
		o := c.delivery(id)
		if o == nil { // it may be one that is done
			if err := s.fill(c); err != nil {
				return err
			}
			o = c.delivery(id)
		}
		switch {
		case o == nil:
			return fmt.Errorf("%w: delivery %q of %s", sessions.ErrNotFound, id, cl.Key)
		case !rules.Unsent(o.State):
			return fmt.Errorf("%w: delivery %s is %s", sessions.ErrConflict, id, o.State)
		}
		if err := f(o); err != nil {
			return err
		}
		ch.out(c, o)
		return nil
	})
}

// delivery finds an outbox row by its id.
func (c *chat) delivery(id string) *outRow {
	for _, o := range c.out {
		if o.ID == id {
			return o
		}
	}
	return nil
}

// MarkSending is part of [sessions.Outbox].
func (s *Store) MarkSending(ctx context.Context, cl sessions.Claim, id string) error {
	return s.deliver(ctx, "mark sending", cl, id, func(o *outRow) error {
		// Whoever was sending before left no word of how it ended.
		o.uncertain = o.uncertain || o.State == sessions.DeliverySending
		o.State = sessions.DeliverySending
		o.Attempts++
		return nil
	})
}

// MarkSent is part of [sessions.Outbox].
func (s *Store) MarkSent(ctx context.Context, cl sessions.Claim, id string, r channels.Receipt) error {
	return s.deliver(ctx, "mark sent", cl, id, func(o *outRow) error {
		o.State, o.messageID, o.Error = sessions.DeliverySent, rules.Text(r.MessageID), ""
		return nil
	})
}

// Defer is part of [sessions.Outbox].
func (s *Store) Defer(ctx context.Context, cl sessions.Claim, id string, until time.Time, uncertain bool, why string) error {
	return s.deliver(ctx, "defer", cl, id, func(o *outRow) error {
		o.uncertain = o.uncertain || uncertain
		o.State = rules.PutBack(o.uncertain)
		o.NotBefore, o.Error = rules.Time(until), rules.Text(why)
		return nil
	})
}

// Bury is part of [sessions.Outbox].
func (s *Store) Bury(ctx context.Context, cl sessions.Claim, id, why string) error {
	return s.deliver(ctx, "bury", cl, id, func(o *outRow) error {
		o.State, o.Error = sessions.DeliveryDead, rules.Text(why)
		return nil
	})
}

// Drop is part of [sessions.Outbox].
func (s *Store) Drop(ctx context.Context, cl sessions.Claim, id, why string) error {
	return s.deliver(ctx, "drop", cl, id, func(o *outRow) error {
		o.State, o.Error = sessions.DeliveryDropped, rules.Text(why)
		return nil
	})
}
