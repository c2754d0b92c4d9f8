package exchange

import (
	"context"
	"fmt"
	"io"

	"dragoman/channels"
	"dragoman/sessions"
)

// Take hands what the plan chose to take, which stores each part that it is
// handed whole or not at all, as [sessions.Copies.Take] does: first what
// belongs to no conversation, because a message may name the job that it came
// from, then some whole conversations at a time, so that neither memory nor a
// turn that waits for the store has to bear a large import. It returns what was
// new, also beside an error: that much is stored, and a second import leaves it
// out and goes on.
func (p *Plan) Take(ctx context.Context, take func(context.Context, func() (sessions.Record, error)) (sessions.Taken, error)) (all sessions.Taken, err error) {
	part := func(next func() (sessions.Record, error)) error {
		got, err := take(ctx, next)
		if err == nil {
			all.Conversations += got.Conversations
			all.Others += got.Others
		}
		return err
	}
	next, done := p.Records(ctx)
	defer func() { done() }()
	if p.scattered {
		return all, part(next)
	}
	if p.Others > 0 {
		if err := part(only(false, next)); err != nil {
			return all, err
		}
		done()
		next, done = p.Records(ctx)
	}
	c := &cutter{next: only(true, next)}
	for !c.ended {
		if err := c.fill(); err != nil {
			return all, err
		}
		if c.ended {
			break
		}
		if err := part(c.part); err != nil {
			return all, err
		}
		if !c.ended && c.ready == nil {
			return all, fmt.Errorf("exchange: import: a part was not read to its end")
		}
	}
	return all, nil
}

// only hands out the records that belong to conversations, or the others.
func only(belongs bool, next func() (sessions.Record, error)) func() (sessions.Record, error) {
	return func() (sessions.Record, error) {
		for {
			r, err := next()
			if _, has := KeyOf(r); err != nil || has == belongs {
				return r, err
			}
		}
	}
}

// cutter cuts records into parts that end where a conversation does.
type cutter struct {
	next  func() (sessions.Record, error)
	ready *sessions.Record // the first of the next part
	key   channels.Key     // of the record before
	ended bool

	records, bytes int // of the part
}

// fill reads the first record of the next part, if there is one.
func (c *cutter) fill() error {
	if c.ready != nil {
		return nil
	}
	r, err := c.next()
	if err == io.EOF {
		c.ended = true
		return nil
	}
	c.ready = &r
	return err
}

// part hands out the records of one part.
func (c *cutter) part() (sessions.Record, error) {
	if c.ready != nil { // a new part
		r := *c.ready
		c.ready, c.records, c.bytes = nil, 1, size(r)
		c.key, _ = KeyOf(r)
		return r, nil
	}
	r, err := c.next()
	if err != nil {
		c.ended = err == io.EOF
		return r, err
	}
	if k, _ := KeyOf(r); k != c.key {
		c.key = k
		if c.records >= batchRecords || c.bytes >= batchBytes {
			c.ready = &r
			return sessions.Record{}, io.EOF
		}
	}
	c.records, c.bytes = c.records+1, c.bytes+size(r)
	return r, nil
}

// size is how many bytes r is, about.
func size(r sessions.Record) (n int) {
	switch {
	case r.Messages != nil:
		for _, said := range r.Messages.Messages {
			n += len(said.Content) + 100
		}
	case r.Inbox != nil:
		n = len(r.Inbox.Inbound.Text)
	case r.Outbox != nil:
		n = len(r.Outbox.Text)
	case r.Aside != nil:
		n = len(r.Aside.Raw)
	}
	return n
}
