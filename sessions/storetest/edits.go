package storetest

import (
	"testing"

	"dragoman/channels"
	"dragoman/sessions"
)

// edit is a message that changes an earlier one.
func edit(k, id, of, text string) sessions.Entry {
	m := in(k, id, text)
	m.MessageID, m.Edits = of, of
	return sessions.Entry{Inbound: m}
}

var editTests = map[string]func(*testing.T, *rig){
	"Edit/ReplacesWhatWaits": func(t *testing.T, r *rig) {
		first := r.accept(t, "x:1", "1", "helo")
		r.accept(t, "x:1", "2", "second")
		a := r.enter(t, edit("x:1", "3", "m1", "hello"), sessions.Replaced)
		if a.Seq != first || a.Waiting != 2 {
			t.Errorf("edit: %+v, want seq %d and 2 waiting", a, first)
		}
		r.enter(t, edit("x:1", "3", "m1", "hello again"), sessions.Duplicate)
		r.enter(t, edit("x:1", "4", "m1", "Hello"), sessions.Replaced)
		h := r.claim(t)
		p := r.pending(t, h, 0, "Hello", "second")
		if w := p.Messages[0]; w.Rev != 2 || w.Inbound.ID != "1" || w.Inbound.MessageID != "m1" {
			t.Errorf("edited message: %+v", w)
		}
		feed, err := r.Feed(t.Context(), key("x:1"), 0, 10)
		must(t, err)
		if len(feed) != 2 || feed[0].Text != "Hello" {
			t.Errorf("Feed = %+v", feed)
		}
	},
	"Edit/MakesAnotherQuestion": func(t *testing.T, r *rig) {
		again := in("x:1", "1", "what is Go?")
		again.Again = true
		r.enter(t, sessions.Entry{Inbound: again}, sessions.Queued)
		feed, err := r.Feed(t.Context(), key("x:1"), 0, 10)
		must(t, err)
		if len(feed) != 1 || !feed[0].Again || feed[0].Text != "what is Go?" {
			t.Errorf("Feed = %+v, want that it is asked once more", feed)
		}
		r.enter(t, edit("x:1", "2", "m1", "what is C?"), sessions.Replaced)
		h := r.claim(t)
		if m := r.pending(t, h, 0, "what is C?").Messages[0].Inbound; m.Again {
			t.Errorf("the edited message %+v asks once more", m)
		}
	},
	"Edit/RefusesTheTurnThatReadTheOldText": func(t *testing.T, r *rig) {
		seq := r.accept(t, "x:1", "1", "helo")
		h := r.claim(t)
		r.pending(t, h, 0, "helo")
		r.enter(t, edit("x:1", "2", "m1", "hello"), sessions.Replaced)
		stale := []sessions.Answered{{Seq: seq, Rev: 0}}
		is(t, "AppendStep", r.AppendStep(t.Context(), h.Claim, "t", stale, sessions.Step{Kind: sessions.StepNote}), sessions.ErrConflict)
		is(t, "CommitTurn", r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: stale, Messages: []sessions.Message{user("helo")}, Replies: []sessions.Reply{{Text: "no"}}}), sessions.ErrConflict)
		same(t, "transcript", r.transcript(t, "x:1"), nil)
		p := r.pending(t, h, 0, "hello")
		if p.Turn != "" || len(p.Steps) != 0 {
			t.Errorf("a refused step was kept: %+v", p)
		}
		r.commit(t, h, "answer")
		same(t, "deliveries", r.deliver(t, h), []string{"answer"})
	},
	"Edit/OfATakenMessageIsNoted": func(t *testing.T, r *rig) {
		seq := r.accept(t, "x:1", "1", "old")
		h := r.claim(t)
		answers := []sessions.Answered{{Seq: seq}}
		must(t, r.AppendStep(t.Context(), h.Claim, "t", answers, sessions.Step{Kind: sessions.StepNote}))
		if a := r.enter(t, edit("x:1", "2", "m1", "new"), sessions.Noted); a.Waiting != 1 {
			t.Errorf("noted: %+v", a)
		}
		must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: answers, Messages: []sessions.Message{user("old"), assistant("ok")}}))
		r.enter(t, edit("x:1", "3", "m1", "newer"), sessions.Noted)
		r.enter(t, edit("x:1", "3", "m1", "newer"), sessions.Duplicate)
		ms, err := r.Messages(t.Context(), key("x:1"), 0, 10)
		must(t, err)
		want := []string{"[alice changed an earlier message to:] new", "old", "ok", "[alice changed an earlier message to:] newer"}
		var got []string
		for i, m := range ms {
			got = append(got, m.Content)
			if note := i == 0 || i == 3; m.Synthetic != note || note && (m.Role != sessions.RoleUser || m.Sender != "42") {
				t.Errorf("message %d: %+v", i, m)
			}
		}
		same(t, "transcript", got, want)
	},
	// A turn that has only shown previews can begin anew.
	"Edit/OfWhatIsShown": func(t *testing.T, r *rig) {
		h := r.held(t, "x:1", "1", "helo")
		stale := []sessions.Answered{{Seq: r.pending(t, h, 0, "helo").Messages[0].Seq}}
		must(t, r.AppendStep(t.Context(), h.Claim, "t", stale, sessions.Step{Kind: sessions.StepPreview, MessageID: "p"}))
		if a := r.enter(t, edit("x:1", "2", "m1", "hello"), sessions.Replaced); a.Seq != stale[0].Seq || a.Waiting != 1 {
			t.Errorf("edit: %+v, want seq %d and 1 waiting", a, stale[0].Seq)
		}
		is(t, "CommitTurn", r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: stale, Messages: []sessions.Message{user("helo")}, Replies: []sessions.Reply{{Text: "no"}}}), sessions.ErrConflict)
		p := r.pending(t, h, 0, "hello")
		if p.Turn != "t" || len(p.Steps) != 1 || p.Steps[0].MessageID != "p" {
			t.Errorf("the turn has lost its preview: %+v", p)
		}
		must(t, r.AppendStep(t.Context(), h.Claim, "t", []sessions.Answered{{Seq: stale[0].Seq, Rev: 1}}, sessions.Step{Kind: sessions.StepToolStart, CallID: "c"}))
		r.enter(t, edit("x:1", "3", "m1", "too late"), sessions.Noted)
		r.pending(t, h, 0, "hello")
		r.enter(t, gone("x:1", "4", "m1", channels.DeletedBySender), sessions.Noted)
	},
	"Edit/OfAnUnknownMessageIsAMessage": func(t *testing.T, r *rig) {
		r.enter(t, edit("x:1", "1", "m77", "new"), sessions.Queued)
		r.accept(t, "x:2", "2", "elsewhere")
		r.enter(t, edit("x:1", "3", "m2", "other chat"), sessions.Queued)
	},
	// If an edit was stored as a message, later edits change that one.
	"Edit/OfAnEdit": func(t *testing.T, r *rig) {
		first := r.enter(t, edit("x:1", "1", "m77", "new"), sessions.Queued)
		if a := r.enter(t, edit("x:1", "2", "m77", "newer"), sessions.Replaced); a.Seq != first.Seq || a.Waiting != 1 {
			t.Errorf("edit of an edit: %+v, want seq %d and 1 waiting", a, first.Seq)
		}
		h := r.claim(t)
		r.pending(t, h, 0, "newer")
		r.commit(t, h, "ok")
		r.enter(t, edit("x:1", "3", "m77", "too late"), sessions.Noted)
	},
	"Edit/ThatIsNothingByItself": func(t *testing.T, r *rig) {
		e := edit("x:1", "1", "m77", "by the way")
		e.IfKnown = true
		r.enter(t, e, sessions.Unknown)
		r.accept(t, "x:1", "2", "helo")
		r.enter(t, e, sessions.Unknown)
		e = edit("x:1", "3", "m2", "hello")
		e.IfKnown = true
		r.enter(t, e, sessions.Replaced)
		h := r.claim(t)
		r.pending(t, h, 0, "hello")
		r.commit(t, h, "ok")
		e.Inbound.ID, e.Inbound.Text = "4", "hello!"
		r.enter(t, e, sessions.Noted)
		r.deliver(t, h)
		h.release(nil)
		r.noClaim(t, 0, "of an edit that is nothing by itself")
		same(t, "journal of the inbox", r.journal(t), []string{"hello: done, ", "hello: edit, ", "hello!: done, "})
	},
	"Edit/OfWhatIsDeleted": func(t *testing.T, r *rig) {
		h := r.held(t, "x:1", "1", "one")
		r.pending(t, h, 0, "one")
		r.commit(t, h, "ok")
		r.deliver(t, h)
		h.release(nil)
		must(t, r.Delete(t.Context(), key("x:1")))
		r.enter(t, edit("x:1", "2", "m1", "new words"), sessions.Unknown)
		r.enter(t, gone("x:1", "3", "m1", channels.DeletedBySender), sessions.Unknown)
		r.noClaim(t, 0, "of a change of what was deleted")
		if list, err := r.Find(t.Context(), sessions.Query{Limit: 10}); err != nil || len(list) != 0 {
			t.Errorf("Find = %+v, %v, want that nothing is there again", list, err)
		}
	},
	"Edit/OfWhatIsErased": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "waits")
		r.accept(t, "x:2", "2", "with others")
		for _, e := range []sessions.Erasure{{Keys: []channels.Key{key("x:1")}}, {Senders: []sessions.Sender{{Channel: "x", ID: "42"}}}} {
			_, err := r.Erase(t.Context(), e)
			must(t, err)
		}
		r.enter(t, edit("x:1", "4", "m1", "new words"), sessions.Unknown)
		r.enter(t, gone("x:1", "5", "m1", channels.DeletedBySender), sessions.Unknown)
		r.enter(t, edit("x:2", "6", "m2", "new words"), sessions.Unknown)
		r.enter(t, edit("x:1", "7", "m2", "another message of that id"), sessions.Queued)
		r.accept(t, "x:1", "8", "goes on")
	},
	"Edit/OnlyByTheSameSender": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "mine")
		e := edit("x:1", "2", "m1", "yours")
		e.Inbound.Sender = channels.Person{IDs: []string{"666"}, Name: "alice"}
		r.enter(t, e, sessions.Queued)
		e = edit("x:1", "3", "m1", "nameless")
		e.Inbound.Sender = channels.Person{Name: "alice"}
		r.enter(t, e, sessions.Queued)
		h := r.claim(t)
		r.pending(t, h, 0, "mine", "yours", "nameless")
	},
	"Edit/IsNotHeldBackByAFullQueue": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "helo")
		e := edit("x:1", "2", "m1", "hello")
		e.MaxWaiting = 1
		r.enter(t, e, sessions.Replaced)
	},
}
