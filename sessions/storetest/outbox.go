package storetest

import (
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// three makes a key with three replies and claims it.
func three(t *testing.T, r *rig) (*held, []sessions.Delivery) {
	t.Helper()
	r.enter(t, sessions.Entry{
		Inbound: in("x:1", "1", "/a"), Answered: true,
		Replies: []sessions.Reply{{Text: "one", ReplyTo: "m1", Edit: "e1"}, {Text: "two"}, {Text: "three"}},
	}, sessions.Done)
	h := r.claim(t)
	ds, err := r.Unsent(t.Context(), h.Claim, 0)
	must(t, err)
	if len(ds) != 3 {
		t.Fatalf("Unsent = %+v", ds)
	}
	return h, ds
}

func (r *rig) states(t *testing.T, h *held) map[string]sessions.DeliveryState {
	t.Helper()
	ds, err := r.Unsent(t.Context(), h.Claim, 0)
	must(t, err)
	states := map[string]sessions.DeliveryState{}
	for _, d := range ds {
		states[d.Text] = d.State
	}
	return states
}

var outboxTests = map[string]func(*testing.T, *rig){
	"Outbox/KeepsWhatItWasGiven": func(t *testing.T, r *rig) {
		h, ds := three(t, r)
		d := ds[0]
		if d.ID == "" || d.ID == ds[1].ID || d.Key != key("x:1") || d.Seq != 2 || d.Text != "one" || d.ReplyTo != "m1" || d.Edit != "e1" ||
			d.State != sessions.DeliveryQueued || d.Attempts != 0 || d.Created.IsZero() || !d.NotBefore.IsZero() {
			t.Errorf("delivery %+v", d)
		}
		two, err := r.Unsent(t.Context(), h.Claim, 2)
		must(t, err)
		if len(two) != 2 || two[1].Text != "two" {
			t.Errorf("Unsent(2) = %+v", two)
		}
	},
	"Outbox/AnIDOfItsOwn": func(t *testing.T, r *rig) {
		r.enter(t, sessions.Entry{
			Inbound: in("x:1", "1", "/a"), Answered: true,
			Replies: []sessions.Reply{{Text: "one", ID: "job:1:2:0:morning"}, {Text: "two"}},
		}, sessions.Done)
		h := r.claim(t)
		ds, err := r.Unsent(t.Context(), h.Claim, 0)
		must(t, err)
		if len(ds) != 2 || ds[0].ID != "job:1:2:0:morning" || ds[1].ID == "" || ds[1].ID == ds[0].ID {
			t.Fatalf("Unsent = %+v", ds)
		}
		must(t, r.MarkSending(t.Context(), h.Claim, ds[0].ID))
		must(t, r.MarkSent(t.Context(), h.Claim, ds[0].ID, channels.Receipt{MessageID: "n1"}))
		feed, err := r.Feed(t.Context(), key("x:1"), 0, 10)
		must(t, err)
		if it := feed[len(feed)-2]; it.ID != ds[0].ID || it.State != sessions.DeliverySent || !it.At.Equal(ds[0].Created) {
			t.Errorf("Feed has %+v", it)
		}
	},
	"Outbox/Labels": func(t *testing.T, r *rig) {
		command := sessions.Label{Kind: channels.KindCommand, Part: 1, Parts: 1}
		file := sessions.Label{Kind: channels.KindAnswer, Turn: "x:1#1", Job: "morning", Part: 2, Parts: 2, File: "answer.md", Form: channels.FormNative}
		voice := sessions.Label{Kind: channels.KindAnswer, Turn: "x:1#1", Part: 3, Parts: 3, File: "voice", Kept: "x_1/a.ogg", As: channels.AttachmentVoice}
		r.enter(t, sessions.Entry{
			Inbound: in("x:1", "1", "/a"), Answered: true,
			Replies: []sessions.Reply{{Text: "one", Label: command}},
		}, sessions.Done)
		h := r.claim(t)
		must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "x:1#1", Replies: []sessions.Reply{{Text: "two", Label: file}, {Text: "three", Label: voice}}}))
		ds, err := r.Unsent(t.Context(), h.Claim, 0)
		must(t, err)
		must(t, r.MarkSending(t.Context(), h.Claim, ds[1].ID))
		must(t, r.Reschedule(t.Context(), h.Claim, ds[1].ID, time.Now(), true, "no answer"))
		ds, err = r.Unsent(t.Context(), h.Claim, 0)
		must(t, err)
		same(t, "the deliveries' labels", []sessions.Label{ds[0].Label, ds[1].Label, ds[2].Label}, []sessions.Label{command, file, voice})
		feed, err := r.Feed(t.Context(), key("x:1"), 0, 10)
		must(t, err)
		var shown []sessions.Label
		for _, it := range feed {
			shown = append(shown, it.Label)
		}
		same(t, "the feed's labels", shown, []sessions.Label{{}, command, file, voice})
	},
	"Outbox/AnswersAreCounted": func(t *testing.T, r *rig) {
		ctx := t.Context()
		part := func(n, of int) sessions.Reply {
			return sessions.Reply{Text: "part", Label: sessions.Label{Kind: channels.KindAnswer, Turn: "x:1#1", Part: n, Parts: of}}
		}
		r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "/a"), Answered: true, Replies: []sessions.Reply{part(1, 3), part(2, 3), part(3, 3), part(1, 1)}}, sessions.Done)
		r.enter(t, sessions.Entry{Inbound: in("y:1", "1", "/a"), Answered: true, Replies: []sessions.Reply{{Text: "of an older version"}}}, sessions.Done)
		h := r.claim(t)
		for h.Key != key("x:1") {
			h = r.claim(t)
		}
		ds, err := r.Unsent(ctx, h.Claim, 0)
		must(t, err)
		for sent, want := range [][2]int{{5, 3}, {4, 3}, {3, 3}, {2, 2}, {1, 1}} { // deliveries and answers that are left
			if sent > 0 {
				must(t, r.MarkSending(ctx, h.Claim, ds[sent-1].ID))
				must(t, r.MarkSent(ctx, h.Claim, ds[sent-1].ID, channels.Receipt{}))
			}
			if st, err := r.Stats(ctx); err != nil || st.Unsent != want[0] || st.Answers != want[1] {
				t.Errorf("after %d are sent, Stats = %+v, %v, want %d deliveries of %d answers", sent, st, err, want[0], want[1])
			}
		}
	},
	"Outbox/States": func(t *testing.T, r *rig) {
		ctx := t.Context()
		h, ds := three(t, r)
		must(t, r.MarkSending(ctx, h.Claim, ds[0].ID))
		same(t, "states", r.states(t, h), map[string]sessions.DeliveryState{"one": "sending", "two": "queued", "three": "queued"})
		must(t, r.MarkSent(ctx, h.Claim, ds[0].ID, channels.Receipt{MessageID: "n1"}))
		must(t, r.MarkSending(ctx, h.Claim, ds[1].ID))
		must(t, r.Reschedule(ctx, h.Claim, ds[1].ID, time.Now().Add(time.Hour), true, "timeout"))
		must(t, r.MarkSending(ctx, h.Claim, ds[2].ID))
		must(t, r.Reschedule(ctx, h.Claim, ds[2].ID, time.Now().Add(time.Hour), false, "refused"))
		same(t, "states", r.states(t, h), map[string]sessions.DeliveryState{"two": "unknown", "three": "queued"})
		left, err := r.Unsent(ctx, h.Claim, 0)
		must(t, err)
		if d := left[0]; d.ID != ds[1].ID || d.Attempts != 1 || d.Error != "timeout" || d.NotBefore.IsZero() {
			t.Errorf("deferred: %+v", d)
		}
		// Once uncertain, always uncertain, whatever the next attempt says.
		must(t, r.MarkSending(ctx, h.Claim, ds[1].ID))
		must(t, r.Reschedule(ctx, h.Claim, ds[1].ID, time.Now(), false, "refused"))
		same(t, "states", r.states(t, h), map[string]sessions.DeliveryState{"two": "unknown", "three": "queued"})
		st, err := r.Stats(ctx)
		must(t, err)
		if st.Unsent != 2 || st.Unknown != 1 || st.OldestSend.IsZero() || st.Waiting != 0 || !st.Oldest.IsZero() {
			t.Errorf("Stats = %+v", st)
		}
		must(t, r.MarkDead(ctx, h.Claim, ds[1].ID, "blocked"))
		must(t, r.MarkSending(ctx, h.Claim, ds[2].ID))
		must(t, r.MarkSent(ctx, h.Claim, ds[2].ID, channels.Receipt{}))
		same(t, "states", r.states(t, h), map[string]sessions.DeliveryState{})
		if st, err := r.Stats(ctx); err != nil || st.Unsent != 0 || st.Dead != 1 {
			t.Errorf("Stats = %+v, %v", st, err)
		}
	},
	"Outbox/DroppedIsGone": func(t *testing.T, r *rig) {
		ctx := t.Context()
		h, ds := three(t, r)
		must(t, r.Drop(ctx, h.Claim, ds[0].ID, "stopped"))
		must(t, r.MarkSending(ctx, h.Claim, ds[1].ID))
		must(t, r.Drop(ctx, h.Claim, ds[1].ID, "stopped"))
		same(t, "states", r.states(t, h), map[string]sessions.DeliveryState{"three": "queued"})
		is(t, "Drop again", r.Drop(ctx, h.Claim, ds[0].ID, ""), sessions.ErrConflict)
		is(t, "Drop of nothing", r.Drop(ctx, h.Claim, "nope", ""), sessions.ErrNotFound)
		if st, err := r.Stats(ctx); err != nil || st.Unsent != 1 || st.Dead != 0 {
			t.Errorf("Stats = %+v, %v", st, err)
		}
	},
	"Outbox/DoneIsDone": func(t *testing.T, r *rig) {
		ctx := t.Context()
		h, ds := three(t, r)
		must(t, r.MarkSending(ctx, h.Claim, ds[0].ID))
		must(t, r.MarkSent(ctx, h.Claim, ds[0].ID, channels.Receipt{}))
		must(t, r.MarkDead(ctx, h.Claim, ds[1].ID, "no"))
		for _, d := range ds[:2] {
			is(t, "MarkSending", r.MarkSending(ctx, h.Claim, d.ID), sessions.ErrConflict)
			is(t, "MarkSent", r.MarkSent(ctx, h.Claim, d.ID, channels.Receipt{}), sessions.ErrConflict)
			is(t, "Reschedule", r.Reschedule(ctx, h.Claim, d.ID, time.Now(), true, ""), sessions.ErrConflict)
			is(t, "MarkDead", r.MarkDead(ctx, h.Claim, d.ID, ""), sessions.ErrConflict)
		}
		for _, id := range []string{"", "nope", "out-999", ds[0].ID + "0", "out-", "-1", "out--1"} {
			is(t, "MarkSending("+id+")", r.MarkSending(ctx, h.Claim, id), sessions.ErrNotFound)
		}
	},
	"Outbox/AnAttemptThatNobodyEndedIsListed": func(t *testing.T, r *rig) {
		h, ds := three(t, r)
		must(t, r.MarkSending(t.Context(), h.Claim, ds[0].ID))
		h.release(nil) // as if it had died
		h = r.claim(t)
		left, err := r.Unsent(t.Context(), h.Claim, 1)
		must(t, err)
		if len(left) != 1 || left[0].ID != ds[0].ID || left[0].State != sessions.DeliverySending || left[0].Attempts != 1 {
			t.Fatalf("Unsent = %+v", left)
		}
		must(t, r.MarkSending(t.Context(), h.Claim, ds[0].ID))
		must(t, r.Reschedule(t.Context(), h.Claim, ds[0].ID, time.Now(), false, "refused"))
		if got := r.states(t, h)["one"]; got != sessions.DeliveryUnknown {
			t.Errorf("state = %s: the first attempt was forgotten", got)
		}
	},
}
