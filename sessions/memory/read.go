package memory

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// reader reads the rows of b.
type reader struct {
	b      *backend
	inside bool // of an update or a snapshot
}

var _ rows.Reader = reader{}

// do runs f under the lock, which an update holds already.
func (r reader) do(ctx context.Context, f func() error) error {
	if r.inside {
		return f()
	}
	return r.b.read(ctx, f)
}

// stream yields what f collects under the lock.
func stream[T any](ctx context.Context, r reader, f func() ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var list []T
		err := r.do(ctx, func() (err error) {
			list, err = f()
			return err
		})
		for _, v := range list {
			if err != nil || !yield(v, nil) {
				break
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// Head: see rows.Reader.
func (r reader) Head(ctx context.Context, k channels.Key) (h rows.Head, ok bool, err error) {
	err = r.do(ctx, func() error {
		c := r.b.chats[k]
		if c == nil {
			return nil
		}
		if c.Conversation != nil {
			if err := r.b.load(c); err != nil {
				return err
			}
		}
		h, ok = c.reading(), true
		if r.inside && r.b.work != nil {
			h.Claim = r.b.claim(k)
		}
		return nil
	})
	return h, ok, err
}

// Heads: see rows.Reader. All of them are sorted each time.
func (r reader) Heads(ctx context.Context, o rows.Order, after *sessions.Cursor) iter.Seq2[rows.Head, error] {
	return stream(ctx, r, func() (list []rows.Head, err error) {
		var all []*chat
		for _, c := range r.b.chats {
			if o == rows.ByKey || c.Conversation != nil && (after == nil || newestFirst(c.position(), *after) > 0) {
				all = append(all, c)
			}
		}
		slices.SortFunc(all, func(a, b *chat) int {
			switch o {
			case rows.ByKey:
				return cmp.Compare(a.Key.String(), b.Key.String())
			case rows.Oldest:
				return newestFirst(b.position(), a.position())
			}
			return newestFirst(a.position(), b.position())
		})
		for _, c := range all {
			list = append(list, c.reading())
		}
		return list, nil
	})
}

// position is that of c among the newest.
func (c *chat) position() sessions.Cursor {
	return sessions.Cursor{Updated: c.Conversation.Updated, Key: c.Key}
}

func newestFirst(a, b sessions.Cursor) int {
	if n := b.Updated.Compare(a.Updated); n != 0 {
		return n
	}
	return cmp.Compare(a.Key.String(), b.Key.String())
}

// Inbox: see rows.Reader.
func (r reader) Inbox(ctx context.Context, k channels.Key, q rows.Queued) iter.Seq2[rows.In, error] {
	return stream(ctx, r, func() (list []rows.In, err error) {
		some, err := r.chosen(k, q)
		for _, c := range some {
			for _, row := range c.In {
				if (!q.Open || waits(&row)) && has(q, row.Seq) && (q.MessageID == "" || row.Inbound.MessageID == q.MessageID) {
					list = append(list, row)
				}
			}
		}
		return turned(q, list), err
	})
}

// Outbox: see rows.Reader.
func (r reader) Outbox(ctx context.Context, k channels.Key, q rows.Queued) iter.Seq2[rows.Out, error] {
	return stream(ctx, r, func() (list []rows.Out, err error) {
		if q.ID != "" && k.IsZero() && !r.b.mayHave(q.ID) {
			return nil, nil
		}
		some, err := r.chosen(k, q)
		for _, c := range some {
			for _, o := range c.Out {
				if (!q.Open || isOpen(&o)) && (!q.Unsent || rules.Unsent(o.State)) && has(q, o.Seq) && (q.ID == "" || o.ID == q.ID) {
					list = append(list, rows.Out{OutboxRecord: o})
				}
			}
		}
		return turned(q, list), err
	})
}

// has reports whether q chooses a seq.
func has(q rows.Queued, seq int64) bool {
	return (len(q.Seqs) == 0 || slices.Contains(q.Seqs, seq)) && (q.Before <= 0 || seq < q.Before)
}

// turned is list in the order of q.
func turned[T any](q rows.Queued, list []T) []T {
	if q.Newest {
		slices.Reverse(list)
	}
	return list
}

// chosen are the chats that q asks for, with the rows that it asks for.
func (r reader) chosen(k channels.Key, q rows.Queued) (list []*chat, err error) {
	if k.IsZero() {
		if q.ID == "" {
			return slices.Collect(maps.Values(r.b.chats)), nil // what is open is here
		}
		return r.b.looked()
	}
	c := r.b.chats[k]
	if c == nil {
		return nil, nil
	}
	if q.Open || q.Unsent {
		return []*chat{c}, r.b.load(c)
	}
	if err := r.b.load(c); err != nil {
		return nil, err
	}
	here := q.ID != "" && slices.ContainsFunc(c.Out, func(o sessions.OutboxRecord) bool { return o.ID == q.ID })
	if len(q.Seqs) == 1 {
		_, in := place(c.In, inSeq, q.Seqs[0])
		_, out := place(c.Out, outSeq, q.Seqs[0])
		here = here || in || out
	}
	if here {
		return []*chat{c}, nil
	}
	all, err := r.b.look(c)
	return []*chat{all}, err
}

// looked are all chats with all that there is of them.
func (b *backend) looked() (list []*chat, err error) {
	for _, c := range b.chats {
		all, err := b.look(c)
		if err != nil {
			return nil, err
		}
		list = append(list, all)
	}
	return list, nil
}

// Journal: see rows.Reader.
func (r reader) Journal(ctx context.Context, k channels.Key, turn string) (steps []sessions.Step, err error) {
	err = r.do(ctx, func() error {
		c := r.b.chats[k]
		if c == nil {
			return nil
		}
		if err := r.b.load(c); err != nil {
			return err
		}
		for _, step := range c.Journals[turn] {
			steps = append(steps, rules.Step(step, step.At))
		}
		return nil
	})
	return steps, err
}

// Accepted: see rows.Reader.
func (r reader) Accepted(ctx context.Context, m channels.Inbound) (seq int64, ok bool, err error) {
	err = r.do(ctx, func() error {
		n, seen := r.b.seen.Seq(Seen(m))
		seq, ok = int64(n), seen
		return nil
	})
	return seq, ok, err
}
