package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Recent lists the messages of people that were accepted, and the deliveries that were
// created, at t or later, in all conversations, oldest first. whole is false if there
// are more than a store lists: rows.MostSince of one kind.
func (s *Store) Recent(ctx context.Context, t time.Time) (list []sessions.Recent, whole bool, err error) {
	v := s.view(ctx)
	q := rows.QueueFilter{Since: t}
	in := 0
	for r := range v.inbox(channels.Key{}, q) {
		in++
		if isSaid(&r) {
			list = append(list, recentMessage(r.Inbound.Key, &r))
		}
	}
	out := 0
	for o := range v.outbox(channels.Key{}, q) {
		out++
		list = append(list, recentDelivery(&o))
	}
	slices.SortFunc(list, func(a, b sessions.Recent) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.Seq, b.Seq))
	})
	return list, max(in, out) < rows.MostSince, s.wrap("list what is recent", v.err)
}

// Delivery returns the delivery numbered seq of k. Errors: ErrNotFound.
func (s *Store) Delivery(ctx context.Context, k channels.Key, seq int64) (d sessions.Recent, err error) {
	v := s.viewOf(ctx, k)
	if seq <= 0 {
		return d, s.wrap("read a delivery", cmp.Or(v.err, sessions.ErrNotFound))
	}
	o := first(v.outbox(k, rows.QueueFilter{Seq: seq}))
	switch {
	case v.err != nil:
		return d, s.wrap("read a delivery", v.err)
	case o == nil:
		return d, s.wrap("read a delivery", sessions.ErrNotFound)
	}
	return recentDelivery(o), nil
}

// Row returns the message of a person, or the delivery, numbered seq of k. Errors: ErrNotFound.
func (s *Store) Row(ctx context.Context, k channels.Key, seq int64) (r sessions.Recent, err error) {
	r, err = s.Delivery(ctx, k, seq)
	if seq <= 0 || !errors.Is(err, sessions.ErrNotFound) {
		return r, err
	}
	v := s.viewOf(ctx, k)
	in := first(v.inbox(k, rows.QueueFilter{Seq: seq}))
	if v.err != nil || in == nil || !isSaid(in) {
		return r, s.wrap("read a row", cmp.Or(v.err, sessions.ErrNotFound))
	}
	return recentMessage(k, in), nil
}

func recentMessage(k channels.Key, r *rows.In) sessions.Recent {
	return sessions.Recent{Key: k, Seq: r.Seq, ID: r.Inbound.ID, At: rules.Time(r.Accepted)}
}

func recentDelivery(o *rows.Out) sessions.Recent {
	return sessions.Recent{Key: o.Key, Seq: o.Seq, ID: o.ID, At: rules.Time(o.Created), State: o.State, Attempts: o.Attempts, Label: o.Label}
}

// isSaid reports whether people see r as a message of somebody: no job, no notice, and
// no change of another message.
func isSaid(r *rows.In) bool {
	return r.Source == sessions.SourceChat && r.State != rules.InEdit && r.State != rules.InWithdrawn
}

// watcher is told what commits stored.
type watcher struct {
	row     func(sessions.Recent)
	outcome func(sessions.Occurrence)
}

// Watch calls row for each new message of a person and each delivery that is new or has
// another state or one more attempt, and outcome for each occurrence that was fired or has ended, after the commit
// of this process that stored it. Both run in the goroutine that made the change and
// must not block. Call Watch once, before the store is used.
func (s *Store) Watch(row func(sessions.Recent), outcome func(sessions.Occurrence)) {
	s.watcher = &watcher{row, outcome}
}

// tell passes on what changes hold, without the deliveries that are still as they were.
// Every commit comes here, so it collects nothing.
func (w *watcher) tell(changes *rows.Changes, still []*rows.Out) {
	for _, c := range changes.Chats {
		for _, p := range c.In {
			if p.Fresh && isSaid(&p.In) {
				w.row(recentMessage(c.Key, &p.In))
			}
		}
		for _, o := range c.Out {
			if slices.Contains(still, o) {
				continue
			}
			d := recentDelivery(o)
			d.Key = c.Key
			w.row(d)
		}
	}
	for _, r := range changes.Records {
		if r.Occurrence != nil {
			w.outcome(*r.Occurrence)
		}
	}
}
