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

// view reads rows. It keeps the first error, which ends every later read: code
// that reads does not look at each error, but its caller looks at err before it
// uses a result.
type view struct {
	ctx context.Context
	r   rows.Reader
	err error
}

func (v *view) fail(err error) {
	if v.err == nil {
		v.err = err
	}
}

// each is seq up to its error, which v keeps.
func each[T any](v *view, seq iter.Seq2[T, error]) iter.Seq[T] {
	return func(yield func(T) bool) {
		if v.err != nil {
			return
		}
		for x, err := range seq {
			if err != nil {
				v.fail(err)
				return
			}
			if !yield(x) || v.err != nil {
				return
			}
		}
	}
}

func (v *view) heads(o rows.Order) iter.Seq[rows.Head] { return each(v, v.r.Heads(v.ctx, o, nil)) }

func (v *view) inbox(k channels.Key, q rows.Queued) iter.Seq[rows.In] {
	return each(v, v.r.Inbox(v.ctx, k, q))
}

func (v *view) outbox(k channels.Key, q rows.Queued) iter.Seq[rows.Out] {
	return each(v, v.r.Outbox(v.ctx, k, q))
}

func (v *view) messages(k channels.Key, q rows.Said) iter.Seq[sessions.Message] {
	return each(v, v.r.Messages(v.ctx, k, q))
}

func (v *view) records(like rows.Record) iter.Seq[rows.Record] {
	return each(v, v.r.Records(v.ctx, like))
}

// one reads the record with this name, if there is one.
func (v *view) one(like rows.Record) (rows.Record, bool) {
	for r := range v.records(like) {
		return r, true
	}
	return rows.Record{}, false
}

// marked reports whether a mark was left.
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

// generations are those of k, oldest first.
func (v *view) generations(k channels.Key) (list []sessions.Generation) {
	for r := range v.records(rows.Record{Generation: &rows.Generation{Key: k}}) {
		list = append(list, r.Generation.Generation)
	}
	return list
}

// summaries are those of the current generation of k, oldest first.
func (v *view) summaries(k channels.Key) (list []sessions.Summary) {
	for r := range v.records(rows.Record{Summary: &rows.Summary{Key: k}}) {
		list = append(list, r.Summary.Summary)
	}
	return list
}

// step is one atomic change in the making: what it read, and its changes. It is
// given up if a read fails, so it may go on with the zero values of that read.
type step struct {
	view
	now     time.Time
	chats   map[channels.Key]*chat
	order   []*chat // those that change
	changes rows.Changes
	days    map[string]int64 // generations begun, by day, where that changed; nil before
}

// chat is a key as a step sees it, with the step's changes.
type chat struct {
	rows.Head
	known   bool // something was stored of it before
	waiting int  // inbox rows that wait

	change  rows.Chat
	changes bool
	own     rows.Conversation // the Conversation of a step that found one
}

// done returns the changes.
func (st *step) done() rows.Changes {
	for _, c := range st.order {
		c.change.Head, c.change.Waiting = c.Head, c.waiting
		st.changes.Chats = append(st.changes.Chats, &c.change)
	}
	if len(st.days) > 0 {
		st.changes.Records = append(st.changes.Records, rows.Record{Store: &rows.Store{Days: st.days}})
	}
	return st.changes
}

// chat finds k, whether or not something is stored of it.
func (st *step) chat(k channels.Key) *chat {
	if c := st.chats[k]; c != nil {
		return c
	}
	h, known := st.head(k)
	h.Key = k
	c := &chat{Head: h, known: known, waiting: h.Waiting}
	if h.Conversation != nil {
		c.own = *h.Conversation
		c.Conversation = &c.own
	}
	st.chats[k] = c
	return c
}

func notFound(k channels.Key) error {
	return fmt.Errorf("%w: conversation %s", sessions.ErrNotFound, k)
}

// touch returns the change of c.
func (st *step) touch(c *chat) *rows.Chat {
	if !c.changes {
		c.changes = true
		st.order = append(st.order, c)
	}
	return &c.change
}

// put stores r. It is called once r is as it is to be, and again if it changes
// again.
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

// settle stores that r no longer waits.
func (st *step) settle(c *chat, r *rows.In, state, why string) {
	r.State, r.Why = state, why
	c.waiting--
	st.put(c, r, false)
}

func (st *step) record(r rows.Record) { st.changes.Records = append(st.changes.Records, r) }

// open reads the messages of c that wait.
func (st *step) open(c *chat, light bool) []*rows.In {
	if !c.known {
		return nil
	}
	return pointers(st.inbox(c.Key, rows.Queued{Open: true, Light: light}))
}

// bound are those of rows that belong to turn.
func bound(list []*rows.In, turn string) []*rows.In {
	return slices.DeleteFunc(slices.Clone(list), func(r *rows.In) bool { return turn == "" || r.Turn != turn })
}

// bySeq finds a row.
func bySeq(list []*rows.In, seq int64) *rows.In {
	for _, r := range list {
		if r.Seq == seq {
			return r
		}
	}
	return nil
}

// first is the first of seq, nil if it is empty.
func first[T any](seq iter.Seq[T]) *T {
	for v := range seq {
		return &v
	}
	return nil
}

// pointers collects seq, to be changed.
func pointers[T any](seq iter.Seq[T]) (list []*T) {
	for v := range seq {
		list = append(list, &v)
	}
	return list
}

// eachOnce is keys, sorted, each once.
func eachOnce(keys []channels.Key) []channels.Key {
	return slices.Compact(slices.SortedFunc(slices.Values(keys), func(a, b channels.Key) int { return cmp.Compare(a.String(), b.String()) }))
}
