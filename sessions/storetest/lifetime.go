package storetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

var lifetimeTests = map[string]func(*testing.T, *rig){
	"Join/OneConversationOfTwo":         joins,
	"Join/ADeliveryUnderWay":            joinsWhileSending,
	"Join/SummariesOfEither":            joinsSummaries,
	"Join/IntoNothingAndFromNothing":    joinsNothing,
	"Expire/Case49OnlyTheOldAndTheIdle": expires,
	"Expire/Case49WithoutAConversation": expiresRest,
	"Delete/Case47IDsStayUnique":        deletes,
	"Erase/AConversation":               erases,
	"Erase/WhileItIsSummarised":         erasesWhileSummarised,
	"Erase/APersonInAConversation":      erasesPerson,
	"Erase/Case52AnErasedUpdateIsKnown": erasedOnce,
	"Erase/WhatAnErasedPersonWaitsFor":  erasesWaiting,
	"Erase/WhatWasSetAside":             erasesAside,
	"Erase/WhatOthersWroteBeside":       erasesForeign,
	"Join/FieldsOfOthers":               joinsForeign,
	"Erase/NothingIsFine":               erasesNothing,
}

func joins(t *testing.T, r *rig) {
	ctx := t.Context()
	r.say(t, "x:a", "1", user("a1"), user("a2"))
	r.enter(t, control("x:a", "2", sessions.ControlNew), sessions.Done)
	m := assistant("a3 needle")
	m.Usage = &sessions.Usage{Input: 1, Output: 2}
	r.say(t, "x:a", "3", m)
	r.say(t, "x:b", "4", user("b1 needle"), m)
	r.say(t, "y:b", "5", user("a needle elsewhere"))
	configure(t, r, "x:a", func(s *sessions.Settings) { s.Model, s.Tags = "a", []string{"a"} })
	configure(t, r, "x:b", func(s *sessions.Settings) { s.System, s.Tags = "b", []string{"b"} })
	late, err := r.History(ctx, key("x:b"), sessions.HistoryLimit{})
	must(t, err)
	r.accept(t, "x:b", "6", "b waits")
	seq := r.accept(t, "x:a", "7", "a waits")

	// Work on a is under way: its turn has a journal and a delivery is sent.
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
	all, err := r.SearchAll(ctx, "needle", 10)
	must(t, err)
	if len(found) != 3 || len(all) != 4 || found[0].Content != "a3 needle" {
		t.Errorf("Search = %+v, SearchAll = %+v", found, all)
	}
	r.enter(t, sessions.Entry{Inbound: in("x:a", "7", "a waits")}, sessions.Duplicate)
	st, err := r.Stats(ctx)
	must(t, err)
	if st.Waiting != 2 || st.Unsent != 1 {
		t.Errorf("Stats = %+v", st)
	}
}

// joinsWhileSending: the interrupted turn goes on under the other key with its
// journal, deliveries keep their ids, and all is in order.
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
	// What comes under the old name begins anew and is told apart.
	r.enter(t, sessions.Entry{Inbound: in("x:a", "9", "/a"), Answered: true, Replies: []sessions.Reply{{Text: "new"}}}, sessions.Done)
	h = r.claim(t)
	again, err := r.Unsent(ctx, h.Claim, 0)
	must(t, err)
	if ids["dragoman"+again[0].ID] || h.Key != key("x:a") {
		t.Errorf("delivery %s was given before", again[0].ID)
	}
}

// erasesWhileSummarised: a summary that was begun before an erasure may have
// the words of what was erased.
func erasesWhileSummarised(t *testing.T, r *rig) {
	said := user("a secret")
	said.Sender = "7"
	r.say(t, "x:1", "1", said, user("two"))
	h, _ := r.history(t, sessions.HistoryLimit{})
	read := time.Now()
	_, err := r.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}}})
	must(t, err)
	sum := sessions.Summary{Text: "they have a secret", CoversSeq: 1, Generation: h.Generation, Read: read}
	is(t, "a summary that was begun before the erasure", r.AddSummary(t.Context(), key("x:1"), sum), sessions.ErrConflict)
	sum.Text, sum.Read = "they talked", time.Now().Add(time.Hour)
	must(t, r.AddSummary(t.Context(), key("x:1"), sum))
	h, _ = r.history(t, sessions.HistoryLimit{})
	if h.Summary == nil || h.Summary.Text != "they talked" || !h.Summary.Read.IsZero() {
		t.Errorf("History = %+v, want the later summary", h.Summary)
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
	if list, err := r.List(ctx, 0, 9); err != nil || len(list) != 0 {
		t.Errorf("List = %+v, %v", list, err)
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

func expires(t *testing.T, r *rig) {
	ctx := t.Context()
	for i, k := range []string{"x:1", "x:2", "x:3", "x:4", "x:5"} {
		r.say(t, k, number("", i), user("hi"))
	}
	r.accept(t, "x:1", "waits", "hi")
	r.enter(t, sessions.Entry{Inbound: in("x:2", "sends", "/x"), Answered: true, Replies: []sessions.Reply{{Text: "a"}}}, sessions.Done)
	if gone, err := r.Expire(ctx, time.Now().Add(-time.Hour), 10); err != nil || len(gone) != 0 {
		t.Errorf("Expire = %v, %v", gone, err)
	}
	later := time.Now().Add(time.Hour)
	for limit, want := range map[int][]channels.Key{0: nil, -1: nil} {
		gone, err := r.Expire(ctx, later, limit)
		must(t, err)
		same(t, "Expire", gone, want)
	}
	gone, err := r.Expire(ctx, later, 2)
	must(t, err)
	same(t, "Expire", gone, []channels.Key{key("x:3"), key("x:4")})
	for range 2 {
		h := r.claim(t)
		defer h.release(nil)
		if h.Key == key("x:1") {
			r.commit(t, h, "ok")
		}
		r.deliver(t, h) // nothing is left to do, but the claims are live
	}
	gone, err = r.Expire(ctx, later, 10)
	must(t, err)
	same(t, "Expire", gone, []channels.Key{key("x:5")})
	if list, err := r.List(ctx, 0, 9); err != nil || len(list) != 2 {
		t.Errorf("List = %+v, %v", list, err)
	}
}

// expiresRest: what was asked and answered without a conversation goes as well,
// in time, and stays known.
func expiresRest(t *testing.T, r *rig) {
	ctx := t.Context()
	command := sessions.Entry{Inbound: in("x:1", "1", "/help me"), Answered: true, Replies: []sessions.Reply{{Text: "help"}}}
	r.enter(t, command, sessions.Done)
	expire := func(before time.Time, items int) {
		t.Helper()
		gone, err := r.Expire(ctx, before, 9)
		must(t, err)
		same(t, "Expire", gone, nil)
		feed, err := r.Feed(ctx, key("x:1"), 0, 9)
		must(t, err)
		if len(feed) != items {
			t.Errorf("%d items are left, want %d: %+v", len(feed), items, feed)
		}
	}
	later := time.Now().Add(time.Hour)
	expire(later, 2) // its answer is not sent yet
	h := r.claim(t)
	same(t, "deliveries", r.deliver(t, h), []string{"help"})
	expire(later, 2) // the claim is live
	h.release(nil)
	expire(time.Now().Add(-time.Hour), 2)
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() { // the claim may be about to end
		if _, err := r.Expire(ctx, later, 9); err != nil {
			t.Fatal(err)
		}
		if feed, err := r.Feed(ctx, key("x:1"), 0, 9); err != nil || len(feed) == 0 {
			break
		}
	}
	expire(later, 0)
	r.enter(t, command, sessions.Duplicate)
	is(t, "Delete", r.Delete(ctx, key("x:1")), sessions.ErrNotFound)
}

func deletes(t *testing.T, r *rig) {
	seen := map[string]bool{}
	for i := range 3 {
		for _, k := range []string{"x:1", "x:2", "x:3"} {
			r.say(t, k, fmt.Sprint(k, i), user("hi"))
			g, err := r.Generations(t.Context(), key(k))
			must(t, err)
			if len(g) != 1 || seen[g[0].ID] {
				t.Errorf("generations %+v, some were given before", g)
			}
			seen[g[0].ID] = true
			must(t, r.Delete(t.Context(), key(k)))
		}
	}
}

func withFile(m sessions.Message, file string) sessions.Message {
	m.Attachments = []channels.Attachment{{Kind: channels.AttachmentImage, File: file}}
	return m
}

func erases(t *testing.T, r *rig) {
	ctx := t.Context()
	r.say(t, "x:1", "1", withFile(user("needle"), "f2"), user("two"))
	h, _ := r.history(t, sessions.HistoryLimit{})
	must(t, r.AddSummary(ctx, key("x:1"), sessions.Summary{Text: "s", CoversSeq: 1, Generation: h.Generation}))
	r.say(t, "x:2", "2", user("needle"))
	e := sessions.Entry{Inbound: in("x:1", "3", "waits")}
	e.Inbound.Attachments = []channels.Attachment{{File: "f1"}, {Ref: "r"}}
	r.enter(t, e, sessions.Queued)
	r.enter(t, sessions.Entry{Inbound: in("x:1", "4", "/x"), Answered: true, Replies: []sessions.Reply{{Text: "a"}}}, sessions.Done)
	_, err := r.Remember(ctx, "me", "fact")
	must(t, err)
	_, err = r.Remember(ctx, "you", "fact")
	must(t, err)
	live := r.claim(t)
	got, err := r.Erase(ctx, sessions.Erasure{Keys: []channels.Key{key("x:1"), key("x:9"), key("x:1")}, Scopes: []string{"me", "nobody"}})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{Conversations: 1, Messages: 2, Queued: 4, Facts: 1, Summaries: 1, Files: []string{"f1", "f2"}})
	wait(t, live.ctx.Done(), "the handler goes on")
	same(t, "transcript", r.transcript(t, "x:1"), nil)
	if found, err := r.SearchAll(ctx, "needle", 9); err != nil || len(found) != 1 || found[0].Key != key("x:2") {
		t.Errorf("SearchAll = %+v, %v", found, err)
	}
	if st, err := r.Stats(ctx); err != nil || st.Waiting+st.Unsent != 0 {
		t.Errorf("Stats = %+v, %v", st, err)
	}
	if feed, err := r.Feed(ctx, key("x:1"), 0, 9); err != nil || len(feed) != 0 {
		t.Errorf("Feed = %+v, %v", feed, err)
	}
	if f, err := r.Recall(ctx, "me", "", 9); err != nil || len(f) != 0 {
		t.Errorf("Recall = %+v, %v", f, err)
	}
	live.release(nil)
	r.say(t, "x:1", "5", user("anew"))
	if _, texts := r.history(t, sessions.HistoryLimit{}); len(texts) != 1 {
		t.Errorf("History = %v", texts)
	}
}

func by(id, text string) sessions.Message {
	m := user(text)
	m.Sender, m.Name = id, "name of "+id
	return m
}

func erasesPerson(t *testing.T, r *rig) {
	ctx := t.Context()
	r.say(t, "x:1", "1", by("7", "old needle"))
	r.enter(t, control("x:1", "2", sessions.ControlNew), sessions.Done)
	r.say(t, "x:1", "3", by("8", "one"), withFile(by("7", "my needle"), "f"), assistant("reply"), by("8", "four"))
	r.say(t, "y:1", "4", by("7", "another 7's needle"))
	h, _ := r.history(t, sessions.HistoryLimit{})
	for _, covers := range []int64{2, 3, 4} {
		must(t, r.AddSummary(ctx, key("x:1"), sessions.Summary{Text: "s", CoversSeq: covers, Generation: h.Generation}))
	}
	for _, id := range []string{"7", "8"} {
		_, _, err := r.RequestPairing(ctx, ask(id, "111"+id), noon, 5)
		must(t, err)
	}
	got, err := r.Erase(ctx, sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "7"}, {Channel: "x", ID: "77"}}})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{Messages: 2, Summaries: 2, Pairings: 1, Files: []string{"f"}})
	same(t, "transcript", r.transcript(t, "x:1"), []string{"user: [erased]", "user: one", "user: [erased]", "assistant: reply", "user: four"})
	h, texts := r.history(t, sessions.HistoryLimit{})
	same(t, "History", texts, []string{"[erased]", "reply", "four"})
	if m := h.Messages[0]; h.Summary == nil || h.Summary.CoversSeq != 2 || m.Name+m.Sender != "" || m.Attachments != nil || m.At.IsZero() {
		t.Errorf("History = %+v, %+v", h, h.Summary)
	}
	found, err := r.SearchAll(ctx, "needle", 9)
	if err != nil || len(found) != 1 || found[0].Key != key("y:1") {
		t.Errorf("SearchAll = %+v, %v", found, err)
	}
	if list, err := r.Pairings(ctx, noon); err != nil || len(list) != 1 {
		t.Errorf("Pairings = %+v, %v", list, err)
	}
}

func erasedOnce(t *testing.T, r *rig) {
	r.accept(t, "x:1", "1", "hi")
	for range 2 {
		r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "hi")}, sessions.Duplicate)
		_, err := r.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("x:1")}})
		must(t, err)
	}
	r.enter(t, sessions.Entry{Inbound: in("x:2", "1", "hi")}, sessions.Duplicate)
	r.enter(t, sessions.Entry{Inbound: in("y:1", "1", "hi")}, sessions.Queued)
}

func erasesWaiting(t *testing.T, r *rig) {
	other := in("x:1", "1", "from bob")
	other.Sender = channels.Person{IDs: []string{"b", "bob"}}
	bob := r.enter(t, sessions.Entry{Inbound: other}, sessions.Queued).Seq
	alice := r.accept(t, "x:1", "2", "from alice")
	h := r.claim(t)
	answers := []sessions.Answered{{Seq: bob}, {Seq: alice}}
	must(t, r.AppendStep(t.Context(), h.Claim, "t", answers, sessions.Step{Kind: sessions.StepNote}))
	got, err := r.Erase(t.Context(), sessions.Erasure{Senders: []sessions.Sender{{Channel: "x", ID: "bob"}}})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{Queued: 1})
	is(t, "CommitTurn", r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: answers}), sessions.ErrFenced)
	h.release(nil)
	h = r.claim(t)
	if p := r.pending(t, h, 0, "from alice"); p.Turn != "" || len(p.Steps) != 0 {
		t.Errorf("Pending = %+v", p)
	}
}

// What nobody could read is erased if it names the person or the chat.
func erasesAside(t *testing.T, r *rig) {
	for id, raw := range map[string]string{
		"gone-1": `{"from": {"id": 5550001, "name": "NEEDLE"`, "gone-2": `NEEDLE +5550001@lid`, "gone-3/5550001": "NEEDLE",
		"gone-4": `"chat":-100777,"text":"NEEDLE`, "kept-1": "155500011 5550001x x5550001 55500011", "kept-2": "1234",
	} {
		must(t, r.SetAside(t.Context(), sessions.Aside{Channel: "x", ID: id, Raw: []byte(raw), Why: "cut"}))
	}
	must(t, r.SetAside(t.Context(), sessions.Aside{Channel: "y", ID: "kept-3", Raw: []byte("5550001"), Why: "cut"}))
	got, err := r.Erase(t.Context(), sessions.Erasure{
		Keys:    []channels.Key{key("x:-100777")},
		Senders: []sessions.Sender{{Channel: "x", ID: "+5550001"}, {Channel: "x", ID: "1234"}},
	})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{Queued: 4})
	var left []string
	must(t, r.Dump(t.Context(), nil, func(rec sessions.Record) error {
		if rec.Aside != nil {
			left = append(left, rec.Aside.ID)
		}
		if strings.Contains(fmt.Sprint(rec), "NEEDLE") {
			t.Errorf("a record has what was erased: %v", rec)
		}
		return nil
	}))
	slices.Sort(left)
	same(t, "set aside", left, []string{"kept-1", "kept-2", "kept-3"})
	items, err := r.ListQueue(t.Context(), 10)
	must(t, err)
	if len(items) != 3 {
		t.Errorf("ListQueue = %+v", items)
	}
}

func erasesNothing(t *testing.T, r *rig) {
	r.say(t, "x:1", "1", user("hi"))
	got, err := r.Erase(t.Context(), sessions.Erasure{Keys: []channels.Key{key("z:1")}, Senders: []sessions.Sender{{Channel: "x"}, {}}})
	must(t, err)
	same(t, "Erase", got, sessions.Erased{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Erase(ctx, sessions.Erasure{Keys: []channels.Key{key("x:1")}}); err == nil || strings.Contains(err.Error(), "traces") {
		t.Errorf("Erase after the end = %v", err)
	}
	same(t, "transcript", r.transcript(t, "x:1"), []string{"user: hi"})
}
