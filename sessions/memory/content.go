package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// newChat is a chat of which only the head is here.
func newChat(h Head) *chat {
	c := &chat{key: h.Key, seq: h.Seq, msgSeq: h.MessageSeq, steps: map[string][]sessions.Step{}}
	if v := h.Conversation; v != nil {
		c.conv = &conversation{
			from: v.From, title: v.Title, created: v.Created, updated: v.Updated, order: v.Order,
			count: v.Messages, usage: v.Usage, settings: v.Settings, generations: v.Generations,
		}
		if n := len(v.Generations); n > 0 {
			c.conv.generation = v.Generations[n-1].ID
		}
	}
	return c
}

func (c *chat) head() Head {
	h := Head{Key: c.key, Seq: c.seq, MessageSeq: c.msgSeq, Open: c.open()}
	if v := c.conv; v != nil {
		h.Conversation = &ConvHead{
			Title: v.title, Created: rules.Time(v.created), Updated: rules.Time(v.updated), Order: v.order, From: v.from,
			Messages: v.count, Usage: v.usage, Settings: rules.Settings(v.settings), Generations: slices.Clone(v.generations),
		}
	}
	return h
}

// open reports whether something in c waits, is to be sent, or is dead, which
// the operator is shown. Of a chat that is not loaded nothing is open.
func (c *chat) open() bool {
	return slices.ContainsFunc(c.in, (*inRow).open) || slices.ContainsFunc(c.out, (*outRow).open)
}

func (r *inRow) open() bool  { return openIn(r.state) }
func (o *outRow) open() bool { return openOut(o.State) }

func openIn(state string) bool { return state == rules.InWaiting }

func openOut(state sessions.DeliveryState) bool {
	return rules.Unsent(state) || state == sessions.DeliveryDead
}

// content is what is here of c.
func (c *chat) content() Content {
	content := Content{Journals: map[string][]sessions.Step{}}
	if c.conv != nil {
		content.Messages, content.Summaries = slices.Clone(c.conv.messages), slices.Clone(c.conv.summaries)
	}
	for _, r := range c.in {
		content.In = append(content.In, r.image())
	}
	for _, o := range c.out {
		content.Out = append(content.Out, o.record())
	}
	for turn, steps := range c.steps {
		content.Journals[turn] = slices.Clone(steps)
	}
	return content
}

// chat returns what is known of k, loaded, making it if nothing is known.
func (s *Store) chat(k channels.Key) (*chat, error) {
	c := s.chats[k]
	if c == nil {
		c = &chat{key: k, steps: map[string][]sessions.Step{}, loaded: true, whole: true}
		s.chats[k] = c
	}
	return c, s.load(c)
}

// peek returns what is known of k, loaded, or nil.
func (s *Store) peek(k channels.Key) (*chat, error) {
	c := s.chats[k]
	if c == nil {
		return nil, nil
	}
	if err := s.load(c); err != nil {
		return nil, err
	}
	return c, nil
}

// whole is peek with everything there is.
func (s *Store) whole(k channels.Key) (*chat, error) {
	c, err := s.peek(k)
	if c == nil {
		return nil, err
	}
	if err := s.fill(c); err != nil {
		return nil, err
	}
	return c, nil
}

// load makes sure that what is open in c and its newest messages are here.
func (s *Store) load(c *chat) error {
	if s.disk == nil {
		return nil
	}
	c.used = s.now()
	if c.loaded {
		return nil
	}
	content, err := s.disk.Content(c.key, false)
	if err != nil {
		return err
	}
	s.take(c, content)
	c.loaded = true
	return nil
}

// fill makes sure that everything of c is here.
func (s *Store) fill(c *chat) error {
	if s.disk == nil {
		return nil
	}
	c.used, c.read = s.now(), true
	if c.whole {
		return nil
	}
	content, err := s.disk.Content(c.key, true)
	if err != nil {
		return err
	}
	s.take(c, content)
	c.loaded, c.whole = true, true
	return nil
}

// fillTries is how often something may come between before all of a
// conversation is read under the lock.
const fillTries = 3

// filled runs f under the lock, with all of k in memory unless enough is
// content with what is here. What is missing is read without the lock, which
// in a long conversation takes a while. Without a transcript f is not run.
func (s *Store) filled(ctx context.Context, what string, k channels.Key, enough func(*chat) bool, f func(*chat) error) error {
	for try := 0; ; try++ {
		var c *chat
		var touched int64
		done := true
		err := s.read(ctx, what, func() (err error) {
			if c, err = s.peek(k); err != nil || c == nil || c.conv == nil {
				return err
			}
			if done = s.disk == nil || c.whole || enough(c); done {
				return f(c)
			}
			if done = try == fillTries; done {
				if err := s.fill(c); err != nil {
					return err
				}
				return f(c)
			}
			touched = c.touched
			s.outside.Add(1)
			return nil
		})
		if err != nil || done {
			return err
		}
		content, err := s.disk.Content(k, true)
		s.outside.Done()
		if err != nil {
			return s.wrap(what, err)
		}
		err = s.read(ctx, what, func() error {
			if s.chats[k] == c && c.touched == touched && c.loaded && !c.whole {
				s.take(c, content)
				c.whole, c.read, c.used = true, true, s.now()
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// look is all of c, without keeping it in memory.
func (s *Store) look(c *chat) (*chat, error) {
	if s.disk == nil || c.whole {
		return c, nil
	}
	content, err := s.disk.Content(c.key, true)
	if err != nil {
		return nil, err
	}
	copied := *c
	if c.conv != nil {
		conv := *c.conv
		copied.conv = &conv
	}
	copied.steps = maps.Clone(c.steps)
	s.take(&copied, content)
	return &copied, nil
}

// take adds content to what is here of c, which is newer where both have it.
func (s *Store) take(c *chat, content Content) {
	in := map[int64]bool{}
	for _, r := range c.in {
		in[r.seq] = true
	}
	// The rows are put into a new slice: look shares the old one.
	rows := slices.Clone(c.in)
	for _, r := range content.In {
		if !in[r.Seq] {
			rows = append(rows, s.inRow(r))
		}
	}
	slices.SortFunc(rows, func(a, b *inRow) int { return cmp.Compare(a.seq, b.seq) })
	out := map[string]bool{}
	for _, o := range c.out {
		out[o.ID] = true
	}
	deliveries := slices.Clone(c.out)
	for _, o := range content.Out {
		if !out[o.ID] {
			deliveries = append(deliveries, &outRow{Delivery: o.Delivery, uncertain: o.Uncertain, messageID: o.MessageID})
		}
	}
	slices.SortFunc(deliveries, func(a, b *outRow) int { return cmp.Compare(a.Seq, b.Seq) })
	c.in, c.out = rows, deliveries
	if !c.loaded && len(content.Journals) > 0 {
		c.steps = content.Journals
	}
	if c.conv == nil {
		return
	}
	if !c.loaded {
		c.conv.summaries = content.Summaries
	}
	first := c.msgSeq + 1
	if len(c.conv.messages) > 0 {
		first = c.conv.messages[0].Seq
	}
	older := slices.DeleteFunc(content.Messages, func(m sessions.Message) bool { return m.Seq >= first })
	c.conv.messages = slices.Concat(older, c.conv.messages)
}

func (s *Store) inRow(r InRow) *inRow {
	row := &inRow{
		n: r.ID, seq: r.Seq, rev: r.Rev, inbound: r.Inbound, origin: r.Origin, state: r.State, turn: r.Turn,
		attempts: r.Attempts, due: r.Due, accepted: r.Accepted, why: r.Why,
	}
	if r.Job != "" {
		row.fired = s.occurrence(r.Job, r.JobDue)
	}
	return row
}
