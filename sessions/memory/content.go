package memory

import (
	"cmp"
	"context"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// newChat is a chat of which only the head is here.
func newChat(h Head) *chat {
	c := &chat{key: h.Key, seq: h.Seq, msgSeq: h.MessageSeq, steps: map[string][]sessions.Step{}}
	if v := h.Conversation; v != nil {
		c.conv = &conversation{generations: v.Generations, Conversation: rows.Conversation{
			From: v.From, Title: v.Title, Created: v.Created, Updated: v.Updated, Messages: v.Messages, Usage: v.Usage, Settings: v.Settings, Erasures: v.Erasures,
		}}
		if n := len(v.Generations); n > 0 {
			c.conv.Generation = v.Generations[n-1].ID
		}
	}
	return c
}

func (c *chat) head() Head {
	h := Head{Key: c.key, Seq: c.seq, MessageSeq: c.msgSeq, Open: c.open()}
	if v := c.conv; v != nil {
		h.Conversation = &ConvHead{
			Title: v.Title, Created: rules.Time(v.Created), Updated: rules.Time(v.Updated), From: v.From,
			Messages: v.Messages, Usage: v.Usage, Settings: rules.Settings(v.Settings), Erasures: v.Erasures, Generations: slices.Clone(v.generations),
		}
	}
	return h
}

// covered is up to where summaries stand for messages.
func covered(summaries []sessions.Summary) int64 {
	if n := len(summaries); n > 0 {
		return summaries[n-1].CoversSeq
	}
	return 0
}

// content is what is here of c.
func (c *chat) content() Content {
	content := Content{Journals: map[string][]sessions.Step{}}
	if c.conv != nil {
		content.Messages, content.Summaries = slices.Clone(c.conv.messages), slices.Clone(c.conv.summaries)
	}
	for _, r := range c.in {
		content.In = append(content.In, *r)
	}
	for _, o := range c.out {
		content.Out = append(content.Out, o.OutboxRecord)
	}
	for turn, steps := range c.steps {
		content.Journals[turn] = slices.Clone(steps)
	}
	return content
}

// chat returns what is known of k, loaded, making it if nothing is known.
func (b *backend) chat(k channels.Key) (*chat, error) {
	c := b.chats[k]
	if c == nil {
		c = &chat{key: k, steps: map[string][]sessions.Step{}, loaded: true, whole: true}
		b.chats[k] = c
	}
	return c, b.load(c)
}

// load makes sure that what is open in c and its newest messages are here.
func (b *backend) load(c *chat) error {
	if b.disk == nil {
		return nil
	}
	c.used = b.now()
	if c.loaded {
		return nil
	}
	content, err := b.disk.Content(c.key, false)
	if err != nil {
		return err
	}
	if _, frozen := b.disk.(frozenDisk); frozen {
		if b.last != nil {
			b.last.release()
		}
		b.last, c.whole = c, true
	}
	c.take(content)
	c.loaded = true
	return nil
}

// fill makes sure that everything of c is here.
func (b *backend) fill(c *chat) error {
	if err := b.load(c); err != nil || b.disk == nil {
		return err
	}
	c.read = true
	if c.whole {
		return nil
	}
	content, err := b.disk.Content(c.key, true)
	if err != nil {
		return err
	}
	c.take(content)
	c.whole = true
	return nil
}

// look is all of c, without keeping it in memory.
func (b *backend) look(c *chat) (*chat, error) {
	if b.disk == nil || c.whole {
		return c, nil
	}
	content, err := b.disk.Content(c.key, true)
	if err != nil {
		return nil, err
	}
	all := c.copied()
	all.take(content)
	return all, nil
}

// fillTries is how often something may come between before all of a
// conversation is read under the lock.
const fillTries = 3

// gathered runs f under the lock of r, with all of k unless enough is content
// with what is in memory. What is missing is read without the lock, which in a
// long conversation takes a while, and kept in memory unless once is set. Without
// a transcript f is not run.
func (r reader) gathered(ctx context.Context, k channels.Key, once bool, enough func(*chat) bool, f func(*chat)) error {
	for try := 0; ; try++ {
		var c *chat
		var touched int64
		done := true
		err := r.do(ctx, func() (err error) {
			if c = r.b.chats[k]; c == nil || c.conv == nil {
				return nil
			}
			if err = r.b.load(c); err != nil {
				return err
			}
			if done = r.b.disk == nil || c.whole || enough(c); done {
				f(c)
				return nil
			}
			if done = try == fillTries || r.inside; done {
				all, err := r.b.look(c)
				if err == nil {
					f(all)
				}
				return err
			}
			touched = c.touched
			r.b.outside.Add(1)
			return nil
		})
		if err != nil || done {
			return err
		}
		if done, err = r.b.gather(c, touched, once, f); err != nil || done {
			return err
		}
	}
}

// gather is the part of gathered without the lock. It reports whether f was
// run: not if something changed meanwhile. A store that is closed meanwhile
// waits for it.
func (b *backend) gather(c *chat, touched int64, once bool, f func(*chat)) (done bool, err error) {
	defer b.outside.Done()
	content, err := b.disk.Content(c.key, true)
	if err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken || b.chats[c.key] != c || c.touched != touched || !c.loaded {
		return false, nil
	}
	if once && !c.whole {
		c = c.copied()
		c.take(content)
	} else if !c.whole {
		c.take(content)
		c.whole, c.read, c.used = true, true, b.now()
	}
	f(c)
	return true, nil
}

// copied is c, to be filled.
func (c *chat) copied() *chat {
	own := *c
	if c.conv != nil {
		conv := *c.conv
		own.conv = &conv
	}
	return &own
}

// take adds content to what is here of c, which is newer where both have it.
// Slices are made anew: look shares the old ones.
func (c *chat) take(content Content) {
	in := map[int64]bool{}
	for _, r := range c.in {
		in[r.Seq] = true
	}
	list := slices.Clone(c.in)
	for _, r := range content.In {
		if !in[r.Seq] {
			list = append(list, &r)
		}
	}
	slices.SortFunc(list, func(a, b *rows.In) int { return cmp.Compare(a.Seq, b.Seq) })
	out := map[string]bool{}
	for _, o := range c.out {
		out[o.ID] = true
	}
	deliveries := slices.Clone(c.out)
	for _, o := range content.Out {
		if !out[o.ID] {
			deliveries = append(deliveries, &rows.Out{OutboxRecord: o})
		}
	}
	slices.SortFunc(deliveries, func(a, b *rows.Out) int { return cmp.Compare(a.Seq, b.Seq) })
	c.in, c.out = list, deliveries
	if !c.loaded && len(content.Journals) > 0 {
		c.steps = content.Journals
	}
	if c.conv == nil {
		return
	}
	if !c.loaded {
		c.conv.summaries = content.Summaries
		c.conv.Covers = covered(content.Summaries)
	}
	first := c.msgSeq + 1
	if len(c.conv.messages) > 0 {
		first = c.conv.messages[0].Seq
	}
	older := slices.DeleteFunc(content.Messages, func(m sessions.Message) bool { return m.Seq >= first })
	c.conv.messages = slices.Concat(older, c.conv.messages)
}
