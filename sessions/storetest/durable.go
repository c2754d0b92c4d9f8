package storetest

import (
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/engine"
)

// RunDurable tests a backend whose state survives in a directory. open opens
// the store in dir and registers its Close with t.Cleanup; the suite closes it
// itself before it opens the next one, so Close is called twice.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) *engine.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, func() *rig){
		"Durable/Case38Case44Reload":      reloadsKeys,
		"Durable/Case46ReloadInOrder":     reloadsInOrder,
		"Durable/WhatWasOpenGoesOn":       goesOn,
		"Durable/WhatIsDoneStays":         stays,
		"Durable/OldClaimsAreFenced":      oldClaims,
		"Durable/SequencesGoOn":           sequences,
		"Durable/WithdrawnStays":          withdrawnStays,
		"Durable/DeletedStaysKnown":       deletedStays,
		"Durable/PostponedWakesLater":     wakesLater,
		"Durable/ParkedStays":             parkedStays,
		"Durable/CloseEndsEverythingElse": closed,
		"Durable/Fields":                  fieldsAreReopened,
		"Durable/AnAlbumIsGathered":       gathersLater,
		"Durable/StickersStay":            stickersStay,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var last *rig
			test(t, func() *rig {
				if last != nil {
					last.stop()
					if last.running != nil {
						<-last.running
					}
					sameWriters(t, last.Store)
					must(t, last.Close())
				}
				last = newRig(t, open(t, dir))
				sameWriters(t, last.Store)
				return last
			})
		})
	}
	t.Run("Durable/Case39NamesStayInside", func(t *testing.T) { namesStayInside(t, open) })
}

func goesOn(t *testing.T, reopen func() *rig) {
	r := reopen()
	one, two := r.accept(t, "x:1", "1", "one"), r.accept(t, "x:1", "2", "two")
	three := in("x:1", "3", "three")
	three.Prefix = "alice: "
	three.Private = true
	three.Addressed = true
	three.Quote, three.Forwarded = &channels.Quote{ID: "q", Name: "bob", Text: "old"}, &channels.Forward{Name: "carl"}
	three.Attachments = fullMessage().Attachments
	r.enter(t, sessions.Entry{Inbound: three}, sessions.Queued)
	h := r.claim(t)
	answers := []sessions.Answered{{Seq: one}, {Seq: two}}
	call := assistant("")
	call.ToolCalls = []sessions.ToolCall{{ID: "c", Name: "f", Arguments: "{}"}}
	call.Attached = attachedBy(`{"sealed":"<1>"}`)
	must(t, r.AppendStep(t.Context(), h.Claim, "t", answers, sessions.Step{Kind: sessions.StepModel, Message: &call}))
	r.enter(t, sessions.Entry{Inbound: in("x:1", "4", "/a"), Answered: true, Replies: []sessions.Reply{{Text: "a"}, {Text: "b"}, {Text: "c"}}}, sessions.Done)
	ds, err := r.Unsent(t.Context(), h.Claim, 0)
	must(t, err)
	must(t, r.MarkSending(t.Context(), h.Claim, ds[0].ID))
	must(t, r.MarkSending(t.Context(), h.Claim, ds[1].ID))
	must(t, r.Reschedule(t.Context(), h.Claim, ds[1].ID, time.Now(), true, "cut off"))

	r = reopen()
	if st, err := r.Stats(t.Context()); err != nil || st.Waiting != 3 || st.Unsent != 3 || st.Unknown != 1 {
		t.Errorf("Stats = %+v, %v", st, err)
	}
	h = r.claim(t)
	p := r.pending(t, h, 1, "one", "two")
	if p.Turn != "t" || len(p.Steps) != 1 || p.Steps[0].Message.ToolCalls[0].Name != "f" || p.More != 1 {
		t.Errorf("Pending = %+v", p)
	}
	same(t, "attached data", p.Steps[0].Message.Attached, attachedBy(`{"sealed":"\u003c1\u003e"}`))
	same(t, "states", r.states(t, h), map[string]sessions.DeliveryState{"a": "sending", "b": "unknown", "c": "queued"})
	again, err := r.Unsent(t.Context(), h.Claim, 0)
	must(t, err)
	if again[0].ID != ds[0].ID || again[0].Attempts != 1 {
		t.Errorf("delivery %+v, was %+v", again[0], ds[0])
	}
	r.commit(t, h, "both")
	p = r.pending(t, h, 0, "three")
	same(t, "the message", p.Messages[0].Inbound, three)
	r.commit(t, h, "third")
	same(t, "deliveries", r.deliver(t, h), []string{"a", "b", "c", "both", "third"})
	h.release(nil)
	r = reopen()
	r.noClaim(t, 30*time.Millisecond, "all is done")
}

func stays(t *testing.T, reopen func() *rig) {
	r := reopen()
	ctx := t.Context()
	r.say(t, "x:1", "1", user("one"), user("two"))
	h, _ := r.history(t, sessions.HistoryLimit{})
	must(t, r.AddSummary(ctx, key("x:1"), sessions.Summary{Text: "sum", CoversSeq: 1, Generation: h.Generation}))
	must(t, r.Rename(ctx, key("x:1"), "title"))
	must(t, r.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: "9", Raw: []byte("raw")}))
	must(t, r.Quarantine(ctx, sessions.Quarantined{Channel: "x", ID: "10", Raw: []byte("raw")}))
	must(t, r.Resolve(ctx, "x", "10")) // it arrived after all
	due := time.Now().Add(-time.Hour)
	must(t, r.Plan(ctx, "j", time.Time{}, due))
	must(t, r.Skip(ctx, "j", due, due.Add(3*time.Hour), "missed", "off"))
	_, _, err := r.RequestPairing(ctx, ask("1", "1111"), noon, 5)
	must(t, err)
	_, err = r.ApprovePairing(ctx, "1111", noon)
	must(t, err)
	_, err = r.Remember(ctx, "s", sessions.NewFact{Text: "fact"})
	must(t, err)

	r = reopen()
	h, texts := r.history(t, sessions.HistoryLimit{})
	same(t, "History", texts, []string{"two"})
	if h.Summary == nil || h.Summary.Text != "sum" {
		t.Errorf("summary %+v", h.Summary)
	}
	r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "again")}, sessions.Duplicate)
	if list, err := r.Find(ctx, sessions.Query{Limit: 5}); err != nil || len(list) != 1 || list[0].Title != "title" || list[0].Messages != 2 {
		t.Errorf("Find = %+v, %v", list, err)
	}
	if found, err := r.Search(ctx, key("x:1"), "two", 5); err != nil || len(found) != 1 {
		t.Errorf("Search = %+v, %v", found, err)
	}
	if st, err := r.Stats(ctx); err != nil || st.Quarantined != 1 {
		t.Errorf("Stats = %+v, %v", st, err)
	}
	if next, planned, err := r.NextDue(ctx, "j"); err != nil || !planned || !next.Equal(due.Add(3*time.Hour)) {
		t.Errorf("NextDue = %v, %v, %v", next, planned, err)
	}
	if o, err := r.Occurrences(ctx, "j", 5); err != nil || len(o) != 1 || o[0].Outcome != "missed" {
		t.Errorf("Occurrences = %+v, %v", o, err)
	}
	if ok, err := r.Paired(ctx, "x", []string{"1"}); err != nil || !ok {
		t.Errorf("Paired = %v, %v", ok, err)
	}
	if f, err := r.Recall(ctx, "s", "", 5); err != nil || len(f) != 1 {
		t.Errorf("Recall = %+v, %v", f, err)
	}
}

func oldClaims(t *testing.T, reopen func() *rig) {
	r := reopen()
	seq := r.accept(t, "x:1", "1", "hi")
	old := r.claim(t)
	r.enter(t, sessions.Entry{Inbound: in("x:1", "2", "/a"), Answered: true, Replies: []sessions.Reply{{Text: "a"}}}, sessions.Done)
	ds, err := r.Unsent(t.Context(), old.Claim, 0)
	must(t, err)
	r = reopen()
	fenced(t, r, old.Claim, []sessions.Answered{{Seq: seq}}, ds[0].ID)
	h := r.claim(t)
	if h.Epoch <= old.Epoch {
		t.Errorf("epoch %d after %d of a former life", h.Epoch, old.Epoch)
	}
	fenced(t, r, old.Claim, []sessions.Answered{{Seq: seq}}, ds[0].ID)
}

func sequences(t *testing.T, reopen func() *rig) {
	r := reopen()
	r.say(t, "x:1", "1", user("one"))
	first, _ := r.history(t, sessions.HistoryLimit{})
	must(t, r.Delete(t.Context(), key("x:1")))
	last := r.accept(t, "x:1", "2", "two")
	r = reopen()
	if seq := r.accept(t, "x:1", "3", "three"); seq <= last {
		t.Errorf("seq %d after %d", seq, last)
	}
	r.say(t, "x:1", "4", user("two"))
	second, _ := r.history(t, sessions.HistoryLimit{})
	if second.Generation == first.Generation || second.Messages[0].Seq <= first.Messages[0].Seq {
		t.Errorf("History = %+v after %+v", second, first)
	}
}

func wakesLater(t *testing.T, reopen func() *rig) {
	r := reopen()
	seq := r.accept(t, "x:1", "1", "hi")
	h := r.claim(t)
	until := time.Now().Add(300 * time.Millisecond)
	must(t, r.Postpone(t.Context(), h.Claim, []int64{seq}, until, "away"))
	r = reopen()
	h = r.claim(t)
	if early := time.Until(until); early > 0 {
		t.Errorf("claimed %s before its time", early)
	}
	if p := r.pending(t, h, 0, "hi"); p.Messages[0].Attempts != 1 {
		t.Errorf("Pending = %+v", p)
	}
}

// gathersLater: the parts of an album from before a restart wait for the next part.
func gathersLater(t *testing.T, reopen func() *rig) {
	part := in("x:1", "1", "one")
	part.Album = "a"
	r := reopen()
	r.enter(t, sessions.Entry{Inbound: part, Quiet: time.Hour, Most: 3 * time.Hour}, sessions.Queued)
	r = reopen()
	part.ID, part.Text = "2", "two"
	r.enter(t, sessions.Entry{Inbound: part, Quiet: 2 * time.Hour, Most: 3 * time.Hour}, sessions.Queued)
	items, err := r.ListQueue(t.Context(), 10)
	must(t, err)
	if len(items) != 2 || time.Until(items[0].NotBefore) < 90*time.Minute {
		t.Errorf("the queue is %+v, want both parts in two hours", items)
	}
}

func closed(t *testing.T, reopen func() *rig) {
	r := reopen()
	h := sessions.Claim{Key: key("x:1"), Epoch: 1}
	must(t, r.Close())
	ctx := t.Context()
	_, err := r.Accept(ctx, sessions.Entry{Inbound: in("x:1", "1", "hi")})
	errs := map[string]error{"Accept": err, "Check": r.Check(ctx), "MarkSent": r.MarkSent(ctx, h, "x", channels.Receipt{})}
	_, errs["History"] = r.History(ctx, key("x:1"), sessions.HistoryLimit{})
	_, errs["Stats"] = r.Stats(ctx)
	for what, err := range errs {
		if err == nil {
			t.Errorf("%s after Close succeeds", what)
		}
	}
}
