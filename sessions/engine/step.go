package engine

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
)

// view reads rows. It keeps the first error, and later reads return nothing. So code
// checks err once, before it uses results.
type view struct {
	ctx context.Context
	r   rows.Reader
	err error
}

// each yields seq up to its error, which v keeps.
func each[T any](v *view, seq iter.Seq2[T, error]) iter.Seq[T] {
	return func(yield func(T) bool) {
		if v.err != nil {
			return
		}
		for x, err := range seq {
			if err != nil {
				v.err = err
				return
			}
			if !yield(x) || v.err != nil {
				return
			}
		}
	}
}

func (v *view) heads(o rows.Order) iter.Seq[rows.Head] { return each(v, v.r.Heads(v.ctx, o, nil)) }

func (v *view) inbox(k channels.Key, q rows.QueueFilter) iter.Seq[rows.In] {
	return each(v, v.r.Inbox(v.ctx, k, q))
}

func (v *view) outbox(k channels.Key, q rows.QueueFilter) iter.Seq[rows.Out] {
	return each(v, v.r.Outbox(v.ctx, k, q))
}

func (v *view) messages(k channels.Key, q rows.MessageFilter) iter.Seq[sessions.Message] {
	return each(v, v.r.Messages(v.ctx, k, q))
}

func (v *view) records(like rows.Record) iter.Seq[rows.Record] {
	return each(v, v.r.Records(v.ctx, like))
}

// one reads the record with the name of like, if there is one.
func (v *view) one(like rows.Record) (rows.Record, bool) {
	for r := range v.records(like) {
		return r, true
	}
	return rows.Record{}, false
}

// marked reports whether the store has the mark of a deleted message.
func (v *view) marked(mark string) bool {
	_, yes := v.one(rows.Record{Mark: &mark})
	return yes
}

func (v *view) head(k channels.Key) (h rows.Head, known bool) {
	if v.err == nil {
		h, known, v.err = v.r.Head(v.ctx, k)
	}
	return h, known && v.err == nil
}

func (v *view) journal(k channels.Key, turn string) (steps []sessions.Step) {
	if v.err == nil {
		steps, v.err = v.r.Journal(v.ctx, k, turn)
	}
	return steps
}

// generations returns those of k, oldest first.
func (v *view) generations(k channels.Key) (list []sessions.Generation) {
	for r := range v.records(rows.Record{Generation: &rows.Generation{Key: k}}) {
		list = append(list, r.Generation.Generation)
	}
	return list
}

// summaries returns those of the current generation of k, oldest first.
func (v *view) summaries(k channels.Key) (list []sessions.Summary) {
	for r := range v.records(rows.Record{Summary: &rows.Summary{Key: k}}) {
		list = append(list, r.Summary.Summary)
	}
	return list
}

// step is one run of an update: the keys it has read, and its changes so far. If a
// read fails, update discards the changes, so a step may continue with zero values.
type step struct {
	view
	now     time.Time
	chats   map[channels.Key]*chat
	order   []*chat // the chats that change
	changes rows.Changes
	days    map[string]int64 // changed counts of generations begun, by day
	still   []*rows.Out      // of the changes: only when they are due has changed, which is no news
}

// chat is a key with the changes that a step makes to it.
type chat struct {
	rows.Head
	known bool // the key was stored before this step

	stored  []sessions.Owner // that the store has
	change  rows.Chat
	changes bool              // change is in step.order
	own     rows.Conversation // a copy of the stored Conversation, for the step to change
}

// done returns all changes of the step.
func (st *step) done() rows.Changes {
	for _, c := range st.order {
		c.change.Head = c.Head
		st.indexOwners(c)
		st.changes.Chats = append(st.changes.Chats, &c.change)
	}
	if len(st.days) > 0 {
		st.changes.Records = append(st.changes.Records, rows.Record{Store: &rows.Store{Days: st.days}})
	}
	return st.changes
}

// chat returns k as the step sees it, even if nothing is stored for it.
func (st *step) chat(k channels.Key) *chat {
	if c := st.chats[k]; c != nil {
		return c
	}
	h, known := st.head(k)
	h.Key = k
	c := &chat{Head: h, known: known}
	if h.Conversation != nil {
		c.stored = h.Conversation.Owners
		c.own = *h.Conversation
		c.Conversation = &c.own
	}
	st.chats[k] = c
	return c
}

func notFound(k channels.Key) error {
	return fmt.Errorf("%w: conversation %s", sessions.ErrNotFound, k)
}

// touch marks c as changed and returns its change.
func (st *step) touch(c *chat) *rows.Chat {
	if !c.changes {
		c.changes = true
		st.order = append(st.order, c)
	}
	return &c.change
}

// put stores a copy of r. A later put replaces it.
func (st *step) put(c *chat, r *rows.In, fresh bool) {
	ch := st.touch(c)
	for _, p := range ch.In {
		if p.Seq == r.Seq {
			p.In, p.Fresh = *r, p.Fresh || fresh
			return
		}
	}
	ch.In = append(ch.In, &rows.InPut{In: *r, Fresh: fresh})
}

// settle ends the waiting of r, in the given state.
func (st *step) settle(c *chat, r *rows.In, state, why string) {
	r.State, r.Why = state, why
	c.Waiting--
	st.put(c, r, false)
}

func (st *step) record(r rows.Record) { st.changes.Records = append(st.changes.Records, r) }

// open reads the waiting messages of c.
func (st *step) open(c *chat, light bool) []*rows.In {
	if !c.known {
		return nil
	}
	return pointers(st.inbox(c.Key, rows.QueueFilter{Open: true, Light: light}))
}

// bound returns the rows of list that are bound to turn, none if turn is "".
func bound(list []*rows.In, turn string) []*rows.In {
	return slices.DeleteFunc(slices.Clone(list), func(r *rows.In) bool { return turn == "" || r.Turn != turn })
}

// bySeq returns the row with that seq, or nil.
func bySeq(list []*rows.In, seq int64) *rows.In {
	for _, r := range list {
		if r.Seq == seq {
			return r
		}
	}
	return nil
}

// first returns a copy of the first value of seq, nil if seq is empty.
func first[T any](seq iter.Seq[T]) *T {
	for v := range seq {
		return &v
	}
	return nil
}

// pointers collects copies of the values of seq that may be changed.
func pointers[T any](seq iter.Seq[T]) (list []*T) {
	for v := range seq {
		list = append(list, &v)
	}
	return list
}

// sortedKeys returns a sorted copy of keys without repeats.
func sortedKeys(keys []channels.Key) []channels.Key {
	return slices.Compact(slices.SortedFunc(slices.Values(keys), func(a, b channels.Key) int { return cmp.Compare(a.String(), b.String()) }))
}
