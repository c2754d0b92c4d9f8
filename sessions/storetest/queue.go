package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

var feedTests = map[string]func(*testing.T, *rig){
	"Feed/ShowsWhatThePersonSaw": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "hello")
		h := r.claim(t)
		r.commit(t, h, "hi")
		same(t, "deliveries", r.deliver(t, h), []string{"hi"})
		must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "x", Replies: []sessions.Reply{{Text: "dead"}, {Text: "queued"}}}))
		ds, err := r.Unsent(t.Context(), h.Claim, 0)
		must(t, err)
		must(t, r.MarkDead(t.Context(), h.Claim, ds[0].ID, "no"))
		r.enter(t, sessions.Entry{Inbound: in("x:1", "hb", "beat"), Source: sessions.SourceHeartbeat}, sessions.Queued)
		r.accept(t, "x:1", "2", "more")
		r.accept(t, "x:2", "3", "elsewhere")
		items, err := r.Feed(t.Context(), key("x:1"), 0, 10)
		must(t, err)
		type line struct {
			Seq        int64
			From, Text string
			Waiting    bool
			State      sessions.DeliveryState
		}
		var got []line
		for _, it := range items {
			got = append(got, line{it.Seq, it.From, it.Text, it.Waiting, it.State})
			if it.At.IsZero() || it.ID == "" {
				t.Errorf("item %+v", it)
			}
		}
		same(t, "Feed", got, []line{
			{1, "person", "hello", false, ""},
			{2, "dragoman", "hi", false, sessions.DeliverySent},
			{4, "dragoman", "queued", false, sessions.DeliveryQueued},
			{6, "person", "more", true, ""},
		})
		if items[0].Name != "alice" || items[0].ID != "1" || items[2].ID != ds[1].ID {
			t.Errorf("Feed = %+v", items)
		}
		older, err := r.Feed(t.Context(), key("x:1"), 6, 2)
		must(t, err)
		same(t, "Feed before 6", older, items[1:3])
		if none, err := r.Feed(t.Context(), key("x:9"), 0, 5); err != nil || len(none) != 0 {
			t.Errorf("Feed of an unknown key = %v, %v", none, err)
		}
	},
}

var recentTests = map[string]func(*testing.T, *rig){
	"Recent/ItsWatcherIsToldAfterEachCommit": func(t *testing.T, r *rig) {
		var told []sessions.Recent
		r.Watch(func(row sessions.Recent) { told = append(told, row) }, func(sessions.Occurrence) {})
		r.accept(t, "x:1", "1", "hello")
		h := r.claim(t)
		r.commit(t, h, "hi")
		same(t, "deliveries", r.deliver(t, h), []string{"hi"})
		if again, err := r.Accept(t.Context(), sessions.Entry{Inbound: in("x:1", "1", "hello")}); err != nil || again.Outcome != sessions.Duplicate {
			t.Errorf("Accept of a repeat = %v, %v", again, err)
		}
		var got []string
		for _, it := range told {
			got = append(got, it.Key.String()+" "+number("", int(it.Seq))+" "+string(it.State))
		}
		same(t, "told", got, []string{"x:1 1 ", "x:1 2 queued", "x:1 2 sending", "x:1 2 sent"})
		list, _, err := r.Recent(t.Context(), time.Unix(0, 0))
		must(t, err)
		same(t, "the last of each row", []sessions.Recent{told[0], told[3]}, list)
	},
	"Recent/ItsWatcherIsNotToldThatADeliveryIsDueSooner": func(t *testing.T, r *rig) {
		var told []string
		r.Watch(func(row sessions.Recent) {
			told = append(told, number(string(row.State)+" ", row.Attempts))
		}, func(sessions.Occurrence) {})
		r.accept(t, "x:1", "1", "hello")
		h := r.claim(t)
		r.commit(t, h, "hi")
		ds, err := r.Unsent(t.Context(), h.Claim, 1)
		must(t, err)
		must(t, r.MarkSending(t.Context(), h.Claim, ds[0].ID))
		for range 2 { // the second time it has not been sent in between
			must(t, r.Reschedule(t.Context(), h.Claim, ds[0].ID, time.Now().Add(time.Hour), true, "no answer"))
		}
		h.release(nil)
		must(t, r.RetryQueue(t.Context(), ds[0].ID))
		same(t, "told", told, []string{" 0", "queued 0", "sending 1", "unknown 1"})
		ds, err = r.Unsent(t.Context(), r.claim(t).Claim, 1)
		if err != nil || len(ds) != 1 || !ds[0].NotBefore.IsZero() {
			t.Errorf("Unsent = %+v, %v; it is due at once", ds, err)
		}
	},
	"Recent/ListsRowsOfAllKeysSinceATime": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "hello")
		h := r.claim(t)
		r.commit(t, h, "hi")
		same(t, "deliveries", r.deliver(t, h), []string{"hi"})
		h.release(nil)
		r.enter(t, sessions.Entry{Inbound: in("x:3", "hb", "beat"), Source: sessions.SourceHeartbeat}, sessions.Queued)
		r.accept(t, "x:2", "2", "more")
		list, whole, err := r.Recent(t.Context(), time.Unix(0, 0))
		must(t, err)
		got := map[string]sessions.DeliveryState{}
		for _, it := range list {
			got[it.Key.String()+" "+number("", int(it.Seq))] = it.State
			if it.At.IsZero() || it.ID == "" {
				t.Errorf("Recent has %+v", it)
			}
		}
		same(t, "Recent", got, map[string]sessions.DeliveryState{"x:1 1": "", "x:1 2": sessions.DeliverySent, "x:2 1": ""})
		if !whole || list[0].Seq != 1 || list[0].Key != key("x:1") {
			t.Errorf("Recent = %+v, whole %t", list, whole)
		}
		if late, _, err := r.Recent(t.Context(), list[len(list)-1].At.Add(time.Hour)); err != nil || len(late) != 0 {
			t.Errorf("Recent of later = %v, %v", late, err)
		}
		d, err := r.Delivery(t.Context(), key("x:1"), 2)
		must(t, err)
		if d.State != sessions.DeliverySent || d.Key != key("x:1") || d.Attempts != 1 {
			t.Errorf("Delivery = %+v", d)
		}
		if _, err := r.Delivery(t.Context(), key("x:1"), 1); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("Delivery of a message = %v", err)
		}
	},
}

// item finds the one queue item that match accepts.
func (r *rig) item(t *testing.T, lane sessions.Lane, state sessions.QueueState) sessions.QueueItem {
	t.Helper()
	list, err := r.ListQueue(t.Context(), 100)
	must(t, err)
	for _, it := range list {
		if it.Lane == lane && it.State == state {
			return it
		}
	}
	t.Fatalf("ListQueue has no %s that is %s: %+v", lane, state, list)
	return sessions.QueueItem{}
}

var queueTests = map[string]func(*testing.T, *rig){
	"Queue/UnknownIDs": func(t *testing.T, r *rig) {
		for _, id := range []string{"", "in-1", "out-1", "aside-1", "in-", "x", "in-99999999999999999999", "in--1", "out-1-1", "in-0", "in/x:1/1", "out/x:1/1", "aside/x/1", "in/", "out/x:1", "aside/", "aside//1", "aside/x/", "in/x:1/01", "in/x:1/0", "in/x:1/-1", "in//1", "x/x:1/1"} {
			_, err := r.ShowQueue(t.Context(), id)
			is(t, "ShowQueue "+id, err, sessions.ErrNotFound)
			is(t, "RetryQueue "+id, r.RetryQueue(t.Context(), id), sessions.ErrNotFound)
			is(t, "DropQueue "+id, r.DropQueue(t.Context(), id), sessions.ErrNotFound)
		}
	},
	"Queue/Inbox": func(t *testing.T, r *rig) {
		ctx := t.Context()
		seq := r.accept(t, "x:1", "1", "hello")
		it := r.item(t, "in", "waiting")
		if it.Key != key("x:1") || it.Bytes != 5 || it.Text != "" || it.At.IsZero() {
			t.Errorf("item %+v", it)
		}
		if shown, err := r.ShowQueue(ctx, it.ID); err != nil || shown.Text != "hello" {
			t.Errorf("ShowQueue = %+v, %v", shown, err)
		}
		h := r.claim(t)
		is(t, "RetryQueue while it is worked on", r.RetryQueue(ctx, it.ID), sessions.ErrConflict)
		is(t, "DropQueue while it is worked on", r.DropQueue(ctx, it.ID), sessions.ErrConflict)
		must(t, r.AppendStep(ctx, h.Claim, "t", []sessions.Answered{{Seq: seq}}, sessions.Step{Kind: sessions.StepNote}))
		must(t, r.Postpone(ctx, h.Claim, []int64{seq}, time.Now().Add(time.Hour), "away"))
		h.release(nil)
		it = r.item(t, "in", "postponed")
		if it.Attempts != 1 || it.Error != "away" || it.NotBefore.IsZero() {
			t.Errorf("item %+v", it)
		}
		must(t, r.RetryQueue(ctx, it.ID))
		h = r.claim(t)
		if p := r.pending(t, h, 0, "hello"); p.Turn != "t" {
			t.Errorf("Pending = %+v", p)
		}
		must(t, r.Postpone(ctx, h.Claim, []int64{seq}, time.Now().Add(time.Hour), "away"))
		h.release(nil)
		must(t, r.DropQueue(ctx, it.ID))
		is(t, "RetryQueue of what was dropped", r.RetryQueue(ctx, it.ID), sessions.ErrConflict)
		is(t, "DropQueue of what was dropped", r.DropQueue(ctx, it.ID), sessions.ErrConflict)
		if shown, err := r.ShowQueue(ctx, it.ID); err != nil || shown.State != "dropped" || shown.Text != "hello" {
			t.Errorf("ShowQueue = %+v, %v", shown, err)
		}
		r.accept(t, "x:1", "2", "next")
		h = r.claim(t)
		if p := r.pending(t, h, 0, "next"); p.Turn != "" {
			t.Errorf("Pending = %+v: the journal of a dropped message", p)
		}
		r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "hello")}, sessions.Duplicate)
	},
	"Queue/OfOneKey":     queueOfOneKey,
	"Queue/TopicsOfAKey": topicsOfAKey,
	"Queue/Outbox": func(t *testing.T, r *rig) {
		ctx := t.Context()
		h, ds := three(t, r)
		must(t, r.MarkSending(ctx, h.Claim, ds[0].ID))
		it := r.item(t, "out", "sending")
		is(t, "RetryQueue while it is sent", r.RetryQueue(ctx, it.ID), sessions.ErrConflict)
		is(t, "DropQueue while it is sent", r.DropQueue(ctx, it.ID), sessions.ErrConflict)
		must(t, r.Reschedule(ctx, h.Claim, ds[0].ID, time.Now().Add(time.Hour), true, "timeout"))
		must(t, r.MarkDead(ctx, h.Claim, ds[1].ID, "blocked"))
		h.release(nil)
		r.noClaim(t, 20*time.Millisecond, "the head waits for an hour")

		dead := r.item(t, "out", "dead")
		if dead.Error != "blocked" {
			t.Errorf("dead: %+v", dead)
		}
		must(t, r.RetryQueue(ctx, dead.ID))
		must(t, r.RetryQueue(ctx, it.ID))
		h = r.claim(t)
		same(t, "states", r.states(t, h), map[string]sessions.DeliveryState{"one": "unknown", "two": "queued", "three": "queued"})
		must(t, r.DropQueue(ctx, dead.ID))
		is(t, "MarkSending of what was dropped", r.MarkSending(ctx, h.Claim, ds[1].ID), sessions.ErrConflict)
		same(t, "deliveries", r.deliver(t, h), []string{"one", "three"})
		for _, id := range []string{dead.ID, it.ID} {
			is(t, "RetryQueue "+id, r.RetryQueue(ctx, id), sessions.ErrConflict)
			is(t, "DropQueue "+id, r.DropQueue(ctx, id), sessions.ErrConflict)
		}
		if list, err := r.ListQueue(ctx, 10); err != nil || len(list) != 0 {
			t.Errorf("ListQueue = %+v, %v", list, err)
		}
	},
	// A delivery is found by the id that networks and hooks know, even after its
	// conversation was joined into another one.
	"Queue/DeliveryIDs": func(t *testing.T, r *rig) {
		ctx := t.Context()
		r.enter(t, sessions.Entry{
			Inbound: in("x:1", "1", "hello"), Answered: true, Append: []sessions.Message{{Role: sessions.RoleUser, Content: "hello"}},
			Replies: []sessions.Reply{{Text: "one"}},
		}, sessions.Done)
		h := r.claim(t)
		ds, err := r.Unsent(ctx, h.Claim, 10)
		must(t, err)
		must(t, r.MarkSending(ctx, h.Claim, ds[0].ID))
		must(t, r.MarkDead(ctx, h.Claim, ds[0].ID, "blocked"))
		h.release(nil)
		shows := func(want string) {
			t.Helper()
			listed := r.item(t, "out", "dead")
			shown, err := r.ShowQueue(ctx, ds[0].ID)
			must(t, err)
			if shown.ID != listed.ID || shown.Delivery != ds[0].ID || listed.Delivery != ds[0].ID || shown.Text != "one" || shown.Key != key(want) || shown.Attempts != 1 {
				t.Errorf("ShowQueue(%s) = %+v, listed as %+v", ds[0].ID, shown, listed)
			}
		}
		shows("x:1")
		r.accept(t, "x:2", "2", "other")
		must(t, r.Join(ctx, key("x:1"), key("x:2")))
		shows("x:2")
		must(t, r.RetryQueue(ctx, ds[0].ID))
		must(t, r.DropQueue(ctx, ds[0].ID))
		if shown, err := r.ShowQueue(ctx, ds[0].ID); err != nil || shown.State != "dropped" {
			t.Errorf("ShowQueue of a dropped item = %+v, %v", shown, err)
		}
	},
	"Queue/Aside": func(t *testing.T, r *rig) {
		ctx := t.Context()
		must(t, r.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: "1", Raw: []byte("{"), Why: "cut"}))
		it := r.item(t, "aside", "aside")
		if st, err := r.Stats(ctx); err != nil || st.Quarantined != 1 {
			t.Errorf("Stats = %+v, %v", st, err)
		}
		is(t, "RetryQueue", r.RetryQueue(ctx, it.ID), sessions.ErrConflict)
		must(t, r.DropQueue(ctx, it.ID))
		is(t, "DropQueue again", r.DropQueue(ctx, it.ID), sessions.ErrConflict)
		must(t, r.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: "1", Raw: []byte("{"), Why: "cut"}))
		if st, err := r.Stats(ctx); err != nil || st.Quarantined != 0 {
			t.Errorf("Stats = %+v, %v", st, err)
		}
	},
	"Queue/AsideSettled": func(t *testing.T, r *rig) {
		ctx := t.Context()
		for _, ch := range []string{"x", "y"} {
			must(t, r.Quarantine(ctx, sessions.Quarantined{Channel: ch, ID: "1", Raw: []byte("{"), Why: "cut"}))
		}
		list, err := r.ListQueue(ctx, 10)
		must(t, err)
		mine := list[slices.IndexFunc(list, func(it sessions.QueueItem) bool { return it.Channel == "x" })]
		for range 2 {
			must(t, r.Resolve(ctx, "x", "1"))
		}
		must(t, r.Resolve(ctx, "x", "never"))
		if it := r.item(t, "aside", "aside"); it.Channel != "y" {
			t.Errorf("the list is %+v, want that of y", it)
		}
		it, err := r.ShowQueue(ctx, mine.ID)
		must(t, err)
		if it.State != "dropped" || it.Error != "came later; before that: cut" || it.Text != "{" {
			t.Errorf("the resolved item is %+v", it)
		}
		// It is quarantined once, for good.
		must(t, r.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: "1", Raw: []byte("{"), Why: "cut"}))
		if st, err := r.Stats(ctx); err != nil || st.Quarantined != 1 {
			t.Errorf("Stats = %+v, %v, want only y", st, err)
		}
		// A message with the same id is not affected.
		r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "whole")}, sessions.Queued)
	},
	"Queue/OldestFirstAndBounded": func(t *testing.T, r *rig) {
		for i := range 5 {
			r.accept(t, number("x:", i), number("", i), "hi")
		}
		list, err := r.ListQueue(t.Context(), 3)
		must(t, err)
		if len(list) != 3 || list[0].Key != key("x:0") || list[2].Key != key("x:2") {
			t.Errorf("ListQueue(3) = %+v", list)
		}
		st, err := r.Stats(t.Context())
		must(t, err)
		if st.Waiting != 5 || st.Oldest.IsZero() {
			t.Errorf("Stats = %+v", st)
		}
	},
	"Queue/ADroppedReplyWakesTheNext": func(t *testing.T, r *rig) {
		h, ds := three(t, r)
		must(t, r.MarkSending(t.Context(), h.Claim, ds[0].ID))
		must(t, r.Reschedule(t.Context(), h.Claim, ds[0].ID, time.Now().Add(time.Hour), false, ""))
		h.release(nil)
		r.noClaim(t, 20*time.Millisecond, "the head waits for an hour")
		list, err := r.ListQueue(t.Context(), 1)
		must(t, err)
		must(t, r.DropQueue(t.Context(), list[0].ID))
		h = r.claim(t)
		same(t, "deliveries", r.deliver(t, h), []string{"two", "three"})
	},
	"Queue/CheckAndSentMessagesStayQuiet": func(t *testing.T, r *rig) {
		must(t, r.Check(t.Context()))
		h, ds := three(t, r)
		for _, d := range ds {
			must(t, r.MarkSending(t.Context(), h.Claim, d.ID))
			must(t, r.MarkSent(t.Context(), h.Claim, d.ID, channels.Receipt{MessageID: "n"}))
		}
		h.release(nil)
		r.noClaim(t, 30*time.Millisecond, "all is sent")
	},
}

// queueOfOneKey: the queue of a key has the items that ListQueue has of it, in that order,
// and no other.
func queueOfOneKey(t *testing.T, r *rig) {
	ctx := t.Context()
	h, ds := three(t, r)
	must(t, r.MarkSending(ctx, h.Claim, ds[0].ID))
	must(t, r.MarkSent(ctx, h.Claim, ds[0].ID, channels.Receipt{}))
	must(t, r.MarkDead(ctx, h.Claim, ds[1].ID, "blocked"))
	h.release(nil)
	r.accept(t, h.Key.String(), "later", "text")
	r.accept(t, "x:other", "other", "text")
	must(t, r.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: "9", Raw: []byte("odd"), Why: "odd"}))
	all, err := r.ListQueue(ctx, 100)
	must(t, err)
	var want []sessions.QueueItem
	for _, it := range all {
		if it.Key == h.Key {
			want = append(want, it)
		}
	}
	got, err := r.QueueOf(ctx, h.Key)
	must(t, err)
	same(t, "QueueOf", got, want)
	if len(got) != 3 || len(all) != 5 {
		t.Errorf("%d items of the key, %d of all, want 3 and 5", len(got), len(all))
	}
	none, err := r.QueueOf(ctx, key("x:nobody"))
	must(t, err)
	same(t, "QueueOf of an unknown key", none, nil)
}

// topicsOfAKey: neither the key itself nor one that only begins alike is its topic.
func topicsOfAKey(t *testing.T, r *rig) {
	for _, k := range []string{"x:10", "x:10:7", "x:10:é", "x:100", "x:100:7", "x:10-1", "x:1", "y:10:7", "x:10;"} {
		r.accept(t, k, k, "hi")
	}
	for k, want := range map[string][]string{"x:10": {"x:10:7", "x:10:é"}, "x:1": nil, "x:9": nil} {
		list, err := r.Topics(t.Context(), key(k))
		must(t, err)
		var got []string
		for _, one := range list {
			got = append(got, one.String())
		}
		same(t, "Topics("+k+")", got, want)
	}
}
