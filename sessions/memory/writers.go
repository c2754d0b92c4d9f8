package memory

import (
	"context"
	"slices"
	"strings"

	"dragoman/sessions"
	"dragoman/sessions/rules"
)

// Writers is part of [sessions.Directory]. A disk keeps its own list, since
// what was said is not in memory.
func (s *Store) Writers(ctx context.Context, channel string) (list []sessions.Writer, err error) {
	var all rules.Writers
	err = s.read(ctx, "writers", func() error {
		if s.disk != nil {
			s.outside.Add(1)
			return nil
		}
		for k, c := range s.chats {
			if k.Channel() == channel {
				c.writers(&all)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case s.disk == nil:
		return rules.SortWriters(all.List()), nil
	}
	defer s.outside.Done()
	list, err = s.disk.Writers(ctx, channel)
	return list, s.wrap("writers", err)
}

// writers adds those of c to all.
func (c *chat) writers(all *rules.Writers) {
	for _, r := range c.in {
		all.Inbound(r.inbound)
	}
	if c.conv == nil {
		return
	}
	for _, m := range c.conv.messages {
		all.Message(c.key, m)
	}
}

// Scopes is part of [sessions.Directory].
func (s *Store) Scopes(ctx context.Context, prefix string) (scopes []string, err error) {
	err = s.read(ctx, "scopes", func() error {
		for scope, facts := range s.facts {
			if strings.HasPrefix(scope, prefix) && len(facts) > 0 {
				scopes = append(scopes, scope)
			}
		}
		return nil
	})
	slices.Sort(scopes)
	return scopes, err
}
