package reference

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// reader reads the state that now returns. claim has the epoch of the live claim of a key;
// it is nil outside of an update.
type reader struct {
	now   func() *state
	claim func(channels.Key) int64
}

// each yields a value for each row that choose chooses, from the last one on with newest.
func each[Row, T any](list []Row, newest bool, choose func(*Row) (T, bool)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i := range list {
			if newest {
				i = len(list) - 1 - i
			}
			if v, ok := choose(&list[i]); ok && !yield(v, nil) {
				return
			}
		}
	}
}

// gather returns what the chat called k has, or all chats if k is zero.
func gather[T any](s *state, k channels.Key, of func(chat) []T) (list []T) {
	if !k.IsZero() {
		return of(s.chats[k])
	}
	for _, c := range s.chats {
		list = append(list, of(c)...)
	}
	return list
}

func (r reader) Head(_ context.Context, k channels.Key) (rows.Head, bool, error) {
	c, ok := r.now().chats[k]
	h := c.Head
	if r.claim != nil {
		h.Claim = r.claim(k)
	}
	return h, ok, nil
}

func (r reader) Heads(_ context.Context, o rows.Order, after *sessions.Cursor) iter.Seq2[rows.Head, error] {
	list := gather(r.now(), channels.Key{}, func(c chat) []rows.Head { return []rows.Head{c.Head} })
	place := func(h rows.Head) sessions.Cursor { return sessions.Cursor{Key: h.Key} }
	if o == rows.ByKey && after != nil {
		after = &sessions.Cursor{Key: after.Key}
	}
	if o != rows.ByKey {
		list = slices.DeleteFunc(list, func(h rows.Head) bool { return h.Conversation == nil })
		place = func(h rows.Head) sessions.Cursor { return sessions.Cursor{Updated: h.Conversation.Updated, Key: h.Key} }
	}
	if o == rows.Unowned {
		list = slices.DeleteFunc(list, func(h rows.Head) bool { return h.Conversation.Owners != nil })
	}
	newest := func(a, b sessions.Cursor) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Key.String(), b.Key.String()))
	}
	slices.SortFunc(list, func(a, b rows.Head) int { return newest(place(a), place(b)) })
	return each(list, o == rows.Oldest, func(h *rows.Head) (rows.Head, bool) { return *h, after == nil || newest(*after, place(*h)) < 0 })
}

func (r reader) Inbox(_ context.Context, k channels.Key, q rows.QueueFilter) iter.Seq2[rows.In, error] {
	return each(gather(r.now(), k, func(c chat) []rows.In { return c.in }), q.Newest, func(in *rows.In) (rows.In, bool) {
		return *in, chosen(in.Seq, q) && !in.Accepted.Before(q.Since) && (!q.Open || in.State == rules.InWaiting) && (q.MessageID == "" || in.Inbound.MessageID == q.MessageID)
	})
}

func (r reader) Outbox(_ context.Context, k channels.Key, q rows.QueueFilter) iter.Seq2[rows.Out, error] {
	return each(gather(r.now(), k, func(c chat) []rows.Out { return c.out }), q.Newest, func(o *rows.Out) (rows.Out, bool) {
		unsent := rules.Unsent(o.State)
		return *o, chosen(o.Seq, q) && !o.Created.Before(q.Since) && (!q.Open || unsent || o.State == sessions.DeliveryDead) && (!q.Unsent || unsent) && (q.ID == "" || o.ID == q.ID)
	})
}

func chosen(seq int64, q rows.QueueFilter) bool {
	return (q.Seq == 0 || seq == q.Seq) && (q.Before == 0 || seq < q.Before)
}

func (r reader) Journal(_ context.Context, k channels.Key, turn string) (list []sessions.Step, err error) {
	for _, st := range r.now().chats[k].steps {
		if st.Turn == turn {
			list = append(list, st.Step)
		}
	}
	return list, nil
}

func (r reader) Messages(_ context.Context, k channels.Key, q rows.MessageFilter) iter.Seq2[sessions.Message, error] {
	return each(r.now().chats[k].messages, q.Newest, func(m *sessions.Message) (sessions.Message, bool) {
		return rules.Clone(*m), between(m.Seq, q)
	})
}

func between(seq int64, q rows.MessageFilter) bool {
	return seq > q.After && (q.Before == 0 || seq < q.Before)
}

func (r reader) Accepted(_ context.Context, m channels.Inbound) (seq int64, ok bool, err error) {
	for k, c := range r.now().chats {
		for i := range c.in {
			if k.Channel() == m.Key.Channel() && c.in[i].Inbound.ID == m.ID {
				return c.in[i].Seq, true, nil
			}
		}
	}
	return 0, false, nil
}

func (r reader) Search(_ context.Context, w rows.WordSearch) iter.Seq2[sessions.Found, error] {
	all := gather(r.now(), w.Key, func(c chat) (list []sessions.Found) {
		for _, m := range c.messages {
			list = append(list, sessions.Found{Key: c.Key, Message: m})
		}
		return list
	})
	return each(all, w.Newest, func(f *sessions.Found) (sessions.Found, bool) {
		m := f.Message
		if !rules.Searched(m) || !w.Key.IsZero() && !between(m.Seq, w.MessageFilter) {
			return *f, false
		}
		n := rules.Score(w.Query, strings.Join(slices.Collect(rules.Searchable(m.Content)), " "))
		return sessions.Found{Key: f.Key, Words: n, Message: sessions.Message{Seq: m.Seq, At: m.At}}, n > 0 && (!w.All || n == len(w.Query))
	})
}

func (r reader) Records(_ context.Context, like rows.Record) iter.Seq2[rows.Record, error] {
	s := r.now()
	want := nameOf(like)
	var names []name
	for n, r := range s.records {
		if n.like(want) && s.fits(r, like) {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b name) int { return slices.Compare(a[:], b[:]) })
	if like.Note != nil && !like.Note.Due.IsZero() {
		slices.SortStableFunc(names, func(a, b name) int { return s.records[a].Note.Due.Compare(s.records[b].Note.Due) })
	}
	return each(names, false, func(n *name) (rows.Record, bool) { return s.records[*n], true })
}

// like reports whether n has each part of want that is not empty.
func (n name) like(want name) bool {
	for i, part := range want {
		if i > 0 && part == "" {
			continue
		}
		if n[i] != part {
			return false
		}
	}
	return true
}

// fits reports whether r has what an example asks for beside its name.
func (s *state) fits(r, like rows.Record) bool {
	if r.Summary != nil {
		now := s.chats[r.Summary.Key].Conversation
		return now != nil && r.Summary.Generation == now.Generation
	}
	if r.Note != nil && !like.Note.Due.IsZero() {
		return !r.Note.Due.IsZero() && r.Note.Due.Before(like.Note.Due)
	}
	return (r.Generation == nil || like.Generation.ID == "" || r.Generation.ID == like.Generation.ID) && !(like.Kept && r.Quarantined.Dropped)
}
