package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// appendMessages adds messages to the transcript of c, and begins it if there is
// none. Without messages it changes nothing.
func (st *step) appendMessages(c *chat, turn string, messages []sessions.Message, authors ...sessions.Owner) {
	if len(messages) == 0 {
		return
	}
	ch := st.touch(c)
	if c.Conversation == nil {
		c.Conversation = &rows.Conversation{Created: rules.Time(st.now)}
	}
	if c.Conversation.Owners == nil && c.Conversation.Messages == 0 {
		c.Conversation.Owners = []sessions.Owner{}
	}
	if c.Conversation.Generation == "" {
		st.beginGeneration(c)
	}
	v := c.Conversation
	for _, m := range messages {
		m = rules.Message(m, st.now)
		c.MessageSeq++
		m.Seq, m.Turn = c.MessageSeq, cmp.Or(m.Turn, turn)
		if m.Usage != nil {
			v.Usage.Add(*m.Usage)
		}
		st.noteAuthor(c, &m, authors)
		v.Messages++
		ch.Messages = append(ch.Messages, m)
	}
	st.updated(v)
}

// updated sets Updated of v to now. It never moves back, because retention looks at
// it and a clock may be set back.
func (st *step) updated(v *rows.Conversation) {
	v.Updated = rules.Latest(v.Updated, rules.Time(st.now))
}

// newGeneration begins a new generation, unless the conversation has no message yet:
// the first message begins one.
func (st *step) newGeneration(c *chat) {
	if c.Conversation != nil && c.Conversation.Generation != "" {
		st.updated(c.Conversation)
		st.beginGeneration(c)
	}
}

func (st *step) beginGeneration(c *chat) {
	ch, v := st.touch(c), c.Conversation
	v.Generation = st.nextGeneration(st.now)
	v.From = c.MessageSeq
	v.Covers = 0
	ch.Begun = append(ch.Begun, sessions.Generation{ID: v.Generation, FirstSeq: c.MessageSeq + 1, Began: rules.Time(st.now)})
}

// nextGeneration returns an id that no generation of the store ever had.
func (st *step) nextGeneration(now time.Time) string {
	day := rules.Day(now)
	n := st.begun(day) + 1
	st.count(day, n)
	return rules.Generation(day, n)
}

// count sets how many generations were begun on a day.
func (st *step) count(day string, n int64) {
	if st.days == nil {
		st.days = map[string]int64{}
	}
	st.days[day] = n
}

// begun returns how many generations were begun on a day.
func (st *step) begun(day string) int64 {
	if n, ok := st.days[day]; ok {
		return n
	}
	if r, ok := st.one(rows.Record{Store: &rows.Store{Days: map[string]int64{day: 0}}}); ok {
		return r.Store.Days[day]
	}
	return 0
}

// History loads the part of a conversation that a turn needs. An unknown key has an
// empty one. The cost depends on what it returns, not on what is stored. It reads up
// to the last message at its start; later ones do not count.
func (s *Store) History(ctx context.Context, k channels.Key, limit sessions.HistoryLimit) (h sessions.History, err error) {
	began := time.Now()
	v := s.viewOf(ctx, k)
	if head, _ := v.head(k); head.Conversation != nil {
		h = v.history(head, limit)
	}
	s.timed("history", began, v.err)
	return h, s.wrap("history", v.err)
}

// maxPrealloc bounds for how many messages history allocates room ahead.
const maxPrealloc = 128

func (v *view) history(head rows.Head, limit sessions.HistoryLimit) (h sessions.History) {
	k, c := head.Key, head.Conversation
	h.Generation = c.Generation
	h.Settings = rules.Settings(c.Settings)
	h.FirstSeq = c.From + 1
	h.Erasures = c.Erasures
	after := c.From
	if c.Covers > 0 {
		// The newest summary may be newer than the head, or erased since.
		list := v.summaries(k)
		if n := len(list); n > 0 && list[n-1].Generation == c.Generation {
			newest := rules.Summary(list[n-1])
			h.Summary, after = &newest, newest.CoversSeq
		}
	}
	oldest, bytes := head.MessageSeq+1, 0
	gone := newestFirst{}
	n := min(head.MessageSeq-after, maxPrealloc)
	if limit.Messages > 0 {
		n = min(n, int64(limit.Messages))
	}
	if n > 0 {
		h.Messages = make([]sessions.Message, 0, n+4) // with room for what a turn adds
	}
	for m := range v.messages(k, rows.MessageFilter{After: after, Before: head.MessageSeq + 1, Newest: true, Again: true}) {
		if gone.hides(&m) {
			h.Replaced++
			continue
		}
		bytes += rules.Bytes(m)
		if limit.Messages > 0 && len(h.Messages) == limit.Messages || limit.Bytes > 0 && bytes > limit.Bytes {
			break
		}
		h.Messages, oldest = append(h.Messages, m), m.Seq
		h.Replaced = 0
	}
	slices.Reverse(h.Messages)
	if len(h.Messages) == 0 {
		h.Messages = nil
	}
	h.Omitted = max(int(oldest-after-1)-h.Replaced, 0)
	return h
}

// AddSummary makes sum the newest summary of k, and adds counts in the same commit. The
// messages are kept. It returns
// ErrConflict if sum.Generation is not the current one, if sum.CoversSeq is not a
// message of that generation after the newest summary, or if messages of k were
// erased or replaced since the caller read the history for sum.
func (s *Store) AddSummary(ctx context.Context, k channels.Key, sum sessions.Summary, counts ...sessions.Count) error {
	err := checkCounts(counts)
	if err != nil {
		return s.wrap("add summary", err)
	}
	return s.update(ctx, "add summary", func(st *step) error {
		c := st.chat(k)
		v := c.Conversation
		if v == nil || v.Generation != sum.Generation {
			return fmt.Errorf("%w: generation %q is not the current one", sessions.ErrConflict, sum.Generation)
		}
		if after := max(v.From, v.Covers); sum.CoversSeq <= after || sum.CoversSeq > c.MessageSeq {
			return fmt.Errorf("%w: the summary covers messages up to %d; it must be %d to %d", sessions.ErrConflict, sum.CoversSeq, after+1, c.MessageSeq)
		}
		if sum.Erasures != v.Erasures {
			return fmt.Errorf("%w: messages were erased or replaced since the summary was begun", sessions.ErrConflict)
		}
		stored := rules.Summary(sum)
		stored.Erasures = 0
		stored.Used = sessions.Usage{}
		if stored.At.IsZero() {
			stored.At = rules.Time(st.now)
		}
		ch := st.touch(c)
		ch.Summaries, v.Covers = append(ch.Summaries, stored), stored.CoversSeq
		st.changes.Add = counts
		return nil
	}, k)
}

// Messages reads the transcript of k over all generations in pages: at most limit
// messages with Seq > after, oldest first. A conversation that there is not has none, and
// that is no error.
func (s *Store) Messages(ctx context.Context, k channels.Key, after int64, limit int) (list []sessions.Message, err error) {
	v := s.viewOf(ctx, k)
	if v.err != nil || limit <= 0 {
		return nil, s.wrap("messages", v.err)
	}
	for m := range v.messages(k, rows.MessageFilter{After: after}) {
		list = append(list, m)
		if len(list) == limit {
			break
		}
	}
	return list, s.wrap("messages", v.err)
}

// Rename gives a conversation a title. Errors: ErrNotFound.
func (s *Store) Rename(ctx context.Context, k channels.Key, title string) error {
	return s.update(ctx, "rename", func(st *step) error {
		c := st.chat(k)
		if c.Conversation == nil {
			return notFound(k)
		}
		c.Conversation.Title = rules.Text(title)
		st.touch(c)
		return nil
	}, k)
}
