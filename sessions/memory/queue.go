package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Feed is part of [sessions.Feeds].
func (s *Store) Feed(ctx context.Context, k channels.Key, before int64, limit int) (items []sessions.FeedItem, err error) {
	err = s.read(ctx, "feed", func() error {
		c, err := s.whole(k)
		if c == nil {
			return err
		}
		for _, r := range c.in {
			if r.origin == sessions.OriginChat && r.state != rules.InEdit && r.state != rules.InWithdrawn {
				items = append(items, rules.FeedIn(r.seq, r.inbound, r.accepted, r.state))
			}
		}
		for _, o := range c.out {
			if o.State != sessions.DeliveryDead && o.State != sessions.DeliveryDropped {
				items = append(items, rules.FeedOut(o.Delivery))
			}
		}
		slices.SortFunc(items, func(a, b sessions.FeedItem) int { return cmp.Compare(a.Seq, b.Seq) })
		if before > 0 {
			items = slices.DeleteFunc(items, func(it sessions.FeedItem) bool { return it.Seq >= before })
		}
		items = items[len(items)-min(max(limit, 0), len(items)):]
		return nil
	})
	return items, err
}

func (r *inRow) queueItem(now time.Time) sessions.QueueItem {
	return sessions.QueueItem{
		ID: r.id(), Kind: "in", Key: r.inbound.Key.String(), State: rules.InState(r.state, r.due, now),
		Attempts: r.attempts, At: rules.Time(r.accepted), NotBefore: r.due, Error: r.why,
		Bytes: len(r.inbound.Text), Text: r.inbound.Text,
	}
}

func (o *outRow) queueItem() sessions.QueueItem {
	return sessions.QueueItem{
		ID: o.ID, Kind: "out", Key: o.Key.String(), State: string(o.State),
		Attempts: o.Attempts, At: rules.Time(o.Created), NotBefore: o.NotBefore, Error: o.Error,
		Bytes: len(o.Text), Text: o.Text, Delivery: o.ID,
	}
}

func (a *asideRow) queueItem() sessions.QueueItem {
	it := sessions.QueueItem{
		ID: a.id, Kind: "aside", Key: a.aside.Channel, State: rules.AsideKept, At: rules.Time(a.at),
		Error: a.aside.Why, Bytes: len(a.aside.Raw), Text: rules.Text(string(a.aside.Raw)),
	}
	if a.dropped {
		it.State = rules.AsideGone
	}
	return it
}

// ListQueue is part of [sessions.Queue].
func (s *Store) ListQueue(ctx context.Context, limit int) (items []sessions.QueueItem, err error) {
	err = s.read(ctx, "list queue", func() error {
		for _, c := range s.chats {
			for _, r := range c.in {
				if r.open() {
					items = append(items, r.queueItem(s.now()))
				}
			}
			for _, o := range c.out {
				if o.open() {
					items = append(items, o.queueItem())
				}
			}
		}
		// Between equally old ones, the order is that of their numbers.
		slices.SortFunc(items, func(a, b sessions.QueueItem) int {
			return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
		})
		for _, a := range s.asides {
			if !a.dropped {
				items = append(items, a.queueItem())
			}
		}
		items = rules.SortQueue(items, limit)
		return nil
	})
	return items, err
}

// entry is a queue item and what the operator can do with it.
type entry struct {
	show        func() sessions.QueueItem
	retry, drop func(*change) error
}

// find looks an item up by its id. What is open is in memory; for what is done
// all conversations are looked through, which only an operator asks for.
func (s *Store) find(id string) (entry, error) {
	for _, a := range s.asides {
		if a.id == id {
			no := func(*change) error {
				return fmt.Errorf("%w: what was set aside cannot be tried again", sessions.ErrConflict)
			}
			return entry{a.queueItem, no, a.drop}, nil
		}
	}
	for _, c := range s.chats {
		if e, ok := s.findIn(c, id); ok {
			return e, nil
		}
	}
	for _, c := range s.chats {
		all, err := s.look(c)
		if err != nil {
			return entry{}, err
		}
		if e, ok := s.findIn(all, id); ok {
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("%w: queue item %q", sessions.ErrNotFound, id)
}

func (s *Store) findIn(c *chat, id string) (entry, bool) {
	for _, r := range c.in {
		if r.id() == id {
			return entry{func() sessions.QueueItem { return r.queueItem(s.now()) }, s.retryIn(c, r), s.dropIn(c, r)}, true
		}
	}
	for _, o := range c.out {
		if o.ID == id {
			return entry{o.queueItem, s.retryOut(c, o), s.dropOut(c, o)}, true
		}
	}
	return entry{}, false
}

// ShowQueue is part of [sessions.Queue].
func (s *Store) ShowQueue(ctx context.Context, id string) (it sessions.QueueItem, err error) {
	err = s.read(ctx, "show queue", func() error {
		e, err := s.find(id)
		if err == nil {
			it = e.show()
		}
		return err
	})
	return it, err
}

// RetryQueue is part of [sessions.Queue].
func (s *Store) RetryQueue(ctx context.Context, id string) error {
	return s.update(ctx, "retry queue", func(ch *change) error {
		e, err := s.find(id)
		if err != nil {
			return err
		}
		return e.retry(ch)
	})
}

// DropQueue is part of [sessions.Queue].
func (s *Store) DropQueue(ctx context.Context, id string) error {
	return s.update(ctx, "drop queue", func(ch *change) error {
		e, err := s.find(id)
		if err != nil {
			return err
		}
		return e.drop(ch)
	})
}

// busy refuses to touch what a claim of k works on now.
func (s *Store) busy(k channels.Key, id string, touched bool) error {
	if touched && s.work.Claimed(k) {
		return fmt.Errorf("%w: %s is being worked on", sessions.ErrConflict, id)
	}
	return nil
}

func isDone(id, state string) error {
	return fmt.Errorf("%w: %s is %s", sessions.ErrConflict, id, state)
}

func (s *Store) retryIn(c *chat, r *inRow) func(*change) error {
	return func(ch *change) error {
		if r.state != rules.InWaiting {
			return isDone(r.id(), r.state)
		}
		if err := s.busy(r.inbound.Key, r.id(), !r.due.After(ch.now)); err != nil {
			return err
		}
		for _, r := range c.withTurn(r) {
			r.due = time.Time{}
			ch.in(c, r)
		}
		return nil
	}
}

// withTurn is r and the rows that are bound to the same turn.
func (c *chat) withTurn(r *inRow) []*inRow {
	if rows := c.bound(r.turn); len(rows) > 0 {
		return rows
	}
	return []*inRow{r}
}

func (s *Store) dropIn(c *chat, r *inRow) func(*change) error {
	return func(ch *change) error {
		if r.state != rules.InWaiting {
			return isDone(r.id(), r.state)
		}
		if err := s.busy(r.inbound.Key, r.id(), !r.due.After(ch.now)); err != nil {
			return err
		}
		turn := r.turn
		r.state, r.turn = rules.InDropped, ""
		if turn != "" && len(c.bound(turn)) == 0 {
			ch.end(c, turn)
		}
		r.fired.end(ch, "skipped", "dropped by the operator")
		ch.in(c, r)
		return nil
	}
}

func (s *Store) retryOut(c *chat, o *outRow) func(*change) error {
	return func(ch *change) error {
		if !o.open() {
			return isDone(o.ID, string(o.State))
		}
		if err := s.busy(o.Key, o.ID, o.State == sessions.DeliverySending); err != nil {
			return err
		}
		if o.State == sessions.DeliveryDead {
			o.Attempts = 0 // a new life with all its attempts
		}
		o.uncertain = o.uncertain || o.State == sessions.DeliverySending
		o.State, o.NotBefore = rules.PutBack(o.uncertain), time.Time{}
		ch.out(c, o)
		return nil
	}
}

func (s *Store) dropOut(c *chat, o *outRow) func(*change) error {
	return func(ch *change) error {
		if !o.open() {
			return isDone(o.ID, string(o.State))
		}
		if err := s.busy(o.Key, o.ID, o.State == sessions.DeliverySending); err != nil {
			return err
		}
		o.State = sessions.DeliveryDropped
		ch.out(c, o)
		return nil
	}
}

func (a *asideRow) drop(ch *change) error {
	if a.dropped {
		return isDone(a.id, rules.AsideGone)
	}
	a.dropped = true
	ch.aside(a)
	return nil
}
