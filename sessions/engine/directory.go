package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// writers are people who wrote, each once.
type writers map[string]sessions.Writer

func (all writers) add(w sessions.Writer) {
	if len(w.IDs) > 0 {
		all[fmt.Sprintf("%s %q %q %v", w.Key, w.IDs, w.Name, w.Private)] = w
	}
}

// Writers lists who wrote on a channel: see sessions.Directory. It reads all of
// its conversations, since who wrote is in their rows and nowhere else.
func (s *Store) Writers(ctx context.Context, channel string) ([]sessions.Writer, error) {
	heads, err := collect(s.back.Heads(ctx, rows.ByKey, nil))
	all := writers{}
	for _, h := range heads {
		if err == nil && h.Key.Channel() == channel {
			err = s.wroteIn(ctx, h.Key, all)
		}
	}
	if err != nil {
		return nil, s.wrap("writers", err)
	}
	return slices.SortedFunc(maps.Values(all), func(a, b sessions.Writer) int {
		private := 0
		if a.Private != b.Private {
			private = map[bool]int{true: 1, false: -1}[a.Private]
		}
		return cmp.Or(cmp.Compare(a.Key.Channel(), b.Key.Channel()), cmp.Compare(a.Key.Chat(), b.Key.Chat()),
			slices.Compare(a.IDs, b.IDs), cmp.Compare(a.Name, b.Name), private)
	}), nil
}

// wroteIn adds who wrote in k.
func (s *Store) wroteIn(ctx context.Context, k channels.Key, all writers) error {
	for r, err := range s.back.Inbox(ctx, k, rows.Queued{}) {
		if err != nil {
			return err
		}
		all.add(sessions.Writer{Key: k, IDs: slices.Clone(r.Inbound.Sender.IDs), Name: r.Inbound.Sender.Name, Private: r.Inbound.Private})
	}
	for m, err := range s.back.Messages(ctx, k, rows.Said{Once: true, Light: true}) {
		if err != nil {
			return err
		}
		if m.Role == sessions.RoleUser && m.Sender != "" {
			all.add(sessions.Writer{Key: k, IDs: []string{m.Sender}, Name: m.Name})
		}
	}
	return nil
}

// FactScopes lists those that have facts: see sessions.Directory.
func (s *Store) FactScopes(ctx context.Context, prefix string) (list []string, err error) {
	for r, err := range s.back.Records(ctx, factsOf("")) {
		if err != nil {
			return nil, s.wrap("scopes", err)
		}
		if scope := r.Fact.Scope; strings.HasPrefix(scope, prefix) && (len(list) == 0 || list[len(list)-1] != scope) {
			list = append(list, scope)
		}
	}
	return list, nil
}
