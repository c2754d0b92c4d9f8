package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
	"dragoman/sessions/spool"
)

// plan is everything that a Restore will store, cleaned and checked.
type plan struct {
	store  *sessions.StoreRecord
	keys   []channels.Key // in the order of their first record
	chats  map[channels.Key]*chatPlan
	others []rows.Record // records outside conversations
	now    time.Time     // for messages without a time

	seen  map[string]bool // dedupe strings and delivery ids
	spool *spool.Spool[[]sessions.Message]
}

// readPlan reads all records before anything is stored, so that a store is restored
// whole or not at all, and no commit waits for a slow reader. Messages that do not
// fit into memory go to a file in the folder scratch; everything else stays in
// memory.
func readPlan(ctx context.Context, now time.Time, scratch string, next func() (sessions.Record, error)) (*plan, error) {
	p := &plan{now: now, chats: map[channels.Key]*chatPlan{}, seen: map[string]bool{}, spool: spool.New[[]sessions.Message](scratch)}
	if err := p.read(ctx, next); err != nil {
		return nil, errors.Join(err, p.spool.Close())
	}
	return p, nil
}

func (p *plan) read(ctx context.Context, next func() (sessions.Record, error)) error {
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
	for _, k := range p.keys {
		if err := p.chats[k].finish(); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	return nil
}

// chat returns the plan of k.
func (p *plan) chat(k channels.Key) *chatPlan {
	c := p.chats[k]
	if c == nil {
		c = &chatPlan{head: sessions.ConversationRecord{Key: k}}
		p.chats[k] = c
		p.keys = append(p.keys, k)
	}
	return c
}

// unique refuses an id that came before.
func (p *plan) unique(what, id string) error {
	if p.seen[what+id] {
		return fmt.Errorf("%s %q appears twice", what, id)
	}
	p.seen[what+id] = true
	return nil
}

func (p *plan) add(r sessions.Record) error {
	switch {
	case r.Store != nil:
		p.store = r.Store
	case r.Conversation != nil:
		return p.addHead(*r.Conversation)
	case r.Messages != nil:
		return p.addMessages(*r.Messages)
	case r.Inbox != nil:
		return p.addInbox(*r.Inbox)
	case r.Outbox != nil:
		return p.addOutbox(*r.Outbox)
	default:
		return p.addOther(r)
	}
	return nil
}

func (p *plan) addOther(r sessions.Record) error {
	var own rows.Record
	switch {
	case r.Quarantined != nil:
		a := *r.Quarantined
		a.Raw = slices.Clone(a.Raw)
		a.Why = rules.Text(a.Why)
		a.At = rules.Time(a.At)
		own.Quarantined = &a
	case r.Fact != nil:
		f := *r.Fact
		f.Text, f.At = rules.Text(f.Text), rules.Time(f.At)
		f.Origins = rules.Origins(f.Origins)
		f.FactMarks = cleanMarks(f.FactMarks)
		own.Fact = &f
	case r.Pairing != nil:
		one := cleanPairing(*r.Pairing)
		own.Pairing = &one
	case r.Job != nil:
		own.Job = &sessions.JobRecord{Job: r.Job.Job, Due: rules.Time(r.Job.Due)}
	case r.Occurrence != nil:
		o := cleanOccurrence(*r.Occurrence)
		own.Occurrence = &o
	case r.Note != nil:
		n, err := cleanNote(r.Note.Kind, r.Note.Owner, *r.Note)
		if err = cmp.Or(checkKind(n.Kind), checkName("owner", n.Owner), err); err != nil {
			return err
		}
		if n.At.IsZero() {
			n.At = rules.Time(p.now)
		}
		own.Note = &n
		return p.addOnce(own, "the note", n.Kind+" "+n.Owner+" "+n.Name)
	case r.Count != nil:
		c := *r.Count
		if err := checkCount(c); err != nil {
			return err
		}
		own.Count = &c
		return p.addOnce(own, "the count", c.Kind+" "+c.Owner+" "+c.Day)
	default:
		return errors.New("an empty record")
	}
	p.others = append(p.others, own)
	return nil
}

// addOnce adds a record whose name may not come twice.
func (p *plan) addOnce(r rows.Record, what, name string) error {
	p.others = append(p.others, r)
	return p.unique(what, name)
}

func (p *plan) addHead(h sessions.ConversationRecord) error {
	if h.Key.IsZero() {
		return errors.New("a conversation without a key")
	}
	c := p.chat(h.Key)
	if c.headed || c.messages > 0 {
		return fmt.Errorf("the record of conversation %s comes twice, or after its messages", h.Key)
	}
	if err := checkSettings(h.Settings); err != nil {
		return fmt.Errorf("%s: %w", h.Key, err)
	}
	h.Title = rules.Text(h.Title)
	h.Created = rules.Time(h.Created)
	h.Updated = rules.Time(h.Updated)
	h.Settings = rules.Settings(h.Settings)
	if err := checkOwners(h.Owners); err != nil {
		return fmt.Errorf("%s: %w", h.Key, err)
	}
	h.Generations, h.Summaries = slices.Clone(h.Generations), slices.Clone(h.Summaries)
	for i := range h.Generations {
		h.Generations[i].Began = rules.Time(h.Generations[i].Began)
	}
	for i, s := range h.Summaries {
		h.Summaries[i] = rules.Summary(s)
	}
	c.head, c.headed = h, true
	return nil
}

func (p *plan) addMessages(r sessions.MessagesRecord) error {
	if r.Key.IsZero() {
		return errors.New("messages without a key")
	}
	c, size := p.chat(r.Key), 0
	stretch := make([]sessions.Message, 0, len(r.Messages))
	for _, m := range r.Messages {
		m = rules.Message(m, p.now)
		if err := c.number(&m); err != nil {
			return fmt.Errorf("%s: %w", r.Key, err)
		}
		stretch, size = append(stretch, m), size+rules.Bytes(m)+200
	}
	if len(stretch) == 0 {
		return nil
	}
	c.bytes += size
	c.stretches = append(c.stretches, p.spool.Len())
	return p.spool.Add(stretch, size)
}

// messages yields the messages of c in stretches, in order. The caller must not
// change anything that they point to.
func (p *plan) messages(c *chatPlan) iter.Seq2[[]sessions.Message, error] {
	return func(yield func([]sessions.Message, error) bool) {
		for _, i := range c.stretches {
			if stretch, err := p.spool.At(i); !yield(stretch, err) || err != nil {
				return
			}
		}
	}
}

// addInbox refuses a record that no store can have written.
func (p *plan) addInbox(r sessions.InboxRecord) error {
	known := []string{rules.InWaiting, rules.InDone, rules.InClosed, rules.InDropped, rules.InWithdrawn, rules.InEdit}
	switch {
	case r.Inbound.Key.IsZero() || r.Inbound.ID == "" || r.Seq <= 0 || r.Seq >= 1<<31:
		return errors.New("an inbox record without key, id or seq")
	case !slices.Contains(known, r.State):
		return fmt.Errorf("an inbox record with the state %q", r.State)
	case r.State != rules.InWaiting && r.Turn != "" || r.Turn == "" && len(r.Steps) > 0:
		return errors.New("an inbox record with an impossible turn")
	}
	r.Inbound = rules.FormerInbound(rules.Inbound(r.Inbound))
	r.Turn = rules.Text(r.Turn)
	r.Why = rules.Text(r.Why)
	r.Job = rules.Text(r.Job)
	r.Due = rules.Time(r.Due)
	r.Accepted = rules.Time(r.Accepted)
	r.JobDue = rules.Time(r.JobDue)
	if r.Source == "" {
		r.Source = sessions.SourceChat
	}
	c := p.chat(r.Inbound.Key)
	for _, s := range r.Steps {
		c.steps = append(c.steps, rows.Step{Turn: r.Turn, Step: rules.Step(s, s.At)})
	}
	r.Steps = nil
	c.inbox = append(c.inbox, r)
	return p.unique("the message", rules.Dedupe(r.Inbound))
}

// addOutbox refuses a record that no store can have written.
func (p *plan) addOutbox(r sessions.OutboxRecord) error {
	known := []sessions.DeliveryState{
		sessions.DeliveryQueued, sessions.DeliverySending, sessions.DeliveryUnknown,
		sessions.DeliverySent, sessions.DeliveryDead, sessions.DeliveryDropped,
	}
	switch {
	case r.Key.IsZero() || r.ID == "" || r.Seq <= 0 || r.Seq >= 1<<31:
		return errors.New("an outbox record without key, id or seq")
	case !slices.Contains(known, r.State):
		return fmt.Errorf("an outbox record with the state %q", r.State)
	}
	for _, s := range []*string{&r.ID, &r.Text, &r.ReplyTo, &r.Edit, &r.Error, &r.MessageID} {
		*s = rules.Text(*s)
	}
	r = rules.Former(r)
	r.Label = rules.Label(r.Label)
	r.Created, r.NotBefore = rules.Time(r.Created), rules.Time(r.NotBefore)
	c := p.chat(r.Key)
	c.outbox = append(c.outbox, r)
	return p.unique("the delivery", r.ID)
}
