package storetest

import (
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// talks puts two conversations of a channel into r that are to be joined, and
// returns the history of x:b before that.
func talks(t *testing.T, r *rig) (late sessions.History) {
	t.Helper()
	r.say(t, "x:a", "1", user("a1"), user("a2"))
	r.enter(t, control("x:a", "2", sessions.ControlNew), sessions.Done)
	m := assistant("a3 needle")
	m.Usage = &sessions.Usage{Input: 1, Output: 2}
	r.say(t, "x:a", "3", m)
	r.say(t, "x:b", "4", user("b1 needle"), m)
	r.say(t, "y:b", "5", user("a needle elsewhere"))
	configure(t, r, "x:a", func(s *sessions.Settings) { s.Model, s.Tags = "a", []string{"a"} })
	configure(t, r, "x:b", func(s *sessions.Settings) { s.System, s.Tags = "b", []string{"b"} })
	late, err := r.History(t.Context(), key("x:b"), sessions.HistoryLimit{})
	must(t, err)
	return late
}

func joins(t *testing.T, r *rig) {
	ctx := t.Context()
	late := talks(t, r)
	r.accept(t, "x:b", "6", "b waits")
	seq := r.accept(t, "x:a", "7", "a waits")

	// A turn of a is running: it has a journal, and a delivery is being sent.
	var h *held
	for h = r.claim(t); h.Key != key("x:a"); h = r.claim(t) {
		defer h.release(nil)
	}
	answers := []sessions.Answered{{Seq: seq}}
	must(t, r.AppendStep(ctx, h.Claim, "t", answers, sessions.Step{Kind: sessions.StepNote, CallID: "c"}))
	ds, err := r.Unsent(ctx, h.Claim, 0)
	must(t, err)

	must(t, r.Join(ctx, key("x:a"), key("x:b")))
	wait(t, h.ctx.Done(), "the handler of what was joined goes on")
	fenced(t, r, h.Claim, answers, ds[0].ID)
	same(t, "transcript", r.transcript(t, "x:b"), []string{"user: a1", "user: a2", "assistant: a3 needle", "user: b1 needle", "assistant: a3 needle"})
	same(t, "transcript of a", r.transcript(t, "x:a"), nil)
	if _, err := r.Conversation(ctx, key("x:a")); err == nil {
		t.Error("a is still there")
	}
	joined(t, r, late)
	r.enter(t, sessions.Entry{Inbound: in("x:a", "7", "a waits")}, sessions.Duplicate)
	st, err := r.Stats(ctx)
	must(t, err)
	if st.Waiting != 2 || st.Unsent != 1 {
		t.Errorf("Stats = %+v", st)
	}
}

// joined checks x:b after x:a was joined into it; late is the history of x:b before.
func joined(t *testing.T, r *rig, late sessions.History) {
	t.Helper()
	ctx := t.Context()
	hist, err := r.History(ctx, key("x:b"), sessions.HistoryLimit{})
	must(t, err)
	gens, err := r.Generations(ctx, key("x:b"))
	must(t, err)
	if hist.Generation != late.Generation || len(hist.Messages) != 5 || hist.Omitted != 0 || len(gens) != 1 || gens[0].FirstSeq != hist.Messages[0].Seq || gens[0].LastSeq != hist.Messages[4].Seq {
		t.Errorf("History = %+v, generations %+v", hist, gens)
	}
	same(t, "settings", hist.Settings, sessions.Settings{Model: "a", System: "b", Tags: []string{"a", "b"}})
	c, err := r.Conversation(ctx, key("x:b"))
	must(t, err)
	if c.Messages != 5 || c.Usage.Output != 4 {
		t.Errorf("conversation %+v", c)
	}
	is(t, "a summary that was being made", r.AddSummary(ctx, key("x:b"), sessions.Summary{
		Text: "s", Generation: late.Generation, CoversSeq: late.Messages[len(late.Messages)-1].Seq,
	}), sessions.ErrConflict)
	found, err := r.Search(ctx, key("x:b"), "needle", 10)
	must(t, err)
	all, err := r.SearchAll(ctx, sessions.Search{Query: "needle", Limit: 10})
	must(t, err)
	if len(found) != 3 || len(all) != 4 || found[0].Content != "a3 needle" {
		t.Errorf("Search = %+v, SearchAll = %+v", found, all)
	}
}

// joinsWhileSending: the interrupted turn continues under the other key with its
// journal, deliveries keep their ids, and everything stays in order.
func joinsWhileSending(t *testing.T, r *rig) {
	ctx := t.Context()
	r.enter(t, sessions.Entry{Inbound: in("x:a", "1", "/a"), Answered: true, Replies: []sessions.Reply{{Text: "a1"}, {Text: "a2"}}}, sessions.Done)
	seq := r.accept(t, "x:a", "2", "a waits")
	h := r.claim(t)
	must(t, r.AppendStep(ctx, h.Claim, "t", []sessions.Answered{{Seq: seq}}, sessions.Step{Kind: sessions.StepNote, CallID: "c"}))
	ds, err := r.Unsent(ctx, h.Claim, 0)
	must(t, err)
	must(t, r.MarkSending(ctx, h.Claim, ds[0].ID))
	must(t, r.Join(ctx, key("x:a"), key("x:b")))
	r.enter(t, sessions.Entry{Inbound: in("x:b", "3", "/b"), Answered: true, Replies: []sessions.Reply{{Text: "b1"}}}, sessions.Done)
	r.accept(t, "x:b", "4", "b waits")
	is(t, "MarkSent after Join", r.MarkSent(ctx, h.Claim, ds[0].ID, channels.Receipt{}), sessions.ErrFenced)
	h.release(nil)
	h = r.claim(t)
	if h.Key != key("x:b") {
		t.Fatalf("claim of %s", h.Key)
	}
	p := r.pending(t, h, 0, "a waits")
	if p.Turn != "t" || len(p.Steps) != 1 || p.Messages[0].Inbound.Key != key("x:b") {
		t.Errorf("Pending = %+v", p)
	}
	r.commit(t, h, "re a")
	r.pending(t, h, 0, "b waits")
	r.commit(t, h, "re b")
	now, err := r.Unsent(ctx, h.Claim, 0)
	must(t, err)
	if now[0].ID != ds[0].ID || now[0].State != sessions.DeliverySending || now[1].ID != ds[1].ID || now[0].Key != key("x:b") {
		t.Errorf("Unsent = %+v, was %+v", now, ds)
	}
	same(t, "deliveries", r.deliver(t, h), []string{"a1", "a2", "b1", "re a", "re b"})
	h.release(nil)
	r.noClaim(t, 20*time.Millisecond, "all is done")
	feed, err := r.Feed(ctx, key("x:b"), 0, 99)
	must(t, err)
	ids := map[string]bool{}
	for _, it := range feed {
		ids[it.From+it.ID] = true
	}
	if len(ids) != 9 {
		t.Errorf("%d items in the feed: %+v", len(ids), feed)
	}
	// A message under the old key begins a new conversation with other ids.
	r.enter(t, sessions.Entry{Inbound: in("x:a", "9", "/a"), Answered: true, Replies: []sessions.Reply{{Text: "new"}}}, sessions.Done)
	h = r.claim(t)
	again, err := r.Unsent(ctx, h.Claim, 0)
	must(t, err)
	if ids["dragoman"+again[0].ID] || h.Key != key("x:a") {
		t.Errorf("delivery %s was given before", again[0].ID)
	}
}

func joinsSummaries(t *testing.T, r *rig) {
	sum := func(k string, covers int64) {
		t.Helper()
		h, err := r.History(t.Context(), key(k), sessions.HistoryLimit{})
		must(t, err)
		must(t, r.AddSummary(t.Context(), key(k), sessions.Summary{Text: "sum of " + k, CoversSeq: covers, Generation: h.Generation}))
	}
	r.say(t, "x:0", "0", user("0"))
	must(t, r.Delete(t.Context(), key("x:0"))) // so that seqs do not begin at 1
	for i, k := range []string{"x:0", "x:1", "x:2", "x:3"} {
		r.say(t, k, number("k", i), user(k+" 1"), user(k+" 2"))
	}
	sum("x:0", 2)
	must(t, r.Join(t.Context(), key("x:0"), key("x:1")))
	h, texts := r.history(t, sessions.HistoryLimit{})
	same(t, "History", texts, []string{"x:0 2", "x:1 1", "x:1 2"})
	if h.Summary == nil || h.Summary.Text != "sum of x:0" || h.Summary.Generation != h.Generation || h.Omitted != 0 {
		t.Errorf("History = %+v, %+v", h, h.Summary)
	}
	must(t, r.AddSummary(t.Context(), key("x:1"), sessions.Summary{Text: "next", CoversSeq: h.Messages[0].Seq, Generation: h.Generation}))
	sum("x:3", 1)
	for _, from := range []string{"x:2", "x:1"} {
		must(t, r.Join(t.Context(), key(from), key("x:3")))
		sum3, err := r.History(t.Context(), key("x:3"), sessions.HistoryLimit{})
		must(t, err)
		want := map[string]int{"x:2": 4, "x:1": 6}[from]
		if (sum3.Summary == nil) != (from == "x:2") || len(sum3.Messages) != want {
			t.Errorf("History after Join of %s = %+v", from, sum3)
		}
	}
}

func joinsNothing(t *testing.T, r *rig) {
	ctx := t.Context()
	must(t, r.Join(ctx, key("x:1"), key("x:2")))
	if list, err := r.Find(ctx, sessions.Query{Limit: 9}); err != nil || len(list) != 0 {
		t.Errorf("Find = %+v, %v", list, err)
	}
	r.say(t, "x:1", "1", user("hi"))
	before, _ := r.history(t, sessions.HistoryLimit{})
	must(t, r.Join(ctx, key("x:1"), key("x:1")))
	must(t, r.Join(ctx, key("x:9"), key("x:1")))
	after, _ := r.history(t, sessions.HistoryLimit{})
	same(t, "History", after, before)
	if r.Join(ctx, key("x:1"), key("y:1")) == nil {
		t.Error("conversations of two channels were joined")
	}
	must(t, r.Join(ctx, key("x:1"), key("x:2")))
	h, err := r.History(ctx, key("x:2"), sessions.HistoryLimit{})
	must(t, err)
	if h.Generation != before.Generation || len(h.Messages) != 1 {
		t.Errorf("History = %+v", h)
	}
	must(t, r.Join(ctx, key("x:1"), key("x:2")))
	r.say(t, "x:1", "2", user("again"))
	if _, texts := r.history(t, sessions.HistoryLimit{}); len(texts) != 1 {
		t.Errorf("History = %v", texts)
	}
	// A queue alone moves as well.
	r.accept(t, "x:3", "3", "waits")
	must(t, r.Join(ctx, key("x:3"), key("x:2")))
	h, err = r.History(ctx, key("x:2"), sessions.HistoryLimit{})
	if err != nil || len(h.Messages) != 1 {
		t.Errorf("History = %+v, %v", h, err)
	}
}
