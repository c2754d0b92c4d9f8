package memory

import (
	"cmp"
	"maps"
	"slices"

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
			done.items = append(done.items, c.openItems(false)...)
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
		done.items = append(done.items, c.openItems(true)...)
		for _, m := range ch.Moves {
			if m.From != ch.Key {
				done.items = append(done.items, b.chats[m.From].openItems(true)...)
			}
		}
	}
	if ch.Gone {
		b.remove(c, done)
		return ChatChange{Head: Head{Key: c.key}, Gone: true}
	}
	for _, m := range ch.Moves {
		b.move(b.chats[m.From], c, m)
	}
	if ch.Cleared || ch.Settled || len(ch.Drop) > 0 {
		b.prune(c, ch, done)
	}
	x := ChatChange{Ended: ch.Ended}
	for _, turn := range ch.Ended {
		delete(c.steps, turn)
	}
	c.seq, c.msgSeq = ch.Seq, ch.MessageSeq
	b.putRows(c, ch, &x, done)
	b.putTranscript(c, ch, &x)
	for _, st := range ch.Steps {
		c.steps[st.Turn] = append(c.steps[st.Turn], st.Step)
		x.Steps = append(x.Steps, TurnStep{st.Turn, st.Step})
	}
	x.Head = c.head()
	return x
}

// remove forgets c.
func (b *backend) remove(c *chat, done *applied) {
	for _, r := range c.in {
		b.forget(r, done)
	}
	b.forgetGenerations(c)
	delete(b.chats, c.key)
}

// forget forgets an inbox row except that it was there.
func (b *backend) forget(r *rows.In, done *applied) {
	b.seen.Drop(Seen(r.Inbound))
	b.mark(done, rules.Marks(r.Inbound)...)
}

func (b *backend) mark(done *applied, marks ...string) {
	for _, mark := range marks {
		if !b.erased[mark] {
			b.erased[mark] = true
			done.Common.Erased = append(done.Common.Erased, mark)
		}
	}
}

func (b *backend) forgetGenerations(c *chat) {
	if c.conv == nil {
		return
	}
	for _, g := range c.conv.generations {
		if b.begins[g.ID]--; b.begins[g.ID] <= 0 {
			delete(b.begins, g.ID)
		}
	}
}

// prune deletes rows of c.
func (b *backend) prune(c *chat, ch *rows.Chat, done *applied) {
	drop := map[int64]bool{}
	for _, seq := range ch.Drop {
		drop[seq] = true
	}
	c.in = slices.DeleteFunc(slices.Clone(c.in), func(r *rows.In) bool {
		gone := drop[r.Seq] || ch.Settled && !waits(r)
		if gone {
			b.forget(r, done)
		}
		return gone
	})
	if ch.Settled {
		c.out = slices.DeleteFunc(slices.Clone(c.out), func(o *rows.Out) bool { return !rules.Unsent(o.State) })
	}
	if ch.Cleared {
		b.forgetGenerations(c)
		c.conv = nil
	}
}

// move takes in the rows of f, or renumbers those of c.
func (b *backend) move(f, c *chat, m rows.Move) {
	in, out := f.in, f.out
	for _, r := range in {
		r.Seq += m.Queues
		r.Inbound.Key = c.key
		b.seen.Put(Seen(r.Inbound), int32(r.Seq))
	}
	for _, o := range out {
		o.Seq += m.Queues
		o.Key = c.key
	}
	var said []sessions.Message
	if f.conv != nil {
		said = slices.Clone(f.conv.messages)
		for i := range said {
			said[i].Seq += m.Message
		}
		f.conv.messages = nil
	}
	f.in, f.out = nil, nil
	c.in, c.out = slices.Concat(in, c.in), slices.Concat(out, c.out)
	slices.SortFunc(c.in, func(a, b *rows.In) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortFunc(c.out, func(a, b *rows.Out) int { return cmp.Compare(a.Seq, b.Seq) })
	if f != c {
		maps.Copy(c.steps, f.steps)
		f.steps = map[string][]sessions.Step{}
		if f.conv != nil {
			b.forgetGenerations(f)
			f.conv.generations, f.conv.summaries = nil, nil
		}
	}
	if len(said) > 0 {
		if c.conv == nil {
			c.conv = &conversation{}
		}
		c.conv.messages = slices.Concat(said, c.conv.messages)
	}
}

// anew is all of c.
func (c *chat) anew(deleted bool) ChatChange {
	all := c.content()
	x := ChatChange{Head: c.head(), Anew: true, Deleted: deleted, Messages: all.Messages, In: all.In, Out: all.Out, Summaries: list(all.Summaries)}
	for turn, steps := range all.Journals {
		for _, step := range steps {
			x.Steps = append(x.Steps, TurnStep{turn, step})
		}
	}
	return x
}

// list is a copy that is not nil: none and no change are two things.
func list(summaries []sessions.Summary) *[]sessions.Summary {
	all := append([]sessions.Summary{}, summaries...)
	return &all
}
