package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// show is what lists show of c.
func (c *chat) show() sessions.Conversation {
	shown := c.glance()
	shown.Settings = rules.Settings(shown.Settings)
	return shown
}

// glance is show with the settings themselves, which only the store may see.
func (c *chat) glance() sessions.Conversation {
	return sessions.Conversation{
		Key: c.key, Generation: c.conv.generation, Title: c.conv.title,
		Created: rules.Time(c.conv.created), Updated: rules.Time(c.conv.updated),
		Messages: c.conv.count, Usage: c.conv.usage, Settings: c.conv.settings,
	}
}

// Find is part of [sessions.Catalog].
func (s *Store) Find(ctx context.Context, q sessions.Query) (list []sessions.Conversation, err error) {
	err = s.read(ctx, "find", func() error {
		limit := rules.Page(q)
		for c := range s.ranked.newest(q.After) {
			if rules.Matches(q, c.glance()) {
				list = append(list, c.show())
			}
			if len(list) == limit {
				break
			}
		}
		return nil
	})
	return list, err
}

// Conversation is part of [sessions.Catalog].
func (s *Store) Conversation(ctx context.Context, k channels.Key) (shown sessions.Conversation, err error) {
	err = s.read(ctx, "conversation", func() error {
		c, err := s.conversation(k)
		if err == nil {
			shown = c.show()
		}
		return err
	})
	return shown, err
}

// Configure is part of [sessions.Catalog].
func (s *Store) Configure(ctx context.Context, k channels.Key, configure func(*sessions.Settings)) error {
	return s.update(ctx, "configure", func(ch *change) error {
		if k.IsZero() {
			return errors.New("no key")
		}
		c, err := s.chat(k)
		if err != nil {
			return err
		}
		var set sessions.Settings
		if c.conv != nil {
			set = rules.Settings(c.conv.settings)
		}
		configure(&set)
		if err := rules.CheckSettings(set); err != nil {
			return err
		}
		ch.touch(c)
		if c.conv == nil {
			c.conv = &conversation{from: c.msgSeq, created: ch.now}
			s.touch(ch, c.conv)
		}
		c.conv.settings = rules.Settings(set)
		return nil
	})
}

// Generations is part of [sessions.Catalog].
func (s *Store) Generations(ctx context.Context, k channels.Key) (list []sessions.Generation, err error) {
	err = s.read(ctx, "generations", func() error {
		c, err := s.conversation(k)
		if err == nil {
			list = c.allGenerations()
		}
		return err
	})
	return list, err
}

// allGenerations are those of c with their ends.
func (c *chat) allGenerations() []sessions.Generation { return withEnds(c.conv.generations, c.msgSeq) }

// withEnds is a copy of generations with their ends, of which the last is seq.
func withEnds(generations []sessions.Generation, seq int64) []sessions.Generation {
	list := slices.Clone(generations)
	for i := range list {
		list[i].LastSeq = seq
		if i > 0 {
			list[i-1].LastSeq = list[i].FirstSeq - 1
		}
	}
	return list
}

// SearchAll is part of [sessions.Catalog].
func (s *Store) SearchAll(ctx context.Context, search sessions.Search) ([]sessions.Found, error) {
	words, ranking := rules.Query(search.Query), rules.NewRanking(search)
	err := s.eachSaid(ctx, "search all", search.Key, func(k channels.Key, m sessions.Message) {
		if rules.Searched(m) {
			ranking.Add(sessions.Found{Key: k, Message: m, Words: rules.Score(words, m.Content)})
		}
	})
	if err != nil {
		return nil, err
	}
	found := ranking.Page()
	for i := range found {
		found[i].Message = rules.Clone(found[i].Message)
	}
	return found, nil
}

// Days is part of [sessions.Catalog].
func (s *Store) Days(ctx context.Context, from, to time.Time) ([]sessions.DayCount, error) {
	days := rules.NewDays[channels.Key](from, to)
	err := s.eachSaid(ctx, "days", channels.Key{}, func(k channels.Key, m sessions.Message) { days.Add(k, m.At, m.Usage) })
	if err != nil {
		return nil, err
	}
	return days.Counts(), nil
}

// eachSaid gives f what was said in only, or if that is zero in every
// conversation, each as it is when its turn comes.
func (s *Store) eachSaid(ctx context.Context, what string, only channels.Key, f func(channels.Key, sessions.Message)) error {
	keys := []channels.Key{only}
	err := s.read(ctx, what, func() error {
		if !only.IsZero() {
			return nil
		}
		keys = nil
		for c := range s.ranked.newest(nil) {
			keys = append(keys, c.key)
		}
		return nil
	})
	for _, k := range keys {
		if err != nil {
			break
		}
		var said []sessions.Message
		said, err = s.said(ctx, what, k)
		for _, m := range said {
			f(k, m)
		}
	}
	return err
}

// said is the transcript of k. Its messages are shared with the store, which
// replaces them and never changes them. Archives are read without the lock.
func (s *Store) said(ctx context.Context, what string, k channels.Key) (said []sessions.Message, err error) {
	here := false
	err = s.read(ctx, what, func() error {
		c := s.chats[k]
		if here = c == nil || c.conv == nil || s.disk == nil || c.whole; !here {
			s.outside.Add(1)
		} else if c != nil && c.conv != nil {
			said = c.conv.messages
		}
		return nil
	})
	if err != nil || here {
		return said, err
	}
	defer s.outside.Done()
	content, err := s.disk.Content(k, true)
	return content.Messages, s.wrap(what, err)
}

// Top is part of [sessions.Catalog].
func (s *Store) Top(ctx context.Context, limit int) (list []sessions.Conversation, err error) {
	err = s.read(ctx, "top", func() error {
		var most []*chat // most first
		order := func(a, b *chat) int {
			return cmp.Or(cmp.Compare(b.conv.tokens(), a.conv.tokens()), cmp.Compare(a.key.String(), b.key.String()))
		}
		for c := range s.ranked.newest(nil) {
			full := len(most) >= limit
			if limit <= 0 || full && order(c, most[limit-1]) > 0 {
				continue
			}
			at, _ := slices.BinarySearchFunc(most, c, order)
			if full {
				most = most[:limit-1]
			}
			most = slices.Insert(most, at, c)
		}
		for _, c := range most {
			list = append(list, c.show())
		}
		return nil
	})
	return list, err
}

func (c *conversation) tokens() int { return c.usage.Input + c.usage.Output }
