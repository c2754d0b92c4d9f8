// Package rowstest is the conformance suite of package rows: the contract of a
// backend as tests. A backend's tests call [Run].
package rowstest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// Run tests a backend. open makes an empty one and registers its Close with
// t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) rows.Backend) {
	for name, test := range map[string]func(*testing.T, rows.Backend){
		"AnErrorChangesNothing":   anErrorChangesNothing,
		"APanicChangesNothing":    aPanicChangesNothing,
		"StepsSeeEachOther":       stepsSeeEachOther,
		"RowsByWhatIsAsked":       rowsByWhatIsAsked,
		"RowsSinceATime":          rowsSinceATime,
		"LightRowsKeepTheirWords": lightRowsKeepTheirWords,
		"DeletedRowsLeaveMarks":   deletedRowsLeaveMarks,
		"Messages":                messages,
		"Rewritten":               rewritten,
		"Large":                   largeChanges,
		"Moves":                   moves,
		"Heads":                   heads,
		"RecordsByExample":        recordsByExample,
		"Notes":                   notesByExample,
		"Counts":                  counts,
		"NotesAreLocked":          notesAreLocked,
		"OrderOfChanges":          orderOfChanges,
		"Locks":                   locks,
		"Generations":             generations,
		"Claims":                  claims,
		"ASnapshotStaysAsItWas":   aSnapshotStays,
		"LikeTheReference":        likeTheReference,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

var (
	k1, k2  = channels.MustKey("x:1"), channels.MustKey("x:2")
	noon    = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	errMine = errors.New("mine")
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b channels.Key) bool { return a == b })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// put makes changes.
func put(t *testing.T, b rows.Backend, changes rows.Changes) {
	t.Helper()
	must(t, b.Update(t.Context(), nil, func(rows.Reader) (rows.Changes, error) { return changes, nil }))
}

func of(list ...*rows.Chat) rows.Changes { return rows.Changes{Chats: list} }

// said is a chat of n messages, which begin a generation.
func said(k channels.Key, generation string, n int) *rows.Chat {
	ch := &rows.Chat{Head: rows.Head{Key: k, MessageSeq: int64(n), Conversation: &rows.Conversation{
		Generation: generation, Created: noon, Updated: noon, Messages: n,
	}}, Begun: []sessions.Generation{{ID: generation, FirstSeq: 1, Began: noon}}}
	for i := range n {
		ch.Messages = append(ch.Messages, sessions.Message{Seq: int64(i + 1), Role: sessions.RoleUser, Content: fmt.Sprint("word", i+1), At: noon})
	}
	return ch
}

// in is an inbox row of k.
func in(k channels.Key, seq int64, state string) *rows.InPut {
	return &rows.InPut{Fresh: true, In: rows.In{
		Seq: seq, State: state, Source: sessions.SourceChat, Accepted: noon,
		Inbound: channels.Inbound{Key: k, ID: fmt.Sprint(k, seq), MessageID: fmt.Sprint("m", seq%2), Text: fmt.Sprint("text ", seq), Sender: channels.Person{IDs: []string{"7"}}},
	}}
}

func out(k channels.Key, seq int64, state sessions.DeliveryState) *rows.Out {
	return &rows.Out{Fresh: true, OutboxRecord: sessions.OutboxRecord{Delivery: sessions.Delivery{Key: k, Seq: seq, State: state, Text: fmt.Sprint("reply ", seq), Created: noon}}}
}

// queues is a chat with rows of both queues, of which waiting wait.
func queues(k channels.Key, seq int64, waiting int, inbox []*rows.InPut, outbox ...*rows.Out) *rows.Chat {
	return &rows.Chat{Head: rows.Head{Key: k, Seq: seq, Waiting: waiting}, In: inbox, Out: outbox}
}

func list[T, V any](t *testing.T, seq iter.Seq2[T, error], f func(T) V) (all []V) {
	t.Helper()
	for v, err := range seq {
		must(t, err)
		all = append(all, f(v))
	}
	return all
}

func inSeq(r rows.In) int64               { return r.Seq }
func outSeq(o rows.Out) int64             { return o.Seq }
func content(m sessions.Message) string   { return m.Content }
func messageSeq(m sessions.Message) int64 { return m.Seq }
func headKey(h rows.Head) string          { return h.Key.String() }
func name(r rows.Record) string           { return r.Fact.Text }
func inboxOf(t *testing.T, r rows.Reader, q rows.QueueFilter) []int64 {
	t.Helper()
	return list(t, r.Inbox(t.Context(), k1, q), inSeq)
}

func marks(t *testing.T, r rows.Reader, like string) []string {
	t.Helper()
	return list(t, r.Records(t.Context(), rows.Record{Mark: &like}), func(r rows.Record) string { return *r.Mark })
}

func anErrorChangesNothing(t *testing.T, b rows.Backend) {
	put(t, b, of(said(k1, "20260501_001", 1)))
	err := b.Update(t.Context(), nil, func(rows.Reader) (rows.Changes, error) {
		return of(said(k2, "20260501_002", 1)), errMine
	})
	if !errors.Is(err, errMine) {
		t.Errorf("Update = %v, want the error of the step", err)
	}
	same(t, "heads", list(t, b.Heads(t.Context(), rows.ByKey, nil), headKey), []string{"x:1"})
}

func aPanicChangesNothing(t *testing.T, b rows.Backend) {
	func() {
		defer func() { _ = recover() }()
		err := b.Update(t.Context(), nil, func(rows.Reader) (rows.Changes, error) { panic("of the step") })
		if err == nil {
			t.Error("Update with a step that panics = nil")
		}
	}()
	put(t, b, of(said(k1, "20260501_001", 1)))
	same(t, "heads", list(t, b.Heads(t.Context(), rows.ByKey, nil), headKey), []string{"x:1"})
}

// stepsSeeEachOther: each of several concurrent steps sees the changes of those
// before it, even if they share a commit.
func stepsSeeEachOther(t *testing.T, b rows.Backend) {
	const many = 50
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			err := b.Update(context.WithoutCancel(t.Context()), []channels.Key{k1}, func(r rows.Reader) (rows.Changes, error) {
				h, _, err := r.Head(t.Context(), k1)
				return of(queues(k1, h.Seq+1, h.Waiting+1, []*rows.InPut{in(k1, h.Seq+1, rules.InWaiting)})), err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	h, ok, err := b.Head(t.Context(), k1)
	if err != nil || !ok || h.Seq != many {
		t.Errorf("Head = %+v, %v, %v, want seq %d", h, ok, err, many)
	}
	if got := inboxOf(t, b, rows.QueueFilter{}); len(got) != many {
		t.Errorf("%d rows, want %d", len(got), many)
	}
}

// locks: updates of the same keys, named in any order or not at all, do not overwrite
// each other, and all of them end.
func locks(t *testing.T, b rows.Backend) {
	keys := []channels.Key{k1, k2, channels.MustKey("x:3")}
	const each = 20
	var all sync.WaitGroup
	for i := range 6 {
		from, to := keys[i%3], keys[(i+1+i/3)%3]
		named := map[bool][]channels.Key{true: {from, to}, false: {to, from}}[i%2 == 0]
		if i == 5 {
			named = nil
		}
		all.Go(func() {
			for range each {
				err := b.Update(context.WithoutCancel(t.Context()), named, func(r rows.Reader) (changes rows.Changes, err error) {
					for _, k := range []channels.Key{from, to} {
						h, _, err := r.Head(t.Context(), k)
						if err != nil {
							return changes, err
						}
						changes.Chats = append(changes.Chats, queues(k, h.Seq+1, 0, []*rows.InPut{in(k, h.Seq+1, rules.InDone)}))
					}
					return changes, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	total := 0
	for _, k := range keys {
		h, _, err := b.Head(t.Context(), k)
		must(t, err)
		n := len(list(t, b.Inbox(t.Context(), k, rows.QueueFilter{}), inSeq))
		total += n
		if n != int(h.Seq) {
			t.Errorf("%s has seq %d and %d rows", k, h.Seq, n)
		}
	}
	if want := 6 * each * 2; total != want {
		t.Errorf("%d rows, want %d", total, want)
	}
}

// orderOfChanges: deletions are applied before additions, within a key and for
// records.
func orderOfChanges(t *testing.T, b rows.Backend) {
	fact := func(id int64) rows.Record {
		return rows.Record{Fact: &sessions.FactRecord{Scope: "a", Fact: sessions.Fact{ID: id, Text: fmt.Sprint("a", id), At: noon}}}
	}
	step := func(name string) []rows.Step {
		return []rows.Step{{Turn: "t", Step: sessions.Step{Kind: sessions.StepNote, CallID: name, At: noon}}}
	}
	first := said(k1, "20260501_001", 2)
	first.Seq = 1
	first.In = []*rows.InPut{in(k1, 1, rules.InDone)}
	first.Steps = step("old")
	put(t, b, rows.Changes{Chats: []*rows.Chat{first}, Records: []rows.Record{fact(1)}})
	anew := said(k1, "20260501_002", 1)
	anew.Seq = 2
	anew.In = []*rows.InPut{in(k1, 2, rules.InDone)}
	anew.Steps = step("new")
	anew.Ended = []string{"t"}
	anew.Cleared, anew.DropFinished = true, true
	put(t, b, rows.Changes{Chats: []*rows.Chat{anew}, Removed: []rows.Record{{Fact: &sessions.FactRecord{Scope: "a"}}}, Records: []rows.Record{fact(2)}})
	same(t, "rows", inboxOf(t, b, rows.QueueFilter{}), []int64{2})
	same(t, "messages", list(t, b.Messages(t.Context(), k1, rows.MessageFilter{}), content), []string{"word1"})
	same(t, "facts", list(t, b.Records(t.Context(), rows.Record{Fact: &sessions.FactRecord{}}), name), []string{"a2"})
	steps, err := b.Journal(t.Context(), k1, "t")
	must(t, err)
	if len(steps) != 1 || steps[0].CallID != "new" {
		t.Errorf("Journal = %+v, want the new step", steps)
	}
}

func rowsByWhatIsAsked(t *testing.T, b rows.Backend) {
	put(t, b, of(queues(k1, 6, 2, []*rows.InPut{in(k1, 1, rules.InDone), in(k1, 2, rules.InWaiting), in(k1, 3, rules.InWaiting)},
		out(k1, 4, sessions.DeliverySent), out(k1, 5, sessions.DeliveryDead), out(k1, 6, sessions.DeliveryQueued))))
	for _, test := range []struct {
		q    rows.QueueFilter
		want []int64
	}{
		{rows.QueueFilter{}, []int64{1, 2, 3}},
		{rows.QueueFilter{Open: true}, []int64{2, 3}},
		{rows.QueueFilter{Open: true, Light: true}, []int64{2, 3}},
		{rows.QueueFilter{Open: true, Newest: true}, []int64{3, 2}},
		{rows.QueueFilter{Open: true, Before: 3}, []int64{2}},
		{rows.QueueFilter{Open: true, Seq: 3}, []int64{3}},
		{rows.QueueFilter{Seq: 2}, []int64{2}},
		{rows.QueueFilter{MessageID: "m1", Newest: true}, []int64{3, 1}},
		{rows.QueueFilter{Before: 3, Newest: true}, []int64{2, 1}},
	} {
		same(t, fmt.Sprintf("Inbox(%+v)", test.q), inboxOf(t, b, test.q), test.want)
		must(t, b.Update(t.Context(), nil, func(r rows.Reader) (rows.Changes, error) {
			same(t, fmt.Sprintf("Inbox(%+v) in a step", test.q), inboxOf(t, r, test.q), test.want)
			return rows.Changes{}, nil
		}))
	}
	outbox := func(k channels.Key, q rows.QueueFilter) []int64 { return list(t, b.Outbox(t.Context(), k, q), outSeq) }
	same(t, "Outbox", outbox(k1, rows.QueueFilter{Newest: true}), []int64{6, 5, 4})
	same(t, "open deliveries", outbox(k1, rows.QueueFilter{Open: true}), []int64{5, 6})
	same(t, "unsent deliveries", outbox(k1, rows.QueueFilter{Unsent: true}), []int64{6})
	same(t, "unsent deliveries before it", outbox(k1, rows.QueueFilter{Unsent: true, Before: 6}), []int64(nil))
	all := list(t, b.Outbox(t.Context(), k1, rows.QueueFilter{}), func(o rows.Out) string { return o.ID })
	if slices.Contains(all, "") || len(slices.Compact(slices.Sorted(slices.Values(all)))) != 3 {
		t.Errorf("deliveries are called %q", all)
	}
	same(t, "a delivery", outbox(channels.Key{}, rows.QueueFilter{ID: all[1]}), []int64{5})
	same(t, "a delivery of another", outbox(k2, rows.QueueFilter{ID: all[1]}), []int64(nil))
}

// lightRowsKeepTheirWords: a row that was read light keeps its text when it is put
// back.
func lightRowsKeepTheirWords(t *testing.T, b rows.Backend) {
	put(t, b, of(queues(k1, 1, 1, []*rows.InPut{in(k1, 1, rules.InWaiting)})))
	must(t, b.Update(t.Context(), nil, func(r rows.Reader) (rows.Changes, error) {
		for row, err := range r.Inbox(t.Context(), k1, rows.QueueFilter{Open: true, Light: true}) {
			row.State, row.Why = rules.InDone, "answered"
			return of(queues(k1, 1, 0, []*rows.InPut{{In: row}})), err
		}
		return rows.Changes{}, errMine
	}))
	for row, err := range b.Inbox(t.Context(), k1, rows.QueueFilter{}) {
		must(t, err)
		if row.Inbound.Text != "text 1" || row.State != rules.InDone || row.Why != "answered" || len(row.Inbound.Sender.IDs) != 1 {
			t.Errorf("the row is %+v", row)
		}
	}
}

func deletedRowsLeaveMarks(t *testing.T, b rows.Backend) {
	put(t, b, of(queues(k1, 3, 1, []*rows.InPut{in(k1, 1, rules.InDone), in(k1, 2, rules.InWaiting), in(k1, 3, rules.InDone)})))
	gone := &rows.Chat{Head: rows.Head{Key: k1, Seq: 3, Waiting: 1}, DropFinished: true}
	put(t, b, of(gone))
	same(t, "rows that wait", inboxOf(t, b, rows.QueueFilter{}), []int64{2})
	for seq := range int64(3) {
		m := in(k1, seq+1, "").Inbound
		marked := len(marks(t, b, rules.Hash(rules.Dedupe(m)))) > 0
		_, accepted, err := b.Accepted(t.Context(), m)
		must(t, err)
		if waits := seq+1 == 2; marked == waits || accepted != waits {
			t.Errorf("message %d is marked: %v, accepted: %v", seq+1, marked, accepted)
		}
	}
	put(t, b, of(&rows.Chat{Head: rows.Head{Key: k1}, Gone: true}))
	if _, ok, err := b.Head(t.Context(), k1); ok || err != nil {
		t.Errorf("Head of a deleted key = %v, %v", ok, err)
	}
	if all := marks(t, b, ""); len(all) != 5 || !slices.IsSorted(all) {
		t.Errorf("marks = %q, want two of each id and one of each message id", all)
	}
}

func messages(t *testing.T, b rows.Backend) {
	put(t, b, of(said(k1, "20260501_001", 700))) // more than is kept in memory, and than one part
	for _, test := range []struct {
		q           rows.MessageFilter
		n           int
		first, last int64
	}{
		{rows.MessageFilter{}, 700, 1, 700},
		{rows.MessageFilter{Newest: true}, 700, 700, 1},
		{rows.MessageFilter{Newest: true, Again: true}, 700, 700, 1},
		{rows.MessageFilter{After: 10, Before: 13}, 2, 11, 12},
		{rows.MessageFilter{After: 698, Newest: true}, 2, 700, 699},
		{rows.MessageFilter{Light: true}, 700, 1, 700},
	} {
		got := list(t, b.Messages(t.Context(), k1, test.q), messageSeq)
		if len(got) != test.n || got[0] != test.first || got[len(got)-1] != test.last {
			t.Errorf("Messages(%+v) = %d from %v", test.q, len(got), got[:min(3, len(got))])
		}
	}
	same(t, "found messages", found(t, b, k1, "word300"), []int64{300})
}

// found are the seqs of the messages of k with all of words.
func found(t *testing.T, b rows.Backend, k channels.Key, words ...string) []int64 {
	t.Helper()
	return list(t, b.Search(t.Context(), rows.WordSearch{Query: words, All: true, Key: k}), func(f sessions.Found) int64 { return f.Message.Seq })
}

// largeChanges: the messages of Large are all stored or none, before the others.
func largeChanges(t *testing.T, b rows.Backend) {
	const stretches, each = 6, 300
	change := func(end error) *rows.Chat {
		ch := said(k1, "20260501_001", stretches*each+1)
		all := ch.Messages
		ch.Messages = all[stretches*each:]
		ch.Large = func(yield func([]sessions.Message, error) bool) {
			for part := range slices.Chunk(all[:stretches*each], each) {
				if !yield(part, nil) {
					return
				}
			}
			if end != nil {
				yield(nil, end)
			}
		}
		return ch
	}
	update := func(end error) error {
		return b.Update(t.Context(), nil, func(rows.Reader) (rows.Changes, error) { return of(change(end)), nil })
	}
	if err := update(errMine); !errors.Is(err, errMine) {
		t.Errorf("Update = %v, want the error of Large", err)
	}
	same(t, "heads", list(t, b.Heads(t.Context(), rows.ByKey, nil), headKey), []string(nil))
	same(t, "messages after a failure", list(t, b.Messages(t.Context(), k1, rows.MessageFilter{}), messageSeq), []int64(nil))
	must(t, update(nil))
	got := list(t, b.Messages(t.Context(), k1, rows.MessageFilter{}), content)
	if n := len(got); n != stretches*each+1 || got[0] != "word1" || got[n-1] != fmt.Sprint("word", n) {
		t.Errorf("%d messages are there, from %q", n, got[:min(2, n)])
	}
	same(t, "found messages", found(t, b, k1, "word700"), []int64{700})
}

func rewritten(t *testing.T, b rows.Backend) {
	put(t, b, of(said(k1, "20260501_001", 3)))
	before := list(t, b.Messages(t.Context(), k1, rows.MessageFilter{Newest: true}), content)
	change := said(k1, "20260501_001", 3)
	change.Begun, change.Messages = nil, nil
	change.Rewritten = []sessions.Message{{Seq: 2, Role: sessions.RoleUser, Content: "other", At: noon}}
	put(t, b, of(change))
	same(t, "messages before", before, []string{"word3", "word2", "word1"})
	same(t, "messages", list(t, b.Messages(t.Context(), k1, rows.MessageFilter{Newest: true}), content), []string{"word3", "other", "word1"})
	for word, want := range map[string]int{"word2": 0, "other": 1} {
		if n := len(found(t, b, k1, word)); n != want {
			t.Errorf("%d messages with %q, want %d", n, word, want)
		}
	}
}

func moves(t *testing.T, b rows.Backend) {
	one, two := said(k1, "20260501_001", 2), said(k2, "20260501_002", 2)
	one.Seq = 1
	one.Waiting = 1
	one.In = []*rows.InPut{in(k1, 1, rules.InWaiting)}
	two.Seq = 1
	two.Waiting = 1
	two.In = []*rows.InPut{in(k2, 1, rules.InWaiting)}
	step := func(about string) []rows.Step {
		return []rows.Step{{Turn: "t", Step: sessions.Step{Kind: sessions.StepSteer, Message: &sessions.Message{Role: sessions.RoleUser, Content: about}, At: noon}}}
	}
	one.Steps, two.Steps = step("one"), step("two")
	put(t, b, of(one, two))
	joined := &rows.Chat{
		Head:  rows.Head{Key: k2, Seq: 3, MessageSeq: 6, Waiting: 2, Conversation: &rows.Conversation{Generation: "20260501_002", From: 2, Messages: 4, Created: noon, Updated: noon}},
		Moves: []rows.Move{{From: k2, Queues: 2, Message: 4}, {From: k1, Queues: 1, Message: 2}},
		Reset: true, Begun: []sessions.Generation{{ID: "20260501_002", FirstSeq: 3, Began: noon}},
	}
	left := &rows.Chat{Head: rows.Head{Key: k1, Seq: 1, MessageSeq: 2}, Cleared: true}
	put(t, b, of(joined, left))
	same(t, "messages", list(t, b.Messages(t.Context(), k2, rows.MessageFilter{}), messageSeq), []int64{3, 4, 5, 6})
	same(t, "rows", list(t, b.Inbox(t.Context(), k2, rows.QueueFilter{Open: true}), func(r rows.In) string { return fmt.Sprint(r.Seq, r.Inbound.Key, r.Inbound.ID) }), []string{"2 x:2x:1 1", "3 x:2x:2 1"})
	same(t, "remaining rows", inboxOf(t, b, rows.QueueFilter{}), []int64(nil))
	for k, want := range map[channels.Key]int64{k1: 2, k2: 3} {
		if seq, ok, err := b.Accepted(t.Context(), in(k, 1, "").Inbound); seq != want || !ok || err != nil {
			t.Errorf("Accepted of the message of %s = %d, %t, %v, want %d", k, seq, ok, err, want)
		}
	}
	steps, err := b.Journal(t.Context(), k2, "t")
	if err != nil || len(steps) != 1 || steps[0].Message.Content != "one" {
		t.Errorf("Journal = %+v, %v, want the one that was moved", steps, err)
	}
	same(t, "found messages", found(t, b, k2, "word1"), []int64{3, 5})
}

// generations: generations and summaries are read as records, by key; a generation
// also by its ID.
func generations(t *testing.T, b rows.Backend) {
	one, two := said(k1, "20260501_001", 3), said(k2, "20260501_003", 1)
	one.Summaries = []sessions.Summary{{Text: "before", CoversSeq: 1, Generation: "20260501_001", At: noon}}
	one.Conversation.Covers = 1
	put(t, b, of(one, two))
	ids := func(like rows.Generation) []string {
		return list(t, b.Records(t.Context(), rows.Record{Generation: &like}), func(r rows.Record) string {
			return fmt.Sprint(r.Generation.Key, " ", r.Generation.ID, " ", r.Generation.FirstSeq)
		})
	}
	texts := func(k channels.Key) []string {
		return list(t, b.Records(t.Context(), rows.Record{Summary: &rows.Summary{Key: k}}), func(r rows.Record) string {
			return fmt.Sprint(r.Summary.Key, " ", r.Summary.Text, " ", r.Summary.CoversSeq)
		})
	}
	same(t, "summaries", texts(k1), []string{"x:1 before 1"})
	same(t, "summaries of another", texts(k2), []string(nil))
	next := said(k1, "20260501_002", 3)
	next.Conversation.From = 3
	next.Messages = nil
	next.Begun[0].FirstSeq = 4
	put(t, b, of(next))
	same(t, "generations", ids(rows.Generation{Key: k1}), []string{"x:1 20260501_001 1", "x:1 20260501_002 4"})
	same(t, "generations of an unknown key", ids(rows.Generation{Key: channels.MustKey("x:9")}), []string(nil))
	same(t, "one by its ID", ids(rows.Generation{Generation: sessions.Generation{ID: "20260501_003"}}), []string{"x:2 20260501_003 1"})
	same(t, "none by its ID", ids(rows.Generation{Generation: sessions.Generation{ID: "20260501_004"}}), []string(nil))
	same(t, "summaries of a new generation", texts(k1), []string(nil))
	put(t, b, of(&rows.Chat{Head: rows.Head{Key: k2, MessageSeq: 1}, Cleared: true, DropFinished: true}))
	same(t, "one that was deleted", ids(rows.Generation{Generation: sessions.Generation{ID: "20260501_003"}}), []string(nil))
}

// claims: a step sees the epoch of the live claim in the head.
func claims(t *testing.T, b rows.Backend) {
	claim := func() (epoch int64) {
		must(t, b.Update(t.Context(), []channels.Key{k1}, func(r rows.Reader) (rows.Changes, error) {
			h, _, err := r.Head(t.Context(), k1)
			epoch = h.Claim
			return rows.Changes{}, err
		}))
		return epoch
	}
	put(t, b, of(queues(k1, 1, 1, []*rows.InPut{in(k1, 1, rules.InWaiting)})))
	if got := claim(); got != 0 {
		t.Errorf("Claim = %d before Run, want 0", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	var run sync.WaitGroup
	claimed := make(chan sessions.Claim)
	run.Go(func() {
		err := b.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			select {
			case claimed <- c:
				<-ctx.Done()
			case <-ctx.Done():
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	c := <-claimed
	if got := claim(); c.Key != k1 || got != c.Epoch || b.Live(c) != nil {
		t.Errorf("Claim = %d and Live = %v under the claim %+v", got, b.Live(c), c)
	}
	put(t, b, rows.Changes{Fenced: []channels.Key{k1}})
	if err := b.Live(c); !errors.Is(err, sessions.ErrFenced) {
		t.Errorf("Live of a fenced claim = %v", err)
	}
	if next := <-claimed; next.Epoch <= c.Epoch || claim() != next.Epoch {
		t.Errorf("the next claim is %+v, after %+v", next, c)
	}
	stop()
	run.Wait()
}

func recordsByExample(t *testing.T, b rows.Backend) {
	about := func() rows.Store {
		t.Helper()
		stores := list(t, b.Records(t.Context(), rows.Record{Store: &rows.Store{}}), func(r rows.Record) rows.Store { return *r.Store })
		if len(stores) != 1 || stores[0].Name == "" {
			t.Fatalf("the store is %+v, want one with a name", stores)
		}
		return stores[0]
	}
	about()
	fact := func(scope string, id int64) rows.Record {
		return rows.Record{Fact: &sessions.FactRecord{Scope: scope, Fact: sessions.Fact{ID: id, Text: fmt.Sprint(scope, id), At: noon}}}
	}
	put(t, b, rows.Changes{Records: []rows.Record{fact("b", 1), fact("a", 3), fact("a", 2)}})
	names := func(like rows.Record) []string { return list(t, b.Records(t.Context(), like), name) }
	same(t, "all", names(rows.Record{Fact: &sessions.FactRecord{}}), []string{"a2", "a3", "b1"})
	same(t, "of a scope", names(rows.Record{Fact: &sessions.FactRecord{Scope: "a"}}), []string{"a2", "a3"})
	put(t, b, rows.Changes{Removed: []rows.Record{fact("a", 3)}})
	if last := about().LastFact; last != 3 {
		t.Errorf("LastFact = %d after the last fact was removed, want 3", last)
	}
	put(t, b, rows.Changes{Removed: []rows.Record{{Fact: &sessions.FactRecord{Scope: "a"}}}})
	same(t, "after a scope was removed", names(rows.Record{Fact: &sessions.FactRecord{}}), []string{"b1"})
	aside := func(id string, dropped bool) rows.Record {
		return rows.Record{Quarantined: &sessions.QuarantineRecord{Quarantined: sessions.Quarantined{Channel: "x", ID: id}, At: noon, Dropped: dropped}}
	}
	put(t, b, rows.Changes{Records: []rows.Record{aside("1", false), aside("2", true)}})
	for kept, want := range map[bool][]string{false: {"1", "2"}, true: {"1"}} {
		got := list(t, b.Records(t.Context(), rows.Record{Quarantined: &sessions.QuarantineRecord{}, Kept: kept}), func(r rows.Record) string { return r.Quarantined.ID })
		same(t, fmt.Sprint("quarantined, kept only: ", kept), got, want)
	}
	due := rows.Record{Job: &sessions.JobRecord{Job: "j", Due: noon}}
	put(t, b, rows.Changes{Records: []rows.Record{due}})
	due.Job = &sessions.JobRecord{Job: "j", Due: noon.Add(time.Hour)}
	put(t, b, rows.Changes{Records: []rows.Record{due}})
	same(t, "a job that was put twice", list(t, b.Records(t.Context(), rows.Record{Job: &sessions.JobRecord{Job: "j"}}), func(r rows.Record) time.Time { return r.Job.Due }), []time.Time{noon.Add(time.Hour)})
}

func aSnapshotStays(t *testing.T, b rows.Backend) {
	put(t, b, of(said(k1, "20260501_001", 2)))
	must(t, b.Snapshot(t.Context(), func(r rows.Reader) error {
		_, _, err := r.Head(t.Context(), k1) // now it has begun
		must(t, err)
		more := said(k1, "20260501_001", 3)
		more.Begun, more.Messages = nil, more.Messages[2:]
		put(t, b, of(more, said(k2, "20260501_002", 1)))
		same(t, "heads as they were", list(t, r.Heads(t.Context(), rows.ByKey, nil), headKey), []string{"x:1"})
		same(t, "messages", list(t, r.Messages(t.Context(), k1, rows.MessageFilter{}), content), []string{"word1", "word2"})
		return nil
	}))
	same(t, "heads", list(t, b.Heads(t.Context(), rows.ByKey, nil), headKey), []string{"x:1", "x:2"})
}
