package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

func (s *Store) inItem(r *rows.In) sessions.QueueItem {
	return sessions.QueueItem{
		ID: r.ID, Kind: "in", Key: r.Inbound.Key.String(), State: rules.InState(r.State, r.Due, s.now()),
		Attempts: r.Attempts, At: rules.Time(r.Accepted), NotBefore: r.Due, Error: r.Why,
		Bytes: len(r.Inbound.Text), Text: r.Inbound.Text,
	}
}

func outItem(o *rows.Out) sessions.QueueItem {
	return sessions.QueueItem{
		ID: o.QueueID, Kind: "out", Key: o.Key.String(), State: string(o.State),
		Attempts: o.Attempts, At: rules.Time(o.Created), NotBefore: o.NotBefore, Error: o.Error,
		Bytes: len(o.Text), Text: o.Text, Delivery: o.ID,
	}
}

func asideItem(id string, a *sessions.AsideRecord) sessions.QueueItem {
	it := sessions.QueueItem{
		ID: id, Kind: "aside", Key: a.Channel, State: rules.AsideKept, At: rules.Time(a.At),
		Error: a.Why, Bytes: len(a.Raw), Text: rules.Text(string(a.Raw)),
	}
	if a.Dropped {
		it.State = rules.AsideGone
	}
	return it
}

// ListQueue lists what is not done: see sessions.Queue.
func (s *Store) ListQueue(ctx context.Context, limit int) (items []sessions.QueueItem, err error) {
	for r, err := range s.back.Inbox(ctx, channels.Key{}, rows.Queued{Open: true}) {
		if err != nil {
			return nil, s.wrap("list queue", err)
		}
		items = append(items, s.inItem(&r))
	}
	for o, err := range s.back.Outbox(ctx, channels.Key{}, rows.Queued{Open: true}) {
		if err != nil {
			return nil, s.wrap("list queue", err)
		}
		items = append(items, outItem(&o))
	}
	// Between equally old ones, the order is that of their numbers.
	slices.SortFunc(items, func(a, b sessions.QueueItem) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	asides, err := s.back.Asides(ctx)
	for _, a := range asides {
		items = append(items, asideItem(a.ID, a.Record))
	}
	return rules.SortQueue(items, limit), s.wrap("list queue", err)
}

// ShowQueue returns one item: see sessions.Queue.
func (s *Store) ShowQueue(ctx context.Context, id string) (it sessions.QueueItem, err error) {
	in, out, ref, err := queued(ctx, s.back, id)
	switch {
	case err != nil:
		return it, s.wrap("show queue", err)
	case in != nil:
		return s.inItem(in), nil
	case out != nil:
		return outItem(out), nil
	}
	return asideItem(id, ref.Aside), nil
}

// queued reads the queue item called id: one of the three is there, an aside in
// ref. Errors: ErrNotFound.
func queued(ctx context.Context, r rows.Reader, id string) (in *rows.In, out *rows.Out, ref rows.Ref, err error) {
	if ref, err = r.Find(ctx, id); err != nil {
		return nil, nil, ref, err
	}
	q := rows.Queued{Seqs: []int64{ref.Seq}}
	switch ref.Lane {
	case rows.LaneIn:
		var list []*rows.In
		if list, err = pointers(r.Inbox(ctx, ref.Key, q)); len(list) > 0 {
			in = list[0]
		}
	case rows.LaneOut:
		var list []*rows.Out
		if list, err = pointers(r.Outbox(ctx, ref.Key, q)); len(list) > 0 {
			out = list[0]
		}
	default:
		return nil, nil, ref, nil
	}
	if err == nil && in == nil && out == nil {
		err = fmt.Errorf("%w: queue item %q", sessions.ErrNotFound, id)
	}
	return in, out, ref, err
}

// RetryQueue makes an item due now: see sessions.Queue.
func (s *Store) RetryQueue(ctx context.Context, id string) error {
	return s.update(ctx, "retry queue", func(st *step) error {
		in, out, _, err := queued(st.ctx, st.r, id)
		switch {
		case err != nil:
			return err
		case in != nil:
			return s.retryIn(st, in)
		case out != nil:
			return s.retryOut(st, out)
		}
		return fmt.Errorf("%w: what was set aside cannot be tried again", sessions.ErrConflict)
	})
}

// DropQueue gives an item up: see sessions.Queue.
func (s *Store) DropQueue(ctx context.Context, id string) error {
	return s.update(ctx, "drop queue", func(st *step) error {
		in, out, ref, err := queued(st.ctx, st.r, id)
		switch {
		case err != nil:
			return err
		case in != nil:
			return s.dropIn(st, in)
		case out != nil:
			return s.dropOut(st, out)
		case ref.Aside.Dropped:
			return isDone(id, rules.AsideGone)
		}
		a := *ref.Aside
		a.Dropped = true
		st.record(sessions.Record{Aside: &a})
		return nil
	})
}

// busy refuses to touch what a claim of k works on now.
func (s *Store) busy(k channels.Key, id string, touched bool) error {
	if touched && s.back.Claimed(k) {
		return fmt.Errorf("%w: %s is being worked on", sessions.ErrConflict, id)
	}
	return nil
}

func isDone(id, state string) error {
	return fmt.Errorf("%w: %s is %s", sessions.ErrConflict, id, state)
}

// waits finds the key of an inbox row that an operator may change, and the rows
// of it that wait.
func (s *Store) waits(st *step, r *rows.In) (*chat, []*rows.In, error) {
	if r.State != rules.InWaiting {
		return nil, nil, isDone(r.ID, r.State)
	}
	if err := s.busy(r.Inbound.Key, r.ID, !r.Due.After(st.now)); err != nil {
		return nil, nil, err
	}
	c, err := st.chat(r.Inbound.Key)
	if err != nil {
		return nil, nil, err
	}
	open, err := st.open(c, true)
	return c, open, err
}

func (s *Store) retryIn(st *step, r *rows.In) error {
	c, open, err := s.waits(st, r)
	if err != nil {
		return err
	}
	for _, r := range append(bound(open, r.Turn), r) { // a turn is one thing
		r.Due = time.Time{}
		st.put(c, r, false)
	}
	return nil
}

func (s *Store) dropIn(st *step, r *rows.In) error {
	c, open, err := s.waits(st, r)
	if err != nil {
		return err
	}
	if len(bound(open, r.Turn)) == 1 {
		st.endJournal(c, r.Turn)
	}
	r.Turn = ""
	st.settle(c, r, rules.InDropped, r.Why)
	st.endOccurrence(r, "skipped", "dropped by the operator")
	return nil
}

// undelivered finds the key of a delivery that an operator may change.
func (s *Store) undelivered(st *step, o *rows.Out) (*chat, error) {
	if !rules.Unsent(o.State) && o.State != sessions.DeliveryDead {
		return nil, isDone(o.QueueID, string(o.State))
	}
	if err := s.busy(o.Key, o.QueueID, o.State == sessions.DeliverySending); err != nil {
		return nil, err
	}
	return st.chat(o.Key)
}

func (s *Store) retryOut(st *step, o *rows.Out) error {
	c, err := s.undelivered(st, o)
	if err != nil {
		return err
	}
	if o.State == sessions.DeliveryDead {
		o.Attempts = 0 // a new life with all its attempts
	}
	o.Uncertain = o.Uncertain || o.State == sessions.DeliverySending
	o.State, o.NotBefore = rules.PutBack(o.Uncertain), time.Time{}
	ch := st.touch(c)
	ch.Out = append(ch.Out, o)
	return nil
}

func (s *Store) dropOut(st *step, o *rows.Out) error {
	c, err := s.undelivered(st, o)
	if err != nil {
		return err
	}
	o.State = sessions.DeliveryDropped
	ch := st.touch(c)
	ch.Out = append(ch.Out, o)
	return nil
}

// Feed shows a conversation as the person in it saw it: see sessions.Feeds.
func (s *Store) Feed(ctx context.Context, k channels.Key, before int64, limit int) (items []sessions.FeedItem, err error) {
	if limit <= 0 {
		return nil, nil
	}
	q := rows.Queued{Before: before, Newest: true}
	for r, err := range s.back.Inbox(ctx, k, q) {
		if err != nil {
			return nil, s.wrap("feed", err)
		}
		if r.Origin == sessions.OriginChat && r.State != rules.InEdit && r.State != rules.InWithdrawn {
			items = append(items, rules.FeedIn(r.Seq, r.Inbound, r.Accepted, r.State))
		}
		if len(items) == limit {
			break
		}
	}
	said := len(items)
	for o, err := range s.back.Outbox(ctx, k, q) {
		if err != nil {
			return nil, s.wrap("feed", err)
		}
		if o.State != sessions.DeliveryDead && o.State != sessions.DeliveryDropped {
			items = append(items, rules.FeedOut(o.Delivery))
		}
		if len(items)-said == limit {
			break
		}
	}
	slices.SortFunc(items, func(a, b sessions.FeedItem) int { return cmp.Compare(a.Seq, b.Seq) })
	return items[max(len(items)-limit, 0):], nil
}
