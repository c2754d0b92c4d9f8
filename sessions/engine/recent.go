package engine

import (
	"cmp"
	"context"
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

func recentMessage(k channels.Key, r *rows.In) sessions.Recent {
	return sessions.Recent{Key: k, Seq: r.Seq, ID: r.Inbound.ID, At: rules.Time(r.Accepted)}
}

func recentDelivery(o *rows.Out) sessions.Recent {
	return sessions.Recent{Key: o.Key, Seq: o.Seq, ID: o.ID, At: rules.Time(o.Created), State: o.State, Attempts: o.Attempts, Label: o.Label}
}

// isSaid reports whether people see r as a message of somebody: no job, no notice, and
// no change of another message.
func isSaid(r *rows.In) bool {
	return r.Origin == sessions.OriginChat && r.State != rules.InEdit && r.State != rules.InWithdrawn
}

// Watch calls told after each commit of this process that stored a message of a person,
// changed a delivery or ended an occurrence. told runs in the goroutine that made the
// change and must not block. Call Watch once, before the store is used.
func (s *Store) Watch(told func(sessions.Stored)) { s.watch = told }

// tell passes what changes hold to whoever watches, if that is anything.
func (s *Store) tell(changes *rows.Changes) {
	var stored sessions.Stored
	for _, c := range changes.Chats {
		for _, p := range c.In {
			if p.Fresh && isSaid(&p.In) {
				stored.Rows = append(stored.Rows, recentMessage(c.Key, &p.In))
			}
		}
		for _, o := range c.Out {
			d := recentDelivery(o)
			d.Key = c.Key
			stored.Rows = append(stored.Rows, d)
		}
	}
	for _, r := range changes.Records {
		if r.Occurrence != nil {
			stored.Occurrences = append(stored.Occurrences, *r.Occurrence)
		}
	}
	if len(stored.Rows)+len(stored.Occurrences) > 0 {
		s.watch(stored)
	}
}
