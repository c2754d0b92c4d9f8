package memory

import (
	"context"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions/rules"
)

// Expire is part of [sessions.Lifetime].
func (s *Store) Expire(ctx context.Context, before time.Time, limit int) (gone []channels.Key, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.update(ctx, "expire", func(ch *change) error {
		gone = nil // what failed before counts for nothing
		var old, undated []*chat
		for c := range s.ranked.oldest() {
			updated := rules.Time(c.conv.updated)
			if len(old) >= limit || !updated.Before(before) {
				break
			}
			if rules.Undated(updated, before) {
				undated = append(undated, c)
				continue
			}
			if s.work.Busy(c.key) || !c.idle() {
				continue
			}
			if err := s.fill(c); err != nil {
				return err
			}
			old, gone = append(old, c), append(gone, c.key)
		}
		for _, c := range undated {
			ch.touch(c)
			s.touch(ch, c.conv)
		}
		for _, c := range old {
			s.forget(ch, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(gone) < limit {
		err = s.expireRest(ctx, before, limit)
	}
	return gone, err
}

// expireRest deletes what was last asked or answered before where there is no
// conversation: commands, what a job told, what was on its way when a
// conversation was deleted. Each step looks at limit keys, so that others
// write in between.
func (s *Store) expireRest(ctx context.Context, before time.Time, limit int) error {
	var rest []channels.Key
	err := s.read(ctx, "expire", func() error {
		for k, c := range s.chats {
			if c.conv == nil {
				rest = append(rest, k)
			}
		}
		return nil
	})
	for some := range slices.Chunk(rest, limit) {
		if err != nil {
			break
		}
		err = s.update(ctx, "expire", func(ch *change) error {
			old, err := s.restBefore(before, some)
			for _, c := range old {
				s.forget(ch, c)
			}
			return err
		})
	}
	return err
}

// restBefore finds those of keys without a conversation in which nothing was
// asked or answered since before.
func (s *Store) restBefore(before time.Time, keys []channels.Key) (rest []*chat, err error) {
	for _, k := range keys {
		c := s.chats[k]
		if c == nil || c.conv != nil || s.work.Busy(k) || !c.idle() {
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
