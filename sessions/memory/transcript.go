package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// conversation is the transcript of a key.
type conversation struct {
	generation string
	from       int64 // the generation's messages have a Seq above this
	title      string
	created    time.Time
	updated    time.Time
	order      int64              // grows with each update
	count      int                // of messages over all generations
	messages   []sessions.Message // all of them, or the newest if the chat is not whole
	summaries  []sessions.Summary // of the current generation
	usage      sessions.Usage
	settings   sessions.Settings
	// generations are all of them, the current one last, without LastSeq.
	generations []sessions.Generation
}

// nextGeneration hands out an id that no generation of the store had before.
func (s *Store) nextGeneration(now time.Time) string {
	day := rules.Day(now)
	s.days[day]++
	return rules.Generation(day, s.days[day])
}

// appendMessages adds to the transcript of c, beginning it if there is none.
// Without messages it touches nothing.
func (s *Store) appendMessages(ch *change, c *chat, turn string, messages []sessions.Message) {
	if len(messages) == 0 {
		return
	}
	ch.touch(c)
	if c.conv == nil {
		c.conv = &conversation{created: ch.now}
	}
	if c.conv.generation == "" {
		s.beginGeneration(ch, c)
	}
	conv := c.conv
	for _, m := range messages {
		m = rules.Message(m, ch.now)
		c.msgSeq++
		m.Seq, m.Turn = c.msgSeq, cmp.Or(m.Turn, turn)
		if m.Usage != nil {
			conv.usage.Add(*m.Usage)
		}
		conv.messages = append(conv.messages, m)
		conv.count++
	}
	s.touch(ch, conv)
}

// touch says that conv was updated now. A clock that was set back takes nobody
// back: retention goes by this time.
func (s *Store) touch(ch *change, conv *conversation) {
	s.updates++
	conv.updated, conv.order = rules.Latest(conv.updated, ch.now), s.updates
}

// newGeneration begins a generation in a conversation that exists.
func (s *Store) newGeneration(ch *change, c *chat) {
	if c.conv == nil || c.conv.generation == "" {
		return // nothing was said yet: the first message begins one
	}
	ch.touch(c).summaries = true
	s.beginGeneration(ch, c)
	s.touch(ch, c.conv)
}

func (s *Store) beginGeneration(ch *change, c *chat) {
	ch.days = true
	c.conv.generation, c.conv.from, c.conv.summaries = s.nextGeneration(ch.now), c.msgSeq, nil
	c.conv.generations = append(c.conv.generations, sessions.Generation{ID: c.conv.generation, FirstSeq: c.msgSeq + 1, Began: rules.Time(ch.now)})
}

// reset begins a new generation if nothing was said since before. An empty
// generation is as good as a new one.
func (s *Store) reset(ch *change, c *chat, before time.Time) {
	if c.conv != nil && c.conv.from < c.msgSeq && c.conv.updated.Before(before) {
		s.newGeneration(ch, c)
	}
}

// History is part of [sessions.Transcript].
func (s *Store) History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (h sessions.History, err error) {
	enough := func(c *chat) bool {
		after := c.summarised()
		newest, oldest := c.newest(after, limit)
		return newest > 0 || oldest <= after+1
	}
	err = s.filled(ctx, "history", k, enough, func(c *chat) error {
		h.Generation, h.Settings, h.FirstSeq = c.conv.generation, rules.Settings(c.conv.settings), c.conv.from+1
		if n := len(c.conv.summaries); n > 0 {
			newest := rules.Summary(c.conv.summaries[n-1])
			h.Summary = &newest
		}
		after := c.summarised()
		newest, oldest := c.newest(after, limit)
		for _, m := range c.conv.messages[newest:] {
			h.Messages = append(h.Messages, rules.Clone(m))
		}
		h.Omitted = int(oldest - after - 1)
		return nil
	})
	return h, err
}

// summarised is the last Seq before those messages that a turn starts from:
// what the newest summary covers, or the generations before.
func (c *chat) summarised() int64 {
	if n := len(c.conv.summaries); n > 0 {
		return c.conv.summaries[n-1].CoversSeq
	}
	return c.conv.from
}

// newest finds where the newest messages begin that have a Seq above after and
// fit the limit: their index, and the Seq of the first of them.
func (c *chat) newest(after int64, limit sessions.HistoryLimit) (from int, oldest int64) {
	all := c.conv.messages
	from, oldest = len(all), c.msgSeq+1
	for bytes := 0; from > 0 && all[from-1].Seq > after; from-- {
		m := all[from-1]
		bytes += rules.Bytes(m)
		if limit.Messages > 0 && len(all)-from == limit.Messages || limit.Bytes > 0 && bytes > limit.Bytes {
			break
		}
		oldest = m.Seq
	}
	return from, oldest
}

// AddSummary is part of [sessions.Transcript].
func (s *Store) AddSummary(ctx context.Context, k channels.Key, sum sessions.Summary) error {
	return s.update(ctx, "add summary", func(ch *change) error {
		c, err := s.peek(k)
		if err != nil {
			return err
		}
		if c == nil || c.conv == nil || c.conv.generation != sum.Generation {
			return fmt.Errorf("%w: generation %q is not the current one", sessions.ErrConflict, sum.Generation)
		}
		after := c.conv.from
		if n := len(c.conv.summaries); n > 0 {
			after = c.conv.summaries[n-1].CoversSeq
		}
		if sum.CoversSeq <= after || sum.CoversSeq > c.msgSeq {
			return fmt.Errorf("%w: the summary covers up to %d, possible are %d to %d", sessions.ErrConflict, sum.CoversSeq, after+1, c.msgSeq)
		}
		if !sum.Read.IsZero() && !sum.Read.After(s.rewritten[k]) {
			return fmt.Errorf("%w: messages were erased since the summary was begun", sessions.ErrConflict)
		}
		sum.Read = time.Time{}
		if sum = rules.Summary(sum); sum.At.IsZero() {
			sum.At = rules.Time(ch.now)
		}
		ch.touch(c).summaries = true
		c.conv.summaries = append(c.conv.summaries, sum)
		return nil
	})
}

// conversation finds the transcript of k. Errors: ErrNotFound.
func (s *Store) conversation(k channels.Key) (*chat, error) {
	if c := s.chats[k]; c != nil && c.conv != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%w: conversation %s", sessions.ErrNotFound, k)
}

// page cuts at most limit items out of all, from offset on.
func page[T any](all []T, offset, limit int) []T {
	from := min(max(offset, 0), len(all))
	return all[from : from+min(max(limit, 0), len(all)-from)]
}

// Messages is part of [sessions.Archive].
func (s *Store) Messages(ctx context.Context, k channels.Key, after int64, limit int) (ms []sessions.Message, err error) {
	enough := func(c *chat) bool {
		here := c.conv.messages
		return len(here) == c.conv.count || len(here) > 0 && here[0].Seq <= after+1
	}
	err = s.filled(ctx, "messages", k, enough, func(c *chat) error {
		first := sort.Search(len(c.conv.messages), func(i int) bool { return c.conv.messages[i].Seq > after })
		for _, m := range page(c.conv.messages, first, limit) {
			ms = append(ms, rules.Clone(m))
		}
		return nil
	})
	return ms, err
}

// Lookup is part of [sessions.Archive].
func (s *Store) Lookup(ctx context.Context, k channels.Key, l sessions.Lookup) (sessions.Hits, error) {
	said, err := s.said(ctx, "search", k)
	if err != nil {
		return sessions.Hits{}, err
	}
	hits := rules.Lookup(said, l)
	for i, m := range hits.Messages {
		hits.Messages[i] = rules.Clone(m)
	}
	return hits, nil
}

// Rename is part of [sessions.Archive].
func (s *Store) Rename(ctx context.Context, k channels.Key, title string) error {
	return s.update(ctx, "rename", func(ch *change) error {
		c, err := s.conversation(k)
		if err == nil {
			ch.touch(c)
			c.conv.title = rules.Text(title)
		}
		return err
	})
}

// Delete is part of [sessions.Archive].
func (s *Store) Delete(ctx context.Context, k channels.Key) error {
	return s.update(ctx, "delete", func(ch *change) error {
		c, err := s.whole(k)
		if err != nil {
			return err
		}
		if c == nil || c.conv == nil && !slices.ContainsFunc(c.in, (*inRow).done) && !slices.ContainsFunc(c.out, (*outRow).done) {
			return fmt.Errorf("%w: conversation %s", sessions.ErrNotFound, k)
		}
		s.forget(ch, c)
		return nil
	})
}

// forget removes the transcript of c and what is done of its queues. What is
// left is written anew, so all of c has to be here.
func (s *Store) forget(ch *change, c *chat) {
	n := ch.touch(c)
	n.anew, n.deleted = true, true
	for _, r := range c.in {
		if r.done() {
			s.eraseIn(ch, r, map[string]bool{})
		}
	}
	c.in = slices.DeleteFunc(slices.Clone(c.in), (*inRow).done)
	c.out = slices.DeleteFunc(slices.Clone(c.out), (*outRow).done)
	c.conv = nil
}

func (r *inRow) done() bool  { return r.state != rules.InWaiting }
func (o *outRow) done() bool { return !rules.Unsent(o.State) }
