package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/dispatch"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// applied is what came of changes: for the dispatcher, and for the disk.
type applied struct {
	items  []dispatch.Item
	fenced []channels.Key
	Change
}

// rewrites reports whether ch changes more than it adds: then all of the key has
// to be here, and is written anew.
func rewrites(ch *rows.Chat) bool {
	return ch.Gone || ch.Anew || ch.Cleared || ch.Settled || len(ch.Moves)+len(ch.Drop)+len(ch.Forget)+len(ch.Rewritten) > 0
}

// apply makes changes to the state. With an error nothing was changed.
func (b *backend) apply(changes rows.Changes) (done applied, err error) {
	for _, ch := range changes.Chats {
		if err := b.bring(ch); err != nil {
			return done, err
		}
	}
	done.fenced = changes.Fenced
	for _, ch := range changes.Chats {
		done.Chats = append(done.Chats, b.applyChat(ch, &done))
	}
	for i, ch := range changes.Chats { // one may have taken in what another had
		if c := b.chats[ch.Key]; c != nil && rewrites(ch) && !ch.Gone {
			done.items = append(done.items, c.items(false)...)
			done.Chats[i] = c.anew(ch.Cleared && ch.Settled)
		}
	}
	b.applyRecords(changes, &done.Common)
	if changes.Name != nil {
		b.Name = *changes.Name
	}
	b.mark(&done, changes.Marks...)
	done.Common.Name, done.Common.Prefix = b.Name, b.Prefix
	done.Common.LastOut, done.Common.LastFact = b.lastOut, b.lastFact
	return done, nil
}

// bring makes sure that what ch changes is here.
func (b *backend) bring(ch *rows.Chat) error {
	if ch.Large != nil { // what is read must be in memory
		var all []sessions.Message
		for list, err := range ch.Added() {
			if err != nil {
				return err
			}
			all = append(all, list...)
		}
		ch.Large, ch.Messages = nil, all
	}
	keys := []channels.Key{ch.Key}
	for _, m := range ch.Moves {
		keys = append(keys, m.From)
	}
	for _, k := range keys {
		c, err := b.chat(k)
		if err == nil && rewrites(ch) {
			err = b.fill(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *backend) applyChat(ch *rows.Chat, done *applied) ChatChange {
	c := b.chats[ch.Key]
	c.touched++
	if rewrites(ch) {
		b.rewrite(c, ch, done)
	}
	if ch.Gone {
		delete(b.chats, c.Key)
		return ChatChange{Head: Head{Key: c.Key}, Gone: true}
	}
	x := ChatChange{Head: c.Head, Messages: ch.Messages, Ended: ch.Ended}
	x.Seq, x.MessageSeq = ch.Seq, ch.MessageSeq
	b.putRows(c, ch, &x, done)
	b.putHead(c, ch, &x)
	for _, st := range ch.Steps {
		x.Steps = append(x.Steps, TurnStep{st.Turn, st.Step})
	}
	c.Apply(&x)
	c.Head = x.Head
	x.Open = c.open()
	return x
}

// rewrite changes and deletes what is there of c.
func (b *backend) rewrite(c *chat, ch *rows.Chat, done *applied) {
	done.items = append(done.items, c.items(true)...)
	if !ch.Gone {
		for _, m := range ch.Moves {
			if m.From != ch.Key {
				done.items = append(done.items, b.chats[m.From].items(true)...)
			}
			b.move(b.chats[m.From], c, m)
		}
	}
	drop := map[int64]bool{}
	for _, seq := range ch.Drop {
		drop[seq] = true
	}
	c.In = slices.DeleteFunc(c.In, func(r rows.In) bool {
		gone := ch.Gone || drop[r.Seq] || ch.Settled && !waits(&r)
		if gone { // except that it was there
			b.seen.Drop(Seen(r.Inbound))
			b.mark(done, rules.Marks(r.Inbound)...)
		}
		return gone
	})
	if ch.Settled {
		c.Out = slices.DeleteFunc(c.Out, func(o sessions.OutboxRecord) bool { return !rules.Unsent(o.State) })
	}
	if ch.Gone || ch.Cleared {
		b.count(c.Conversation, -1)
		c.Conversation, c.Messages, c.Summaries = nil, nil, nil
	}
	if len(ch.Rewritten) > 0 {
		c.Messages = slices.Clone(c.Messages) // what is read now must not change
	}
	for _, m := range ch.Rewritten {
		if i, found := Find(c.Messages, m.Seq); found {
			c.Messages[i] = m
		}
	}
}

// move takes in the rows of f, or renumbers those of c.
func (b *backend) move(f, c *chat, m rows.Move) {
	in, out, said := f.In, f.Out, slices.Clone(f.Messages)
	f.In, f.Out, f.Messages = nil, nil, nil
	for i := range in {
		r := &in[i]
		r.Seq += m.Queues
		r.Inbound.Key = c.Key
		b.seen.Put(Seen(r.Inbound), int32(r.Seq))
	}
	for i := range out {
		out[i].Seq += m.Queues
		out[i].Key = c.Key
	}
	for i := range said {
		said[i].Seq += m.Message
	}
	c.In, c.Out, c.Messages = slices.Concat(in, c.In), slices.Concat(out, c.Out), slices.Concat(said, c.Messages)
	slices.SortFunc(c.In, func(a, b rows.In) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortFunc(c.Out, func(a, b sessions.OutboxRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	if f == c {
		return
	}
	if c.Journals == nil {
		c.Journals = map[string][]sessions.Step{}
	}
	maps.Copy(c.Journals, f.Journals)
	f.Journals, f.Summaries = nil, nil
	if f.Conversation != nil {
		b.count(f.Conversation, -1)
		f.Conversation = &ConvHead{Conversation: f.Conversation.Conversation}
	}
}

// putRows puts the rows of the queues.
func (b *backend) putRows(c *chat, ch *rows.Chat, x *ChatChange, done *applied) {
	for _, p := range ch.In {
		r := p.In
		if p.Fresh {
			b.seen.Put(Seen(r.Inbound), int32(r.Seq))
		} else if i, found := place(c.In, inSeq, r.Seq); found {
			r.Inbound = c.In[i].Inbound
		}
		x.In = append(x.In, r)
		done.items = append(done.items, dispatch.In(&r))
	}
	for _, p := range ch.Out {
		o := p.OutboxRecord
		if o.ID == "" {
			b.lastOut++
			o.ID = b.deliveryID(b.lastOut)
		}
		b.lastOut = max(b.lastOut, b.deliveryNumber(o.ID)) // none of these is given again
		b.sent.add(o.ID)
		x.Out = append(x.Out, o)
		done.items = append(done.items, dispatch.Out(&o))
	}
}

// putHead puts the head of the transcript, with its generations and summaries.
func (b *backend) putHead(c *chat, ch *rows.Chat, x *ChatChange) {
	if ch.Conversation == nil {
		return
	}
	v := &ConvHead{Conversation: *ch.Conversation}
	summaries := []sessions.Summary{} // none and no change are two things
	if old := c.Conversation; ch.Anew {
		b.count(old, -1)
	} else if old != nil {
		v.Generations = old.Generations
		if len(ch.Begun) == 0 {
			summaries = append(summaries, c.Summaries...)
		}
	}
	for _, g := range ch.Begun {
		g.LastSeq = 0
		v.Generations = append(slices.Clip(v.Generations), g)
	}
	b.count(&ConvHead{Generations: ch.Begun}, 1)
	if ch.Anew || len(ch.Begun)+len(ch.Forget)+len(ch.Summaries) > 0 {
		summaries = slices.DeleteFunc(summaries, func(s sessions.Summary) bool { return slices.Contains(ch.Forget, s.CoversSeq) })
		summaries = append(summaries, ch.Summaries...)
		x.Summaries = &summaries
	}
	x.Conversation = v
}

// anew is all of c.
func (c *chat) anew(deleted bool) ChatChange {
	all := c.copied()
	x := ChatChange{Head: c.Head, Anew: true, Deleted: deleted, Messages: all.Messages, In: all.In, Out: all.Out}
	x.Open = c.open()
	summaries := append([]sessions.Summary{}, all.Summaries...)
	x.Summaries = &summaries
	for turn, steps := range all.Journals {
		for _, step := range steps {
			x.Steps = append(x.Steps, TurnStep{turn, step})
		}
	}
	return x
}

func (b *backend) mark(done *applied, marks ...string) {
	for _, mark := range marks {
		if !b.erased[mark] {
			b.erased[mark] = true
			done.Common.Erased = append(done.Common.Erased, mark)
		}
	}
}

// deliveryID names a delivery to networks that deduplicate. Over a disk it has
// the store's random name in it, so that a store that was begun anew does not
// repeat the ids of the one before.
func (s *state) deliveryID(n int64) string { return fmt.Sprintf("out-%s%d", s.Prefix, n) }

// deliveryNumber is the n of deliveryID, 0 for ids of other stores.
func (s *state) deliveryNumber(id string) int64 {
	rest, _ := strings.CutPrefix(id, "out-"+s.Prefix)
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil || id != s.deliveryID(n) {
		return 0
	}
	return n
}
