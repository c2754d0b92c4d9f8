package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// control is a command that fences.
func control(k, id string, c sessions.Control, appended ...sessions.Message) sessions.Entry {
	return sessions.Entry{
		Inbound: in(k, id, "/"+string(c)), Answered: true, Control: c, Append: appended,
		Replies: []sessions.Reply{{Text: "ok " + string(c)}},
	}
}

var controlTests = map[string]func(*testing.T, *rig){
	"Control/KnowsWhatItsReplyTells": func(t *testing.T, r *rig) {
		one := r.accept(t, "x:1", "1", "one")
		two := r.accept(t, "x:1", "2", "two")
		for i, told := range [][]int64{{}, {one}, {one, two, two + 1}} {
			e := control("x:1", number("new", i), sessions.ControlNew)
			e.Waiting = told
			if _, err := r.Accept(t.Context(), e); !errors.Is(err, sessions.ErrConflict) {
				t.Errorf("Accept of a control that tells of %v = %v, want ErrConflict", told, err)
			}
		}
		stop := control("x:1", "stop", sessions.ControlStop)
		stop.Ends = []int64{one}
		stop.Waiting = stop.Ends // the second goes on waiting
		r.enter(t, stop, sessions.Done)
		last := control("x:1", "new", sessions.ControlNew)
		last.Waiting = []int64{two}
		last.Counts = []sessions.Count{{Kind: "k", Owner: "o", Day: "20261129", N: 3}}
		r.enter(t, last, sessions.Done)
		r.enter(t, last, sessions.Duplicate)
		used, err := r.Sum(t.Context(), "k", "o", "20261129", "20261129")
		must(t, err)
		same(t, "what was counted with it, once", used, 3)
		same(t, "transcript", r.transcript(t, "x:1"), []string{"user: one", "user: two"})
	},
	"Control/FencesEveryMethodOfTheClaim": func(t *testing.T, r *rig) {
		seq := r.accept(t, "x:1", "1", "long work")
		r.enter(t, sessions.Entry{Inbound: in("x:1", "2", "/a"), Answered: true, Replies: []sessions.Reply{{Text: "a"}}}, sessions.Done)
		h := r.claim(t)
		ds, err := r.Unsent(t.Context(), h.Claim, 1)
		must(t, err)
		answers := []sessions.Answered{{Seq: seq}}
		must(t, r.AppendStep(t.Context(), h.Claim, "t", answers, sessions.Step{Kind: sessions.StepNote}))

		r.enter(t, control("x:1", "3", sessions.ControlStop, sessions.Message{Role: sessions.RoleAssistant, Content: "[stopped]", Synthetic: true}), sessions.Done)
		select {
		case <-h.ctx.Done():
		case <-time.After(patience):
			t.Fatal("the handler's context goes on")
		}
		is(t, "cause", context.Cause(h.ctx), sessions.ErrFenced)
		fenced(t, r, h.Claim, answers, ds[0].ID)
		same(t, "transcript", r.transcript(t, "x:1"), []string{"user: long work", "assistant: [stopped]"})

		h.release(h.ctx.Err())
		again := r.claim(t)
		if again.Key != h.Key || again.Epoch <= h.Epoch {
			t.Errorf("claim %+v after %+v", again.Claim, h.Claim)
		}
		p := r.pending(t, again, 0)
		if p.Turn != "" || len(p.Steps) != 0 {
			t.Errorf("Pending = %+v, want no journal", p)
		}
		same(t, "deliveries", r.deliver(t, again), []string{"a", "ok stop"})
		fenced(t, r, h.Claim, answers, ds[0].ID)
	},
	"Control/AClaimEndsWithItsHandler": func(t *testing.T, r *rig) {
		seq := r.accept(t, "x:1", "1", "hi")
		h := r.claim(t)
		r.commit(t, h, "ok")
		ds, err := r.Unsent(t.Context(), h.Claim, 1)
		must(t, err)
		r.deliver(t, h)
		h.release(nil)
		r.accept(t, "x:2", "2", "hi")
		other := r.claim(t) // so the handler of x:1 has returned, or is about to
		r.accept(t, "x:1", "3", "hi")
		other.release(nil)
		for again := range r.claims {
			again.release(nil)
			if again.Key == key("x:1") {
				break
			}
		}
		fenced(t, r, h.Claim, []sessions.Answered{{Seq: seq}}, ds[0].ID)
	},
	"Control/StopClosesWhatWaits": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "one")
		r.accept(t, "x:1", "2", "two")
		a := r.enter(t, control("x:1", "3", sessions.ControlStop), sessions.Done)
		if a.Waiting != 0 {
			t.Errorf("stop: %+v", a)
		}
		same(t, "transcript", r.transcript(t, "x:1"), []string{"user: one", "user: two"})
		h := r.claim(t)
		r.pending(t, h, 0)
		same(t, "deliveries", r.deliver(t, h), []string{"ok stop"})
		h.release(nil)
		r.accept(t, "x:1", "4", "three")
		h = r.claim(t)
		r.pending(t, h, 0, "three")
	},
	"Control/StopOfSomeLeavesTheOthers": func(t *testing.T, r *rig) {
		first := r.accept(t, "x:1", "1", "one")
		bound := r.accept(t, "x:1", "2", "two")
		r.accept(t, "x:1", "3", "three")
		h := r.claim(t)
		must(t, r.AppendStep(t.Context(), h.Claim, "t", []sessions.Answered{{Seq: bound}}, sessions.Step{Kind: sessions.StepNote}))
		e := control("x:1", "4", sessions.ControlStop)
		e.Ends = []int64{first}
		if a := r.enter(t, e, sessions.Done); a.Waiting != 1 {
			t.Errorf("stop: %+v, want it to wait", a)
		}
		fenced(t, r, h.Claim, []sessions.Answered{{Seq: first}}, "1.1")
		same(t, "transcript", r.transcript(t, "x:1"), []string{"user: one", "user: two"})
		h.release(nil)
		h = r.claim(t)
		r.pending(t, h, 0, "three")
	},
	"Control/NewBeginsAGeneration": func(t *testing.T, r *rig) {
		r.enter(t, control("x:1", "0", sessions.ControlNew), sessions.Done)
		if h, err := r.History(t.Context(), key("x:1"), sessions.HistoryLimit{}); err != nil || h.Generation != "" {
			t.Errorf("History = %+v, %v: /new in a chat without a message", h, err)
		}
		r.say(t, "x:1", "1", user("before"))
		first, err := r.History(t.Context(), key("x:1"), sessions.HistoryLimit{})
		must(t, err)
		must(t, r.AddSummary(t.Context(), key("x:1"), sessions.Summary{Text: "s", CoversSeq: first.Messages[0].Seq, Generation: first.Generation}))
		r.accept(t, "x:1", "2", "waits")
		r.enter(t, control("x:1", "3", sessions.ControlNew, assistant("[ended]")), sessions.Done)
		second, err := r.History(t.Context(), key("x:1"), sessions.HistoryLimit{})
		must(t, err)
		if second.Generation == "" || second.Generation == first.Generation || len(second.Messages) != 0 || second.Summary != nil || second.Omitted != 0 {
			t.Errorf("History after /new = %+v", second)
		}
		same(t, "transcript", r.transcript(t, "x:1"), []string{"user: before", "user: waits", "assistant: [ended]"})
		is(t, "AddSummary for the old generation", r.AddSummary(t.Context(), key("x:1"), sessions.Summary{Text: "late", CoversSeq: 3, Generation: first.Generation}), sessions.ErrConflict)
		r.say(t, "x:1", "4", user("after"))
		second, err = r.History(t.Context(), key("x:1"), sessions.HistoryLimit{})
		must(t, err)
		if len(second.Messages) != 1 || second.Messages[0].Content != "after" || first.FirstSeq != 1 || second.FirstSeq != second.Messages[0].Seq {
			t.Errorf("History = %+v, after one from %d", second, first.FirstSeq)
		}
		day, _, _ := strings.Cut(second.Generation, "_")
		if _, err := time.Parse("20060102", day); err != nil || len(second.Generation) < len("20060102_001") {
			t.Errorf("generation %q", second.Generation)
		}
	},
	"Control/LeavesHeartbeatsOutOfTheTranscript": func(t *testing.T, r *rig) {
		due := time.Now().Add(-time.Minute)
		must(t, r.Plan(t.Context(), "j", time.Time{}, due))
		must(t, r.Fire(t.Context(), "j", due, due, due.Add(time.Hour), in("x:1", "hb", "prompt")))
		r.enter(t, control("x:1", "3", sessions.ControlStop), sessions.Done)
		same(t, "transcript", r.transcript(t, "x:1"), nil)
		list, err := r.Occurrences(t.Context(), "j", 1)
		must(t, err)
		if len(list) != 1 || list[0].Outcome != "skipped" || list[0].Why == "" {
			t.Errorf("Occurrences = %+v", list)
		}
	},
}

// fenced checks that every method refuses c.
func fenced(t *testing.T, r *rig, c sessions.Claim, answers []sessions.Answered, delivery string) {
	t.Helper()
	ctx := t.Context()
	_, err := r.Pending(ctx, c, 1)
	is(t, "Pending", err, sessions.ErrFenced)
	_, err = r.Unsent(ctx, c, 1)
	is(t, "Unsent", err, sessions.ErrFenced)
	is(t, "AppendStep", r.AppendStep(ctx, c, "t", answers, sessions.Step{Kind: sessions.StepNote}), sessions.ErrFenced)
	is(t, "CommitTurn", r.CommitTurn(ctx, c, sessions.Turn{ID: "t", Messages: []sessions.Message{user("late")}}), sessions.ErrFenced)
	is(t, "Postpone", r.Postpone(ctx, c, []int64{answers[0].Seq}, time.Now(), ""), sessions.ErrFenced)
	is(t, "MarkSending", r.MarkSending(ctx, c, delivery), sessions.ErrFenced)
	is(t, "MarkSent", r.MarkSent(ctx, c, delivery, channels.Receipt{}), sessions.ErrFenced)
	is(t, "Reschedule", r.Reschedule(ctx, c, delivery, time.Now(), true, ""), sessions.ErrFenced)
	is(t, "MarkDead", r.MarkDead(ctx, c, delivery, ""), sessions.ErrFenced)
	is(t, "Drop", r.Drop(ctx, c, delivery, ""), sessions.ErrFenced)
}
