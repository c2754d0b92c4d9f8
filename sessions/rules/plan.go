package rules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/spool"
)

// Plan is everything that a Restore is to store, cleaned and checked.
type Plan struct {
	Store       *sessions.StoreRecord
	Keys        []channels.Key // in the order of their first record
	Chats       map[channels.Key]*ChatPlan
	Quarantined []sessions.QuarantineRecord
	Facts       []sessions.FactRecord
	Pairings    []sessions.Pairing
	Jobs        []sessions.JobRecord
	Occurrences []sessions.Occurrence

	seen map[string]bool // dedupe strings and delivery ids
	said *spool.Spool[[]sessions.Message]
}

// Said hands out the messages of c, in order and in stretches. The caller must
// not change what they refer to.
func (p *Plan) Said(c *ChatPlan) iter.Seq2[[]sessions.Message, error] {
	return func(yield func([]sessions.Message, error) bool) {
		for _, i := range c.stretches {
			if stretch, err := p.said.At(i); !yield(stretch, err) || err != nil {
				return
			}
		}
	}
}

// Close frees what the plan holds.
func (p *Plan) Close() error { return p.said.Close() }

// ReadPlan reads all records. They wait until they are stored: a store is
// restored whole or not at all, and nobody waits for a slow reader. Messages
// that are too many for memory wait in a file that scratch makes; a nil one
// keeps them in memory. Queues and what belongs to no conversation stay there.
func ReadPlan(ctx context.Context, scratch func() (*os.File, error), next func() (sessions.Record, error)) (*Plan, error) {
	p := &Plan{
		Chats: map[channels.Key]*ChatPlan{}, seen: map[string]bool{},
		said: spool.New[[]sessions.Message](scratch),
	}
	if err := p.read(ctx, next); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Plan) read(ctx context.Context, next func() (sessions.Record, error)) error {
	for {
		r, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = p.add(r)
		}
		if err != nil {
			return err
		}
	}
	for _, k := range p.Keys {
		if err := p.Chats[k].finish(); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	return nil
}

// chat is the plan of k.
func (p *Plan) chat(k channels.Key) *ChatPlan {
	c := p.Chats[k]
	if c == nil {
		c = &ChatPlan{Head: sessions.ConversationRecord{Key: k}}
		p.Chats[k] = c
		p.Keys = append(p.Keys, k)
	}
	return c
}

// once refuses what came before.
func (p *Plan) once(what, id string) error {
	if p.seen[what+id] {
		return fmt.Errorf("%s %q appears twice", what, id)
	}
	p.seen[what+id] = true
	return nil
}

func (p *Plan) add(r sessions.Record) error {
	switch {
	case r.Store != nil:
		p.Store = r.Store
	case r.Conversation != nil:
		return p.addHead(*r.Conversation)
	case r.Messages != nil:
		return p.addMessages(*r.Messages)
	case r.Inbox != nil:
		return p.addInbox(*r.Inbox)
	case r.Outbox != nil:
		return p.addOutbox(*r.Outbox)
	case r.Quarantined != nil:
		a := *r.Quarantined
		a.Raw, a.Why, a.At = slices.Clone(a.Raw), Text(a.Why), Time(a.At)
		p.Quarantined = append(p.Quarantined, a)
	default:
		return p.addOther(r)
	}
	return nil
}

func (p *Plan) addOther(r sessions.Record) error {
	switch {
	case r.Fact != nil:
		f := *r.Fact
		f.Text, f.At = Text(f.Text), Time(f.At)
		p.Facts = append(p.Facts, f)
	case r.Pairing != nil:
		approved := Time(r.Pairing.Approved)
		one := Pairing(*r.Pairing)
		one.Approved = approved
		p.Pairings = append(p.Pairings, one)
	case r.Job != nil:
		p.Jobs = append(p.Jobs, sessions.JobRecord{Job: r.Job.Job, Due: Time(r.Job.Due)})
	case r.Occurrence != nil:
		o := *r.Occurrence
		o.Job, o.Outcome, o.Why = Text(o.Job), Text(o.Outcome), Text(o.Why)
		o.Due, o.At = Time(o.Due), Time(o.At)
		p.Occurrences = append(p.Occurrences, o)
	default:
		return errors.New("an empty record")
	}
	return nil
}

func (p *Plan) addHead(h sessions.ConversationRecord) error {
	if h.Key.IsZero() {
		return errors.New("a conversation without a key")
	}
	c := p.chat(h.Key)
	if c.headed || c.Messages > 0 {
		return fmt.Errorf("the conversation of %s comes twice, or behind its messages", h.Key)
	}
	if err := CheckSettings(h.Settings); err != nil {
		return fmt.Errorf("%s: %w", h.Key, err)
	}
	h.Title, h.Created, h.Updated, h.Settings = Text(h.Title), Time(h.Created), Time(h.Updated), Settings(h.Settings)
	h.Generations, h.Summaries = slices.Clone(h.Generations), slices.Clone(h.Summaries)
	for i := range h.Generations {
		h.Generations[i].Began = Time(h.Generations[i].Began)
	}
	for i, s := range h.Summaries {
		h.Summaries[i] = Summary(s)
	}
	c.Head, c.headed = h, true
	return nil
}

func (p *Plan) addMessages(r sessions.MessagesRecord) error {
	if r.Key.IsZero() {
		return errors.New("messages without a key")
	}
	c, size := p.chat(r.Key), 0
	stretch := make([]sessions.Message, 0, len(r.Messages))
	for _, m := range r.Messages {
		m = Message(m, time.Now())
		if err := c.number(&m); err != nil {
			return fmt.Errorf("%s: %w", r.Key, err)
		}
		stretch, size = append(stretch, m), size+Bytes(m)+200
	}
	if len(stretch) == 0 {
		return nil
	}
	c.Bytes += size
	c.stretches = append(c.stretches, p.said.Len())
	return p.said.Add(stretch, size)
}

func (p *Plan) addInbox(r sessions.InboxRecord) error {
	if err := CheckInbox(r); err != nil {
		return err
	}
	r.Inbound = Inbound(r.Inbound)
	r.Turn, r.Why, r.Job = Text(r.Turn), Text(r.Why), Text(r.Job)
	r.Due, r.Accepted, r.JobDue = Time(r.Due), Time(r.Accepted), Time(r.JobDue)
	if r.Origin == "" {
		r.Origin = sessions.OriginChat
	}
	steps := make([]sessions.Step, 0, len(r.Steps))
	for _, s := range r.Steps {
		steps = append(steps, Step(s, s.At))
	}
	r.Steps = steps
	c := p.chat(r.Inbound.Key)
	c.Inbox = append(c.Inbox, r)
	return p.once("the message", Dedupe(r.Inbound))
}

func (p *Plan) addOutbox(r sessions.OutboxRecord) error {
	if err := CheckOutbox(r); err != nil {
		return err
	}
	r.ID, r.Text, r.ReplyTo, r.Edit, r.Error, r.MessageID = Text(r.ID), Text(r.Text), Text(r.ReplyTo), Text(r.Edit), Text(r.Error), Text(r.MessageID)
	r.Created, r.NotBefore = Time(r.Created), Time(r.NotBefore)
	c := p.chat(r.Key)
	c.Outbox = append(c.Outbox, r)
	return p.once("the delivery", r.ID)
}
