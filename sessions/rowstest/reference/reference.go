// Package reference is the simplest backend of package rows that is right: tables in memory.
// It shows what a backend has to do, and package rowstest compares all backends with it. A
// new backend begins as a copy of it.
//
// It is for tests alone: it forgets everything when the process ends, and each step copies
// all rows of its keys.
package reference

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// backend is the state in memory with the locks that the contract asks for.
type backend struct {
	reader
	dispatch.Leases
	work     *dispatch.Dispatcher
	updating sync.Mutex
	// The current state never changes: an update computes the next one from it. So a reader
	// keeps the state that it began with, and an update that fails has changed nothing.
	current atomic.Pointer[state]
}

// New makes an empty backend. A nil now is time.Now.
func New(now func() time.Time) rows.Backend {
	b := &backend{work: dispatch.New(dispatch.Options{Now: now})}
	b.reader.now = b.current.Load
	about := rows.Record{Store: &rows.Store{Name: rand.Text()[:8], Days: map[string]int64{}}}
	b.current.Store(&state{map[name]rows.Record{{}: about}, map[channels.Key]chat{}})
	return b
}

func (b *backend) Update(_ context.Context, _ []channels.Key, f func(rows.Reader) (rows.Changes, error)) (err error) {
	b.updating.Lock()
	defer b.updating.Unlock()
	defer rules.Recover(&err)
	before := b.current.Load()
	changes, err := f(reader{now: b.current.Load, claim: b.work.Claim})
	if err != nil {
		return err
	}
	after, err := before.apply(changes)
	if err != nil {
		return err
	}
	b.current.Store(after)
	var items []dispatch.Item
	for _, ch := range changes.Chats {
		items = append(items, news(before.chats[ch.Key], after.chats[ch.Key])...)
	}
	b.work.Apply(items, changes.Fenced)
	return nil
}

// news is what the dispatcher has to know when a chat changes.
func news(before, after chat) (items []dispatch.Item) {
	was := before.open()
	for place, it := range after.open() {
		if was[place] != it {
			items = append(items, it)
		}
		delete(was, place)
	}
	for _, it := range was {
		it.Gone = true
		items = append(items, it)
	}
	return items
}

// open are the items of the rows that wait or are to be sent, by their lane and seq.
func (c chat) open() map[dispatch.Item]dispatch.Item {
	items := map[dispatch.Item]dispatch.Item{}
	for _, r := range c.in {
		if it := dispatch.In(&r); !it.Gone {
			items[dispatch.Item{Lane: it.Lane, Seq: it.Seq}] = it
		}
	}
	for _, o := range c.out {
		if it := dispatch.Out(&o.OutboxRecord); !it.Gone {
			items[dispatch.Item{Lane: it.Lane, Seq: it.Seq}] = it
		}
	}
	return items
}

func (b *backend) Snapshot(_ context.Context, f func(rows.Reader) error) error {
	s := b.current.Load()
	return f(reader{now: func() *state { return s }})
}

func (b *backend) Stats(ctx context.Context) (sessions.Stats, error) {
	st := b.work.Stats()
	for o := range b.Outbox(ctx, channels.Key{}, rows.QueueFilter{Open: true}) {
		if o.State == sessions.DeliveryDead {
			st.Dead++
		}
	}
	for range b.Records(ctx, rows.Record{Quarantined: &sessions.QuarantineRecord{}, Kept: true}) {
		st.Quarantined++
	}
	return st, nil
}

func (b *backend) Run(ctx context.Context, h sessions.Handler) error { return b.work.Run(ctx, h) }
func (b *backend) Live(c sessions.Claim) error                       { return b.work.Check(c) }
func (b *backend) Check(context.Context) error                       { return nil }
func (b *backend) Close() error                                      { return nil }

// state is everything that is stored at one time.
type state struct {
	records map[name]rows.Record
	chats   map[channels.Key]chat
}

// chat has the rows of a key, sorted by seq, and the steps as they came.
type chat struct {
	rows.Head
	in       []rows.In
	out      []rows.Out
	messages []sessions.Message
	steps    []rows.Step
}

func inBySeq(a, b rows.In) int               { return cmp.Compare(a.Seq, b.Seq) }
func outBySeq(a, b rows.Out) int             { return cmp.Compare(a.Seq, b.Seq) }
func messageBySeq(a, b sessions.Message) int { return cmp.Compare(a.Seq, b.Seq) }

// put adds v to a sorted list, or replaces the row with its seq.
func put[T any](list *[]T, v T, bySeq func(a, b T) int) {
	i, found := slices.BinarySearchFunc(*list, v, bySeq)
	if found {
		(*list)[i] = v
		return
	}
	*list = slices.Insert(*list, i, v)
}

// name is the kind of a record and up to three parts of its name, "" if they are zero. That
// of the Store is empty.
type name [4]string

func nameOf(r rows.Record) name {
	number := func(n int64) string { return strings.TrimPrefix(fmt.Sprintf("%020d", n), strings.Repeat("0", 20)) }
	switch {
	case r.Store != nil:
		return name{}
	case r.Generation != nil && r.Generation.FirstSeq == 0: // an example
		return name{"generation", r.Generation.Key.String()}
	case r.Generation != nil:
		return name{"generation", r.Generation.Key.String(), number(r.Generation.FirstSeq) + r.Generation.ID}
	case r.Summary != nil:
		return name{"summary", r.Summary.Key.String(), number(r.Summary.CoversSeq)}
	case r.Mark != nil:
		return name{"mark", *r.Mark}
	case r.Fact != nil:
		return name{"fact", r.Fact.Scope, number(r.Fact.ID)}
	case r.Pairing != nil:
		return name{"pairing", r.Pairing.Channel, r.Pairing.PersonID}
	case r.Job != nil:
		return name{"job", r.Job.Job}
	case r.Occurrence != nil:
		due := r.Occurrence.Due.UTC().Format("2006-01-02T15:04:05.000000000")
		return name{"occurrence", r.Occurrence.Job, strings.TrimPrefix(due, "0001-01-01T00:00:00.000000000")}
	case r.Note != nil:
		return name{"note", r.Note.Kind, r.Note.Owner, r.Note.Name}
	case r.Count != nil:
		return name{"count", r.Count.Kind, r.Count.Owner, r.Count.Day}
	}
	return name{"quarantined", r.Quarantined.Channel, r.Quarantined.ID}
}

func (s *state) put(r rows.Record) { s.records[nameOf(r)] = r }

// apply returns the state after some changes.
func (s *state) apply(changes rows.Changes) (*state, error) {
	s = &state{maps.Clone(s.records), maps.Clone(s.chats)}
	for _, ch := range changes.Chats {
		if err := s.chat(ch); err != nil {
			return nil, err
		}
	}
	for _, r := range changes.Removed {
		gone := nameOf(r)
		maps.DeleteFunc(s.records, func(n name, _ rows.Record) bool {
			return n == gone || r.Fact != nil && r.Fact.ID == 0 && n[0] == gone[0] && n[1] == gone[1]
		})
	}
	about := *s.records[name{}].Store
	about.Days = maps.Clone(about.Days)
	for _, r := range changes.Records {
		switch {
		case r.Store != nil:
			maps.Copy(about.Days, r.Store.Days)
			continue
		case r.Fact != nil:
			about.LastFact = max(about.LastFact, r.Fact.ID)
		}
		s.put(r)
	}
	for _, c := range changes.Add {
		s.add(c)
	}
	s.mark(changes.Marks)
	if changes.Name != nil {
		about.Name = *changes.Name
	}
	s.put(rows.Record{Store: &about})
	return s, nil
}

// add adds c to its sum.
func (s *state) add(c sessions.Count) {
	sum := rows.Record{Count: &c}
	if old, found := s.records[nameOf(sum)]; found {
		c.N += old.Count.N
	}
	if c.N == 0 {
		delete(s.records, nameOf(sum))
		return
	}
	s.put(sum)
}

func (s *state) mark(marks []string) {
	for _, mark := range marks {
		s.put(rows.Record{Mark: &mark})
	}
}

// own returns a copy of a chat, to be changed.
func (s *state) own(k channels.Key) chat {
	c := s.chats[k]
	return chat{c.Head, slices.Clone(c.in), slices.Clone(c.out), slices.Clone(c.messages), slices.Clone(c.steps)}
}

// chat applies the change of one key.
func (s *state) chat(ch *rows.Chat) error {
	c := s.own(ch.Key)
	for _, m := range ch.Moves {
		if !ch.Gone {
			s.move(&c, ch.Key, m)
		}
	}
	s.remove(&c, ch)
	if ch.Gone {
		delete(s.chats, ch.Key)
		return nil
	}
	c.Head = ch.Head
	for _, p := range ch.In {
		r := p.In
		if i, found := slices.BinarySearchFunc(c.in, r, inBySeq); found && !p.Fresh {
			r.Inbound = c.in[i].Inbound
		}
		r.Inbound.Key, r.Inbound.Reaction = ch.Key, ""
		put(&c.in, r, inBySeq)
	}
	for _, o := range ch.Out {
		o.Key = ch.Key
		if o.ID == "" {
			o.ID = rand.Text()
		}
		put(&c.out, rows.Out{OutboxRecord: o.OutboxRecord}, outBySeq)
	}
	for list, err := range ch.Added() {
		if err != nil {
			return err
		}
		for _, m := range list {
			put(&c.messages, rules.Clone(m), messageBySeq)
		}
	}
	for _, m := range ch.Rewritten {
		put(&c.messages, rules.Clone(m), messageBySeq)
	}
	for _, g := range ch.Begun {
		s.put(rows.Record{Generation: &rows.Generation{Key: ch.Key, Generation: g}})
	}
	for _, sum := range ch.Summaries {
		s.put(rows.Record{Summary: &rows.Summary{Key: ch.Key, Summary: sum}})
	}
	c.steps = append(c.steps, ch.Steps...)
	s.chats[ch.Key] = c
	return nil
}

// remove removes what ch does from c.
func (s *state) remove(c *chat, ch *rows.Chat) {
	c.in = slices.DeleteFunc(c.in, func(r rows.In) bool {
		gone := ch.Gone || ch.DropFinished && r.State != rules.InWaiting || slices.Contains(ch.Drop, r.Seq)
		if gone {
			s.mark(rules.Marks(r.Inbound))
		}
		return gone
	})
	c.out = slices.DeleteFunc(c.out, func(o rows.Out) bool { return ch.DropFinished && !rules.Unsent(o.State) })
	c.steps = slices.DeleteFunc(c.steps, func(st rows.Step) bool { return slices.Contains(ch.Ended, st.Turn) })
	for _, covers := range ch.Forget {
		delete(s.records, nameOf(rows.Record{Summary: &rows.Summary{Key: ch.Key, Summary: sessions.Summary{CoversSeq: covers}}}))
	}
	if ch.Cleared {
		c.messages = nil
	}
	if ch.Gone || ch.Cleared || ch.Reset {
		s.reset(ch.Key)
	}
}

// reset removes the generations and summaries of k.
func (s *state) reset(k channels.Key) {
	maps.DeleteFunc(s.records, func(n name, _ rows.Record) bool {
		return (n[0] == "generation" || n[0] == "summary") && n[1] == k.String()
	})
}

// move gives c, which is called k, the rows of another key, or its own under other seqs.
func (s *state) move(c *chat, k channels.Key, m rows.Move) {
	from := *c
	if m.From == k {
		*c = chat{steps: c.steps}
	} else {
		from = s.own(m.From)
		s.chats[m.From] = chat{Head: from.Head}
		s.reset(m.From)
		c.steps = slices.DeleteFunc(c.steps, func(st rows.Step) bool {
			return slices.ContainsFunc(from.steps, func(theirs rows.Step) bool { return theirs.Turn == st.Turn })
		})
		c.steps = append(c.steps, from.steps...)
	}
	for _, r := range from.in {
		r.Seq += m.Queues
		r.Inbound.Key = k
		put(&c.in, r, inBySeq)
	}
	for _, o := range from.out {
		o.Seq += m.Queues
		o.Key = k
		put(&c.out, o, outBySeq)
	}
	for _, msg := range from.messages {
		msg.Seq += m.Message
		put(&c.messages, msg, messageBySeq)
	}
}
