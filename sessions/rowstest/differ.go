package rowstest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rowstest/reference"
)

// seedVariable has the seed of a comparison that is to be repeated.
const seedVariable = "DRAGOMAN_ROWS_SEED"

// likeTheReference makes random changes in b and in package reference. After each, both
// have to answer the same.
func likeTheReference(t *testing.T, b rows.Backend) {
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(seedVariable), fmt.Sprint(rand.Uint64())), 10, 64)
	must(t, err)
	d := &differ{T: t, r: rand.New(rand.NewPCG(seed, 0)), b: b, ref: reference.New(nil)}
	defer func() {
		t.Logf("%d changes, seed %d", d.n-1, seed)
		if t.Failed() {
			t.Logf("the last change:\n%s\nAgain: %s=%d", described(d.last), seedVariable, seed)
		}
	}()
	for _, some := range []rows.Backend{d.b, d.ref} { // which have random names
		put(t, some, rows.Changes{Name: new("first")})
	}
	began := time.Now()
	for d.n = 1; d.n <= 300 && !t.Failed() && time.Since(began) < 2*time.Second; d.n++ {
		d.step()
	}
}

// differ compares two backends.
type differ struct {
	*testing.T
	r      *rand.Rand
	b, ref rows.Backend
	n      int // the number of the step, for names that are used once
	names  int
	last   rows.Changes
}

// step makes a change in both, and reads before, during and after it.
func (d *differ) step() {
	within := d.draws(3)
	after := d.draws(6)
	snapshot := d.draws(3)
	changes, keys := d.changes()
	d.last = changes
	if d.r.IntN(2) == 0 {
		keys = nil
	}
	var got []any
	must(d.T, d.b.Update(d.Context(), keys, func(r rows.Reader) (_ rows.Changes, err error) {
		got, err = d.answers(r, within, true)
		return again(changes), err
	}))
	d.compare(" in a step", within, got, true)
	for _, ch := range changes.Chats {
		for _, o := range ch.Out {
			for stored, err := range d.b.Outbox(d.Context(), ch.Key, rows.QueueFilter{Seq: o.Seq}) {
				must(d.T, err)
				o.ID = cmp.Or(o.ID, stored.ID) // backends make different ids
			}
		}
	}
	must(d.T, d.ref.Update(d.Context(), keys, func(rows.Reader) (rows.Changes, error) { return again(changes), nil }))
	for _, ch := range changes.Chats {
		after = append(after, about(ch.Key)...)
	}
	got, err := d.answers(d.b, after, false)
	must(d.T, err)
	d.compare("", after, got, false)
	must(d.T, d.b.Snapshot(d.Context(), func(r rows.Reader) error {
		got, err = d.answers(r, snapshot, false)
		return err
	}))
	d.compare(" in a snapshot", snapshot, got, false)
	stats, err := d.b.Stats(d.Context())
	wantStats, err2 := d.ref.Stats(d.Context())
	must(d.T, errors.Join(err, err2))
	d.same("Stats", stats, wantStats)
}

// compare compares answers with those of the reference.
func (d *differ) compare(where string, list []question, got []any, inStep bool) {
	d.Helper()
	want, err := d.answers(d.ref, list, inStep)
	must(d.T, err)
	for i, q := range list {
		d.same(q.name+where, got[i], want[i])
	}
}

func (d *differ) same(what string, got, want any) {
	d.Helper()
	keys := gocmp.Comparer(func(a, b channels.Key) bool { return a == b })
	if diff := gocmp.Diff(want, got, keys, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(sessions.Delivery{}, "Node")); diff != "" {
		d.Errorf("%s (-reference +backend):\n%s", what, diff)
	}
}

// again is a copy of changes, because a backend may set fields of their rows.
func again(c rows.Changes) rows.Changes {
	chats := c.Chats
	c.Chats = nil
	for _, ch := range chats {
		one := *ch
		one.In, one.Out = copies(ch.In), copies(ch.Out)
		c.Chats = append(c.Chats, &one)
	}
	return c
}

func copies[T any](list []*T) (all []*T) {
	for _, p := range list {
		v := *p
		all = append(all, &v)
	}
	return all
}

// described prints changes for a person.
func described(c rows.Changes) string {
	var b strings.Builder
	for _, ch := range c.Chats {
		text, err := json.Marshal(struct {
			*rows.Chat
			Large []sessions.Message // a function, in rows.Chat
		}{ch, slices.Concat(slices.Collect(parts(ch.Large))...)})
		fmt.Fprintln(&b, string(text), err)
	}
	c.Chats = nil
	//lint:ignore SA1026 The chats, which have a function, are left out.
	text, err := json.Marshal(c)
	fmt.Fprint(&b, string(text), err)
	return b.String()
}

// question is a call of a method of rows.Reader. Its answer has only what the contract of
// the method promises. inStep says that it is asked in an update.
type question struct {
	name string
	ask  func(ctx context.Context, r rows.Reader, inStep bool) (any, error)
}

func (d *differ) answers(r rows.Reader, list []question, inStep bool) (all []any, err error) {
	for _, q := range list {
		answer, err := q.ask(context.WithoutCancel(d.Context()), r, inStep)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		all = append(all, answer)
	}
	return all, nil
}

// all is list with the error.
func all[T, V any](seq iter.Seq2[T, error], f func(T) V) (all []V, err error) {
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, f(v))
	}
	return all, nil
}

// draws are n random questions.
func (d *differ) draws(n int) (list []question) {
	for range n {
		k := d.key()
		list = append(list, pick(d.r,
			d.askHead, d.askHeads, d.askInbox, d.askInbox, d.askOutbox, d.askOutbox, d.askMessages, d.askMessages, d.askMessages, d.askRest, d.askRecords, d.askRecords, d.askSearch,
		)(k))
	}
	return list
}

// about are questions about everything of a key.
func about(k channels.Key) []question {
	list := []question{
		headOfKey(k), inboxOfKey(k, rows.QueueFilter{}), outboxOfKey(k, rows.QueueFilter{}), messagesOf(k, rows.MessageFilter{}, 0),
		recordsLike(rows.Record{Generation: &rows.Generation{Key: k}}), recordsLike(rows.Record{Summary: &rows.Summary{Key: k}}),
	}
	for _, turn := range turns {
		list = append(list, journalAnd(k, turn, ""))
	}
	return list
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// some is v, or most of the time the zero value.
func some[T any](r *rand.Rand, v T) (or T) {
	if r.IntN(4) == 0 {
		return v
	}
	return or
}

func (d *differ) askHead(k channels.Key) question { return headOfKey(k) }

func headOfKey(k channels.Key) question {
	return question{fmt.Sprintf("Head(%s)", k), func(ctx context.Context, r rows.Reader, inStep bool) (any, error) {
		h, ok, err := r.Head(ctx, k)
		if !inStep {
			h.Waiting, h.Claim = 0, 0
		}
		return []any{h, ok}, err
	}}
}

func (d *differ) askHeads(k channels.Key) question {
	order := pick(d.r, rows.ByKey, rows.Newest, rows.Newest, rows.Oldest, rows.Unowned)
	var after *sessions.Cursor
	if order != rows.Oldest && order != rows.Unowned && d.r.IntN(2) == 0 {
		after = &sessions.Cursor{Updated: d.time(), Key: k}
	}
	return question{fmt.Sprintf("Heads(%v, %+v)", order, after), func(ctx context.Context, r rows.Reader, _ bool) (any, error) {
		return all(r.Heads(ctx, order, after), func(h rows.Head) rows.Head {
			h.Waiting, h.Claim = 0, 0
			return h
		})
	}}
}

// filter is a random one for rows of both queues.
func (d *differ) filter(k channels.Key) (q rows.QueueFilter) {
	q = rows.QueueFilter{Open: d.r.IntN(2) == 0, Newest: some(d.r, true)}
	seq := d.r.Int64N(d.headOf(k).Seq + 2)
	if d.r.IntN(2) == 0 {
		q.Seq = some(d.r, seq)
	} else {
		q.Before = some(d.r, seq)
	}
	return q
}

func (d *differ) askInbox(k channels.Key) question {
	q := d.filter(k)
	q.MessageID = some(d.r, pick(d.r, messageIDs...))
	switch d.r.IntN(6) {
	case 0:
		q.Light = true
	case 1:
		q = rows.QueueFilter{Writers: true}
	case 2:
		q = rows.QueueFilter{Open: true, Light: d.r.IntN(2) == 0}
	case 3:
		k, q = channels.Key{}, rows.QueueFilter{Open: true}
	case 4:
		k, q = channels.Key{}, rows.QueueFilter{Since: noon.Add(time.Duration(d.r.IntN(5)) * time.Second)}
	}
	return inboxOfKey(k, q)
}

func inboxOfKey(k channels.Key, q rows.QueueFilter) question {
	return question{fmt.Sprintf("Inbox(%s, %+v)", k, q), func(ctx context.Context, r rows.Reader, _ bool) (any, error) {
		found, err := all(r.Inbox(ctx, k, q), func(in rows.In) rows.In {
			if q.Light {
				in.Inbound = channels.Inbound{Key: in.Inbound.Key}
				in.Job = ""
				in.JobDue = time.Time{}
			}
			if q.Writers {
				in = rows.In{Inbound: channels.Inbound{Key: in.Inbound.Key, Sender: in.Inbound.Sender, Private: in.Inbound.Private}}
			}
			return in
		})
		if q.Writers {
			return set(found, func(in rows.In) string { return fmt.Sprint(in.Inbound.Sender, in.Inbound.Private) }), err
		}
		if k.IsZero() {
			slices.SortFunc(found, func(a, b rows.In) int {
				return cmp.Or(cmp.Compare(a.Inbound.Key.String(), b.Inbound.Key.String()), cmp.Compare(a.Seq, b.Seq))
			})
		}
		return found, err
	}}
}

// set is a list without an order and repetitions.
func set[T any](list []T, text func(T) string) (all []string) {
	for _, v := range list {
		all = append(all, text(v))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (d *differ) askOutbox(k channels.Key) question {
	q := d.filter(k)
	q.Unsent = some(d.r, true)
	switch d.r.IntN(6) {
	case 0:
		q = rows.QueueFilter{Unsent: true}
	case 1:
		k, q = channels.Key{}, rows.QueueFilter{Open: true}
	case 2, 3:
		q = rows.QueueFilter{ID: "none"}
		for o, err := range d.ref.Outbox(d.Context(), d.key(), rows.QueueFilter{}) {
			must(d.T, err)
			q.ID = pick(d.r, q.ID, o.ID)
		}
		k = pick(d.r, k, channels.Key{})
	}
	return outboxOfKey(k, q)
}

func outboxOfKey(k channels.Key, q rows.QueueFilter) question {
	return question{fmt.Sprintf("Outbox(%s, %+v)", k, q), func(ctx context.Context, r rows.Reader, _ bool) (any, error) {
		found, err := all(r.Outbox(ctx, k, q), func(o rows.Out) rows.Out {
			o.Fresh = false
			return o
		})
		if k.IsZero() {
			slices.SortFunc(found, func(a, b rows.Out) int {
				return cmp.Or(cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.Seq, b.Seq))
			})
		}
		return found, err
	}}
}

func (d *differ) messageFilter(k channels.Key) rows.MessageFilter {
	last := d.headOf(k).MessageSeq
	return rows.MessageFilter{After: some(d.r, d.r.Int64N(last+2)), Before: some(d.r, d.r.Int64N(last+2)), Newest: d.r.IntN(2) == 0}
}

func (d *differ) askMessages(k channels.Key) question {
	q, most := d.messageFilter(k), some(d.r, 1+d.r.IntN(5))
	switch d.r.IntN(4) {
	case 0:
		q.Light = true
	case 1:
		q, most = rows.MessageFilter{Writers: true}, 0
	case 2:
		q.Newest, q.Again = true, true
	}
	return messagesOf(k, q, most)
}

func messagesOf(k channels.Key, q rows.MessageFilter, most int) question {
	return question{fmt.Sprintf("Messages(%s, %+v), at most %d", k, q, most), func(ctx context.Context, r rows.Reader, _ bool) (any, error) {
		var found []sessions.Message
		for m, err := range r.Messages(ctx, k, q) {
			if err != nil {
				return nil, err
			}
			if q.Light {
				m.Content = ""
			}
			found = append(found, m)
			if len(found) == most {
				break
			}
		}
		if q.Writers {
			found = slices.DeleteFunc(found, func(m sessions.Message) bool { return m.Role != sessions.RoleUser })
			return set(found, func(m sessions.Message) string { return fmt.Sprint(m.Sender, " ", m.Name) }), nil
		}
		return found, nil
	}}
}

// askRest asks for a journal, or for the seq of a message.
func (d *differ) askRest(k channels.Key) question {
	return journalAnd(k, pick(d.r, turns...), fmt.Sprint("id", d.r.IntN(d.names+1)))
}

func journalAnd(k channels.Key, turn, id string) question {
	m := channels.Inbound{Key: k, ID: id}
	return question{fmt.Sprintf("Journal and Accepted(%s, %s, %s)", k, turn, m.ID), func(ctx context.Context, r rows.Reader, _ bool) (any, error) {
		steps, err := r.Journal(ctx, k, turn)
		if err != nil {
			return nil, err
		}
		seq, ok, err := r.Accepted(ctx, m)
		return []any{steps, seq, ok}, err
	}}
}

func (d *differ) askRecords(k channels.Key) question {
	like := pick(d.r, d.named(), d.named(), d.named(),
		rows.Record{Generation: &rows.Generation{Key: pick(d.r, k, channels.Key{}), Generation: sessions.Generation{ID: some(d.r, generation(1+d.r.IntN(d.names+1)))}}},
		rows.Record{Summary: &rows.Summary{Key: k}}, rows.Record{Store: &rows.Store{Days: some(d.r, map[string]int64{"20260502": 0})}},
		rows.Record{Mark: new("")}, rows.Record{Mark: new(fmt.Sprint("mark", d.r.IntN(d.names+1)))})
	return recordsLike(like)
}

func recordsLike(like rows.Record) question {
	return question{"Records(" + described(rows.Changes{Records: []rows.Record{like}}) + ")", func(ctx context.Context, r rows.Reader, _ bool) (any, error) {
		return all(r.Records(ctx, like), func(r rows.Record) rows.Record {
			if s := r.Store; s != nil && len(like.Store.Days) > 0 {
				r.Store = &rows.Store{Name: s.Name, LastFact: s.LastFact, Days: map[string]int64{"20260502": s.Days["20260502"]}}
			}
			return r
		})
	}}
}

func (d *differ) askSearch(k channels.Key) question {
	w := rows.WordSearch{All: d.r.IntN(2) == 0}
	for range 1 + d.r.IntN(3) {
		if word := pick(d.r, searched...); !slices.Contains(w.Query, word) {
			w.Query = append(w.Query, word)
		}
	}
	if d.r.IntN(3) > 0 {
		w.Key, w.MessageFilter = k, d.messageFilter(k)
	}
	return question{fmt.Sprintf("Search(%+v)", w), func(ctx context.Context, r rows.Reader, _ bool) (any, error) {
		found, err := all(r.Search(ctx, w), func(f sessions.Found) sessions.Found { return f })
		if w.Key.IsZero() {
			slices.SortFunc(found, func(a, b sessions.Found) int {
				return cmp.Or(cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.Message.Seq, b.Message.Seq))
			})
		}
		return found, err
	}}
}

// headOf is the head of k before the change.
func (d *differ) headOf(k channels.Key) rows.Head {
	h, _, err := d.ref.Head(context.WithoutCancel(d.Context()), k)
	must(d.T, err)
	h.Key = k
	return h
}
