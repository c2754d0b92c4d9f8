package rules

import (
	"slices"
	"time"

	"dragoman/sessions"
)

// FirstMoment and LastMoment bound the times that stores keep: the whole years of
// which 64 bits hold every nanosecond.
var (
	FirstMoment = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC)
	LastMoment  = time.Date(2261, 12, 31, 23, 59, 59, 999999999, time.UTC)
)

// Time makes t storable everywhere, and the same everywhere: what lies before
// FirstMoment, as a broken clock or a date of another calendar can, becomes
// FirstMoment, and what lies after LastMoment becomes LastMoment, so that order is kept
// and "never" is not due at once. The zero time stays what it is. The
// monotonic part is dropped; the zone becomes UTC.
func Time(t time.Time) time.Time {
	t = t.UTC().Round(0)
	switch {
	case t.IsZero():
		return time.Time{}
	case t.Before(FirstMoment):
		return FirstMoment
	case t.After(LastMoment):
		return LastMoment
	}
	return t
}

// Times returns r with every time as [Time] makes it, and how many lay outside
// of what stores keep. What r points to is not changed.
func Times(r sessions.Record) (sessions.Record, int) {
	c := clock{}
	switch {
	case r.Conversation != nil:
		h := *r.Conversation
		c.set(&h.Created, &h.Updated)
		h.Generations, h.Summaries = slices.Clone(h.Generations), slices.Clone(h.Summaries)
		for i := range h.Generations {
			c.set(&h.Generations[i].Began)
		}
		for i := range h.Summaries {
			c.set(&h.Summaries[i].At)
		}
		r.Conversation = &h
	case r.Messages != nil:
		m := *r.Messages
		m.Messages = slices.Clone(m.Messages)
		for i := range m.Messages {
			c.set(&m.Messages[i].At)
		}
		r.Messages = &m
	case r.Inbox != nil:
		in := *r.Inbox
		c.set(&in.Inbound.At, &in.Due, &in.Accepted, &in.JobDue)
		in.Steps = slices.Clone(in.Steps)
		for i := range in.Steps {
			c.step(&in.Steps[i])
		}
		r.Inbox = &in
	case r.Outbox != nil:
		out := *r.Outbox
		c.set(&out.Created, &out.NotBefore)
		r.Outbox = &out
	default:
		return c.others(r), c.moved
	}
	return r, c.moved
}

// clock counts the times that it moves.
type clock struct{ moved int }

func (c *clock) set(times ...*time.Time) {
	for _, t := range times {
		kept := Time(*t)
		if !kept.Equal(*t) {
			c.moved++
		}
		*t = kept
	}
}

func (c *clock) step(s *sessions.Step) {
	c.set(&s.At)
	if s.Message != nil {
		m := *s.Message
		c.set(&m.At)
		s.Message = &m
	}
}

func (c *clock) others(r sessions.Record) sessions.Record {
	switch {
	case r.Quarantined != nil:
		a := *r.Quarantined
		c.set(&a.At)
		r.Quarantined = &a
	case r.Fact != nil:
		f := *r.Fact
		c.set(&f.At)
		r.Fact = &f
	case r.Pairing != nil:
		p := *r.Pairing
		c.set(&p.Expires, &p.Approved)
		r.Pairing = &p
	case r.Job != nil:
		j := *r.Job
		c.set(&j.Due)
		r.Job = &j
	case r.Occurrence != nil:
		o := *r.Occurrence
		c.set(&o.Due, &o.At)
		r.Occurrence = &o
	}
	return r
}

// Latest is the later of two times.
func Latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Plausible is the first moment that a clock may say. Dragoman is younger: an
// update before it was noted by a clock that had not been set, on a machine
// without a battery for it, say, or comes from somewhere else.
var Plausible = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Undated reports whether a conversation that was updated then cannot be said
// to be old before a time that a clock gave which had been set.
func Undated(updated, before time.Time) bool {
	return updated.Before(Plausible) && before.After(Plausible)
}

// Earliest is the earlier of two times, of which zero is none.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
