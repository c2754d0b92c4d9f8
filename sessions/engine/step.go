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

// step is one atomic change on its way: what it read, and what it wants.
type step struct {
	ctx     context.Context
	r       rows.Reader
	now     time.Time
	chats   map[channels.Key]*chat
	order   []*chat // those that change
	changes rows.Changes
	days    map[string]int64 // generations begun, by day, where that changed
}

// chat is a key as a step sees it, its own changes included.
type chat struct {
	rows.Head
	known   bool // something was stored of it before
	waiting int  // inbox rows that wait
	change  *rows.Chat
}

// done is what the step wants.
func (st *step) done() rows.Changes {
	for _, c := range st.order {
		c.change.Head, c.change.Waiting = c.Head, c.waiting
		st.changes.Chats = append(st.changes.Chats, c.change)
	}
	if len(st.days) > 0 {
		st.changes.Records = append(st.changes.Records, rows.Record{Store: &rows.Store{Days: st.days}})
	}
	return st.changes
}

// chat finds k, whether or not something is stored of it.
func (st *step) chat(k channels.Key) (*chat, error) {
	if c := st.chats[k]; c != nil {
		return c, nil
	}
	h, known, err := st.r.Head(st.ctx, k)
	if err != nil {
		return nil, err
	}
	h.Key = k
	c := &chat{Head: h, known: known, waiting: h.Waiting}
	if h.Conversation != nil {
		own := *h.Conversation
		c.Conversation = &own
	}
	st.chats[k] = c
	return c, nil
}

// conversation finds k with its transcript. Errors: ErrNotFound.
func (st *step) conversation(k channels.Key) (*chat, error) {
	c, err := st.chat(k)
	if err == nil && c.Conversation == nil {
		err = notFound(k)
	}
	return c, err
}

func notFound(k channels.Key) error {
	return fmt.Errorf("%w: conversation %s", sessions.ErrNotFound, k)
}

// touch returns the change of c.
func (st *step) touch(c *chat) *rows.Chat {
	if c.change == nil {
		c.change = &rows.Chat{}
		st.order = append(st.order, c)
	}
	return c.change
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

// settle stores that r is no longer waiting.
func (st *step) settle(c *chat, r *rows.In, state, why string) {
	r.State, r.Why = state, why
	c.waiting--
	st.put(c, r, false)
}

func (st *step) record(r rows.Record) { st.changes.Records = append(st.changes.Records, r) }

// open reads the messages of c that wait.
func (st *step) open(c *chat, light bool) ([]*rows.In, error) {
	if !c.known {
		return nil, nil
	}
	return pointers(st.r.Inbox(st.ctx, c.Key, rows.Queued{Open: true, Light: light}))
}

// one reads the record that is named like this, if there is one.
func (st *step) one(like rows.Record) (r rows.Record, ok bool, err error) {
	for r, err = range st.r.Records(st.ctx, like) {
		return r, err == nil, err
	}
	return r, false, nil
}

// marked reports whether a mark was left.
func (st *step) marked(mark string) (bool, error) {
	_, yes, err := st.one(rows.Record{Mark: &mark})
	return yes, err
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

// first is the first that seq yields, nil if it yields nothing.
func first[T any](seq iter.Seq2[T, error]) (*T, error) {
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		return &v, nil
	}
	return nil, nil
}

// pointers collects what seq yields, to be changed.
func pointers[T any](seq iter.Seq2[T, error]) (list []*T, err error) {
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		list = append(list, &v)
	}
	return list, nil
}

// collect is pointers without them.
func collect[T any](seq iter.Seq2[T, error]) (list []T, err error) {
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// eachOnce is keys, sorted, each once.
func eachOnce(keys []channels.Key) []channels.Key {
	return slices.Compact(slices.SortedFunc(slices.Values(keys), func(a, b channels.Key) int { return cmp.Compare(a.String(), b.String()) }))
}
