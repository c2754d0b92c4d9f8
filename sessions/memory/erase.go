package memory

import (
	"context"
	"maps"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

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
					s.vanish(ch, c, &got)
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

// vanish forgets c if an erasure has left nothing of it but its name.
func (s *Store) vanish(ch *change, c *chat, got *sessions.Erased) {
	blank := c.conv == nil || rules.Blank(c.conv.count, c.conv.title, c.conv.settings)
	if blank && len(c.in)+len(c.out)+len(c.steps) == 0 {
		s.eraseChat(ch, c, got, nil)
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
	c.in = slices.DeleteFunc(slices.Clone(c.in), func(r *inRow) bool { return sentBy(r, ids) })
	if waiting {
		c.openItems(ch, false)
	}
	if c.conv == nil {
		return
	}
	rules.DropForeign(&c.conv.settings)
	// What is being written to the disk must not change under it.
	c.conv.messages = slices.Clone(c.conv.messages)
	said := func(m sessions.Message) bool { return m.Sender != "" && slices.Contains(ids, m.Sender) }
	if !slices.ContainsFunc(c.conv.messages, said) {
		return
	}
	s.rewritten[c.key] = s.now()
	for i, m := range c.conv.messages {
		switch {
		case said(m):
			got.Messages++
			rules.Files(files, m.Attachments)
			c.conv.messages[i] = rules.EraseMessage(m)
		case rules.Copied(m):
			c.conv.messages[i] = rules.EraseCopy(m)
		default:
			continue
		}
		left := slices.DeleteFunc(c.conv.summaries, func(sum sessions.Summary) bool {
			return c.conv.from < m.Seq && m.Seq <= sum.CoversSeq
		})
		got.Summaries += len(c.conv.summaries) - len(left)
		c.conv.summaries = left
	}
}
