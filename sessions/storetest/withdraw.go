package storetest

import (
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// gone is the deletion of an earlier message.
func gone(k, id, of string, by channels.Deletion) sessions.Entry {
	e := edit(k, id, of, "[deleted]")
	e.Inbound.Deletes = by
	return e
}

var withdrawTests = map[string]func(*testing.T, *rig){
	"Withdraw/WhatWaitsIsNotAnswered": func(t *testing.T, r *rig) {
		one := r.accept(t, "x:1", "1", "one")
		r.accept(t, "x:1", "2", "two")
		h := r.claim(t)
		if a := r.enter(t, gone("x:1", "3", "m1", channels.DeletedBySender), sessions.Withdrawn); a.Seq != one || a.Waiting != 1 {
			t.Errorf("deletion: %+v, want seq %d and 1 waiting", a, one)
		}
		r.enter(t, gone("x:1", "3", "m1", channels.DeletedBySender), sessions.Duplicate)
		r.enter(t, gone("x:1", "4", "m1", channels.DeletedByAdmin), sessions.Withdrawn)
		r.enter(t, edit("x:1", "5", "m1", "three"), sessions.Withdrawn)
		r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "one")}, sessions.Duplicate)
		r.pending(t, h, 0, "two")
		r.commit(t, h, "answer")
		same(t, "transcript", r.transcript(t, "x:1"), []string{"user: two", "assistant: answer"})
	},
	"Withdraw/NothingIsLeftToDo": func(t *testing.T, r *rig) {
		h := r.held(t, "x:1", "1", "one")
		r.enter(t, gone("x:1", "2", "m1", channels.DeletedByAdmin), sessions.Withdrawn)
		r.pending(t, h, 0)
		h.release(nil)
		if st, err := r.Stats(t.Context()); err != nil || st.Waiting != 0 {
			t.Errorf("Stats = %+v, %v, want nothing waiting", st, err)
		}
		r.noClaim(t, 0, "of what was withdrawn")
		if list, err := r.ListQueue(t.Context(), 10); err != nil || len(list) != 0 {
			t.Errorf("ListQueue = %+v, %v", list, err)
		}
		if feed, err := r.Feed(t.Context(), key("x:1"), 0, 10); err != nil || len(feed) != 0 {
			t.Errorf("Feed = %+v, %v, want nothing of a deleted message", feed, err)
		}
		same(t, "transcript", r.transcript(t, "x:1"), nil)
		same(t, "journal of the inbox", r.journal(t), []string{
			"one: withdrawn, deleted by an admin before it was answered", "[deleted]: edit, ",
		})
	},
	"Withdraw/APostponedMessage": func(t *testing.T, r *rig) {
		h := r.held(t, "x:1", "1", "one")
		p := r.pending(t, h, 0, "one")
		must(t, r.Postpone(t.Context(), h.Claim, []int64{p.Messages[0].Seq}, time.Now().Add(time.Hour), "no model"))
		r.enter(t, gone("x:1", "2", "m1", channels.DeletedBySender), sessions.Withdrawn)
		r.accept(t, "x:1", "3", "next")
		r.pending(t, h, 0, "next")
	},
	"Withdraw/RefusesTheTurnThatReadIt": func(t *testing.T, r *rig) {
		h := r.held(t, "x:1", "1", "one")
		p := r.pending(t, h, 0, "one")
		stale := []sessions.Answered{{Seq: p.Messages[0].Seq}}
		r.enter(t, gone("x:1", "2", "m1", channels.DeletedBySender), sessions.Withdrawn)
		is(t, "AppendStep", r.AppendStep(t.Context(), h.Claim, "t", stale, sessions.Step{Kind: sessions.StepNote}), sessions.ErrConflict)
		is(t, "CommitTurn", r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: stale, Messages: []sessions.Message{user("one")}, Replies: []sessions.Reply{{Text: "no"}}}), sessions.ErrConflict)
		is(t, "Postpone", r.Postpone(t.Context(), h.Claim, []int64{stale[0].Seq}, time.Now(), ""), sessions.ErrConflict)
		same(t, "transcript", r.transcript(t, "x:1"), nil)
		same(t, "deliveries", r.deliver(t, h), nil)
	},
	"Withdraw/OfATakenMessageIsNoted": func(t *testing.T, r *rig) {
		h := r.held(t, "x:1", "1", "old")
		p := r.pending(t, h, 0, "old")
		answers := []sessions.Answered{{Seq: p.Messages[0].Seq}}
		must(t, r.AppendStep(t.Context(), h.Claim, "t", answers, sessions.Step{Kind: sessions.StepNote}))
		if a := r.enter(t, gone("x:1", "2", "m1", channels.DeletedBySender), sessions.Noted); a.Waiting != 1 {
			t.Errorf("noted: %+v", a)
		}
		must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: answers, Messages: []sessions.Message{user("old"), assistant("ok")}}))
		r.enter(t, gone("x:1", "3", "m1", channels.DeletedByAdmin), sessions.Noted)
		h.release(nil)
		r.noClaim(t, 0, "of the note about a deletion")
		same(t, "transcript", r.transcript(t, "x:1"), []string{
			"user: [alice deleted an earlier message]", "user: old", "assistant: ok", "user: [an admin deleted an earlier message of alice]",
		})
	},
	"Withdraw/OfWhatNeverCame": func(t *testing.T, r *rig) {
		r.enter(t, gone("x:1", "1", "m77", channels.DeletedBySender), sessions.Unknown)
		r.accept(t, "x:2", "2", "mine")
		e := gone("x:2", "3", "m2", channels.DeletedBySender)
		e.Inbound.Sender = channels.Person{IDs: []string{"666"}, Name: "alice"}
		r.enter(t, e, sessions.Unknown)
		h := r.claim(t)
		r.pending(t, h, 0, "mine")
		same(t, "journal of the inbox", r.journal(t), []string{"mine: waiting, "})
		r.noClaim(t, 0, "of the deletion of what never came")
		if feed, err := r.Feed(t.Context(), key("x:1"), 0, 10); err != nil || len(feed) != 0 {
			t.Errorf("Feed = %+v, %v", feed, err)
		}
		same(t, "transcript", r.transcript(t, "x:1"), nil)
	},
	"Withdraw/AnEditThatWaits": func(t *testing.T, r *rig) {
		r.enter(t, edit("x:1", "1", "m77", "for you now"), sessions.Queued)
		r.enter(t, gone("x:1", "2", "m77", channels.DeletedBySender), sessions.Withdrawn)
		r.noClaim(t, 0, "of what was withdrawn")
	},
	"Withdraw/IsNotHeldBackByAFullQueue": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "one")
		e := gone("x:1", "2", "m1", channels.DeletedBySender)
		e.MaxWaiting = 1
		r.enter(t, e, sessions.Withdrawn)
		e = sessions.Entry{Inbound: in("x:1", "3", "two"), MaxWaiting: 1}
		r.enter(t, e, sessions.Queued)
	},
	"Withdraw/NeedsTheMessage": func(t *testing.T, r *rig) {
		e := sessions.Entry{Inbound: in("x:1", "1", "x")}
		e.Inbound.Deletes = channels.DeletedBySender
		if a, err := r.Accept(t.Context(), e); err == nil {
			t.Errorf("a deletion of no message: %+v", a)
		}
	},
}

// held accepts a message and claims its key.
func (r *rig) held(t *testing.T, k, id, text string) *held {
	t.Helper()
	r.accept(t, k, id, text)
	return r.claim(t)
}

// journal lists everything that was ever accepted: text, state and why.
func (r *rig) journal(t *testing.T) (lines []string) {
	t.Helper()
	must(t, r.Dump(t.Context(), nil, func(rec sessions.Record) error {
		if i := rec.Inbox; i != nil {
			lines = append(lines, i.Inbound.Text+": "+i.State+", "+i.Why)
		}
		return nil
	}))
	return lines
}

// withdrawnStays: after a restart, a message is still withdrawn, and its deletion a
// duplicate.
func withdrawnStays(t *testing.T, reopen func() *rig) {
	r := reopen()
	r.accept(t, "x:1", "1", "one")
	r.accept(t, "x:1", "2", "two")
	r.accept(t, "x:2", "3", "three")
	r = reopen()
	r.enter(t, gone("x:1", "4", "m1", channels.DeletedBySender), sessions.Withdrawn)
	r.enter(t, edit("x:1", "5", "m2", "zwei"), sessions.Replaced)
	r.enter(t, gone("x:2", "6", "m3", channels.DeletedByAdmin), sessions.Withdrawn)
	r = reopen()
	r.enter(t, gone("x:1", "4", "m1", channels.DeletedBySender), sessions.Duplicate)
	r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "one")}, sessions.Duplicate)
	r.enter(t, edit("x:2", "7", "m3", "drei"), sessions.Withdrawn)
	h := r.claim(t)
	r.pending(t, h, 0, "zwei")
	r.commit(t, h, "ok")
	r.deliver(t, h)
	h.release(nil)
	r.noClaim(t, 0, "of what was withdrawn")
	same(t, "transcript", r.transcript(t, "x:1"), []string{"user: zwei", "assistant: ok"})
	same(t, "transcript", r.transcript(t, "x:2"), nil)
	same(t, "journal of the inbox", r.journal(t), []string{
		"one: withdrawn, deleted by its sender before it was answered", "zwei: done, ", "[deleted]: edit, ", "zwei: edit, ",
		"three: withdrawn, deleted by an admin before it was answered", "[deleted]: edit, ", "drei: edit, ",
	})
}
