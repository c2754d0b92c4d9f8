package memory

import (
	"context"
	"iter"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Messages: see rows.Reader. It reads what is in memory first.
func (r reader) Messages(ctx context.Context, k channels.Key, q rows.Said) iter.Seq2[sessions.Message, error] {
	return func(yield func(sessions.Message, error) bool) {
		if q.Newest {
			r.newestFirst(ctx, k, q, yield)
			return
		}
		list, err := r.said(ctx, k, q, func(c *chat) bool {
			here := c.Messages
			return len(here) == c.Conversation.Messages || len(here) > 0 && here[0].Seq <= q.After+1
		})
		for _, m := range list {
			if !q.Light {
				m = rules.Clone(m)
			}
			if !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(sessions.Message{}, err)
		}
	}
}

// said reads messages that are in memory, once what is there is enough.
func (r reader) said(ctx context.Context, k channels.Key, q rows.Said, enough func(*chat) bool) (list []sessions.Message, err error) {
	err = r.gathered(ctx, k, q.Once, enough, func(c *chat) {
		// Messages are replaced and never changed, so the slice can be shared.
		all := c.Messages
		from, _ := Find(all, q.After+1)
		to := len(all)
		if q.Before > 0 {
			to, _ = Find(all, q.Before)
		}
		list = all[from:max(from, to):max(from, to)]
	})
	return list, err
}

// newestFirst yields what is in memory, and reads the rest only if somebody
// asks for it.
func (r reader) newestFirst(ctx context.Context, k channels.Key, q rows.Said, yield func(sessions.Message, error) bool) {
	for _, enough := range []bool{true, false} {
		first := int64(0)
		list, err := r.said(ctx, k, q, func(c *chat) bool {
			first = c.MessageSeq - int64(c.Conversation.Messages) + 1
			return enough || len(c.Messages) == c.Conversation.Messages
		})
		if err != nil {
			yield(sessions.Message{}, err)
			return
		}
		for _, m := range slices.Backward(list) {
			if !yield(rules.Clone(m), nil) {
				return
			}
			q.Before = m.Seq
		}
		if q.Before > 0 && q.Before <= max(first, q.After+1) {
			return
		}
	}
}

// never is content with what is in memory: what is on the disk may be damaged,
// and a search is told.
func never(*chat) bool { return false }

// Search: see rows.Reader. It compares every message.
func (r reader) Search(ctx context.Context, w rows.Words) iter.Seq2[sessions.Found, error] {
	return func(yield func(sessions.Found, error) bool) {
		keys := []channels.Key{w.Key}
		if w.Key.IsZero() {
			keys = nil
			for h, err := range r.Heads(ctx, rows.Newest, nil) {
				if err != nil {
					yield(sessions.Found{}, err)
					return
				}
				keys = append(keys, h.Key)
			}
		}
		for _, k := range keys {
			said, err := r.said(ctx, k, w.Said, never)
			if err != nil {
				yield(sessions.Found{}, err)
				return
			}
			if w.Newest {
				said = slices.Clone(said)
				slices.Reverse(said)
			}
			for _, m := range said {
				n := rules.Score(w.Query, m.Content)
				if n == 0 || w.All && n < len(w.Query) || !rules.Searched(m) {
					continue
				}
				if !yield(sessions.Found{Key: k, Message: m, Words: n}, nil) {
					return
				}
			}
		}
	}
}
