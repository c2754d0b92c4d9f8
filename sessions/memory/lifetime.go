package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Expire is part of [sessions.Lifetime].
func (s *Store) Expire(ctx context.Context, before time.Time, limit int) (gone []channels.Key, err error) {
	err = s.update(ctx, "expire", func(ch *change) error {
		var old []*chat
		for c := range s.ranked.oldest() {
			if len(old) >= limit || !rules.Time(c.conv.updated).Before(before) {
				break
			}
			if s.work.Busy(c.key) || !c.idle() {
				continue
			}
			if err := s.fill(c); err != nil {
				return err
			}
			old, gone = append(old, c), append(gone, c.key)
		}
		rest, err := s.restBefore(before, limit)
		if err != nil {
			return err
		}
		for _, c := range slices.Concat(old, rest) {
			s.forget(ch, c)
		}
		return nil
	})
	return gone, err
}

// restBefore finds chats without a conversation in which nothing was asked or
// answered since before: commands, what a job told, what was on its way when a
// conversation was deleted.
func (s *Store) restBefore(before time.Time, limit int) (rest []*chat, err error) {
	for _, c := range s.chats {
		if c.conv != nil || len(rest) >= limit || s.work.Busy(c.key) || !c.idle() {
			continue
		}
		if err := s.fill(c); err != nil {
			return nil, err
		}
		if last := c.lastQueued(); !last.IsZero() && last.Before(before) {
			rest = append(rest, c)
		}
	}
	return rest, nil
}

// lastQueued is when the newest row of c's queues came; zero if there is none.
func (c *chat) lastQueued() (last time.Time) {
	for _, r := range c.in {
		if r.accepted.After(last) {
			last = r.accepted
		}
	}
	for _, o := range c.out {
		if o.Created.After(last) {
			last = o.Created
		}
	}
	return last
}

// idle says that nothing of c waits or is under way. What is dead does not hold
// up the end of a conversation.
func (c *chat) idle() bool {
	return !slices.ContainsFunc(c.in, (*inRow).open) && !slices.ContainsFunc(c.out, func(o *outRow) bool { return !o.done() })
}

// Join is part of [sessions.Lifetime]. It refuses conversations of two
// channels: what one network knows by an id the other does not.
func (s *Store) Join(ctx context.Context, from, to channels.Key) error {
	return s.update(ctx, "join", func(ch *change) error {
		if err := rules.CheckJoin(from, to); err != nil {
			return err
		}
		f, err := s.whole(from)
		if err != nil || from == to || f == nil || f.conv == nil && len(f.in)+len(f.out) == 0 {
			return err
		}
		r, err := s.chat(to)
		if err == nil {
			err = s.fill(r)
		}
		if err != nil {
			return err
		}
		ch.touch(f).anew, ch.touch(r).anew = true, true
		ch.fenced = append(ch.fenced, from, to)
		f.openItems(ch, true)
		r.openItems(ch, true)
		s.joinQueues(f, r)
		joinTranscripts(f, r)
		r.openItems(ch, false)
		return nil
	})
}

// openItems tells the dispatcher what c has to do, or that it is gone.
func (c *chat) openItems(ch *change, gone bool) {
	for _, r := range c.in {
		if it := r.item(); !it.Gone {
			it.Gone = gone
			ch.items = append(ch.items, it)
		}
	}
	for _, o := range c.out {
		if it := o.item(); !it.Gone {
			it.Gone = gone
			ch.items = append(ch.items, it)
		}
	}
}

// joinQueues puts the queues of f before those of r. All seqs are new, above
// every one that was handed out, so that nobody who remembers one hits another
// row with it.
func (s *Store) joinQueues(f, r *chat) {
	// Two turns of one name cannot share a journal: that of r begins anew.
	for turn, steps := range f.steps {
		for _, row := range r.bound(turn) {
			row.turn = ""
		}
		r.steps[turn] = steps
	}
	base := max(f.seq, r.seq)
	for _, row := range r.in {
		row.seq += base + f.seq
	}
	for _, o := range r.out {
		o.Seq += base + f.seq
	}
	for _, row := range f.in {
		row.seq += base
		row.inbound.Key = r.key
	}
	for _, o := range f.out {
		o.Seq += base
		o.Key = r.key
	}
	r.seq += base + f.seq
	r.in, r.out = slices.Concat(f.in, r.in), slices.Concat(f.out, r.out)
	for _, row := range r.in {
		s.seen.Put(Seen(row.inbound), int32(row.seq))
	}
	f.in, f.out, f.steps = nil, nil, map[string][]sessions.Step{}
}

// joinTranscripts puts what was said under f before what was said under r. The
// new seqs are above all that were handed out: a summary that is being made of
// either is refused when it comes.
func joinTranscripts(f, r *chat) {
	if f.conv == nil {
		return
	}
	a, b := f.conv, r.conv
	if b == nil {
		b = &conversation{}
	}
	base := max(f.msgSeq, r.msgSeq)
	joined := &conversation{
		generation: cmp.Or(b.generation, a.generation), from: base, title: cmp.Or(b.title, a.title),
		created: rules.Earliest(a.created, b.created), updated: a.updated, order: max(a.order, b.order),
		usage: a.usage, settings: rules.JoinSettings(a.settings, b.settings), messages: slices.Concat(a.messages, b.messages),
		count: a.count + b.count,
	}
	if b.updated.After(a.updated) {
		joined.updated = b.updated
	}
	joined.usage.Add(b.usage)
	if len(b.summaries) == 0 {
		for _, sum := range a.summaries {
			sum.CoversSeq += base - (f.msgSeq - int64(len(a.messages)))
			sum.Generation = joined.generation
			joined.summaries = append(joined.summaries, sum)
		}
	}
	for i := range joined.messages {
		joined.messages[i].Seq = base + 1 + int64(i)
	}
	if joined.generation != "" {
		g := sessions.Generation{ID: joined.generation, FirstSeq: base + 1}
		for _, old := range slices.Concat(a.generations, b.generations) {
			g.Began = rules.Earliest(g.Began, old.Began)
		}
		joined.generations = []sessions.Generation{g}
	}
	f.conv, r.conv, r.msgSeq = nil, joined, base+int64(len(joined.messages))
}

// Erase is part of [sessions.Lifetime].
func (s *Store) Erase(ctx context.Context, e sessions.Erasure) (got sessions.Erased, err error) {
	wiping := false
	err = s.updateAnd(ctx, "erase", func(ch *change) error {
		got = sessions.Erased{} // what failed before counts for nothing
		senders := rules.SendersByChannel(e.Senders)
		if err := s.fillFor(e.Keys, senders); err != nil {
			return err
		}
		files := map[string]bool{}
		for _, k := range e.Keys {
			if c := s.chats[k]; c != nil {
				s.eraseChat(ch, c, &got, files)
			}
		}
		for _, scope := range e.Scopes {
			got.Facts += len(s.facts[scope])
			delete(s.facts, scope)
			ch.common.Forgotten = append(ch.common.Forgotten, Forgotten{Scope: scope})
		}
		for channel, ids := range senders {
			for k, c := range s.chats {
				if k.Channel() == channel && c.knows(ids) {
					s.eraseSenders(ch, c, ids, &got, files)
				}
			}
			ch.people = true
			left := slices.DeleteFunc(s.pairings, func(p *sessions.Pairing) bool {
				return p.Channel == channel && slices.Contains(ids, p.PersonID)
			})
			got.Pairings += len(s.pairings) - len(left)
			s.pairings = left
		}
		for _, a := range s.asides {
			if rules.AsideNames(a.aside, e) {
				// An empty one stays: others are numbered behind it.
				a.aside, a.dropped = sessions.Aside{Channel: a.aside.Channel}, true
				ch.aside(a)
				got.Queued++
			}
		}
		got.Files = slices.Sorted(maps.Keys(files))
		return nil
	}, func(d Disk) error {
		wiping = true
		return d.Wipe(e.Keys)
	})
	if err != nil && !wiping {
		return sessions.Erased{}, err
	}
	return got, err
}

// fillFor reads what an erasure may have to change, before it changes any.
func (s *Store) fillFor(keys []channels.Key, senders map[string][]string) error {
	for k, c := range s.chats {
		ids := senders[k.Channel()]
		if len(ids) == 0 && !slices.Contains(keys, k) {
			continue
		}
		all, err := s.look(c)
		if err != nil {
			return err
		}
		if slices.Contains(keys, k) || all.knows(ids) {
			if err := s.fill(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// knows reports whether one of ids said something in c.
func (c *chat) knows(ids []string) bool {
	return slices.ContainsFunc(c.in, func(r *inRow) bool { return sentBy(r, ids) }) ||
		c.conv != nil && slices.ContainsFunc(c.conv.messages, func(m sessions.Message) bool { return slices.Contains(ids, m.Sender) })
}

func sentBy(r *inRow, ids []string) bool {
	return slices.ContainsFunc(r.inbound.Sender.IDs, func(id string) bool { return slices.Contains(ids, id) })
}

// eraseChat forgets all of c.
func (s *Store) eraseChat(ch *change, c *chat, got *sessions.Erased, files map[string]bool) {
	ch.touch(c).gone = true
	ch.fenced = append(ch.fenced, c.key)
	c.openItems(ch, true)
	if c.conv != nil {
		got.Conversations++
		got.Messages += len(c.conv.messages)
		got.Summaries += len(c.conv.summaries)
		for _, m := range c.conv.messages {
			rules.Files(files, m.Attachments)
		}
	}
	got.Queued += len(c.in) + len(c.out)
	for _, r := range c.in {
		s.eraseIn(ch, r, files)
	}
	delete(s.chats, c.key)
}

// eraseIn forgets an inbox row except that it was there.
func (s *Store) eraseIn(ch *change, r *inRow, files map[string]bool) {
	rules.Files(files, r.inbound.Attachments)
	s.seen.Drop(Seen(r.inbound))
	hashes := []string{rules.Hash(rules.Dedupe(r.inbound))}
	if mark, ok := rules.ErasedMark(r.inbound); ok {
		hashes = append(hashes, mark)
	}
	for _, hash := range hashes {
		if !s.erased[hash] {
			s.erased[hash] = true
			ch.common.Erased = append(ch.common.Erased, hash)
		}
	}
}

// eraseSenders takes what people said out of a chat that goes on.
func (s *Store) eraseSenders(ch *change, c *chat, ids []string, got *sessions.Erased, files map[string]bool) {
	ch.touch(c).anew = true
	var mine []*inRow
	waiting := false
	for _, r := range c.in {
		if sentBy(r, ids) {
			mine = append(mine, r)
			waiting = waiting || r.state == rules.InWaiting
		}
	}
	if waiting {
		ch.fenced = append(ch.fenced, c.key)
		c.openItems(ch, true)
		c.steps = map[string][]sessions.Step{}
		for _, r := range c.in {
			r.turn = ""
		}
	}
	for _, r := range mine {
		s.eraseIn(ch, r, files)
	}
	got.Queued += len(mine)
	c.in = slices.DeleteFunc(slices.Clone(c.in), func(r *inRow) bool { return slices.Contains(mine, r) })
	if waiting {
		c.openItems(ch, false)
	}
	if c.conv == nil {
		return
	}
	rules.SetForeignFields(&c.conv.settings, nil) // nobody can tell of whom they tell
	// What is being written to the disk must not change under it.
	c.conv.messages = slices.Clone(c.conv.messages)
	for i, m := range c.conv.messages {
		if m.Sender == "" || !slices.Contains(ids, m.Sender) {
			continue
		}
		got.Messages++
		s.rewritten[c.key] = s.now()
		rules.Files(files, m.Attachments)
		c.conv.messages[i] = rules.EraseMessage(m)
		left := slices.DeleteFunc(c.conv.summaries, func(sum sessions.Summary) bool {
			return c.conv.from < m.Seq && m.Seq <= sum.CoversSeq
		})
		got.Summaries += len(c.conv.summaries) - len(left)
		c.conv.summaries = left
	}
}
