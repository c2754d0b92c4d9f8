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
