package storetest

import (
	"strings"
	"testing"
	"time"

	"dragoman/sessions"
)

var workTests = map[string]func(*testing.T, *rig){
	"Work/PendingInOrderAndBounded": func(t *testing.T, r *rig) {
		for i := range 5 {
			r.accept(t, "x:1", number("", i), number("t", i))
		}
		h := r.claim(t)
		if p := r.pending(t, h, 2, "t0", "t1"); p.More != 3 {
			t.Errorf("More = %d, want 3", p.More)
		}
		if p := r.pending(t, h, 10, "t0", "t1", "t2", "t3", "t4"); p.More != 0 || p.Messages[0].Accepted.IsZero() || p.Messages[0].Source != sessions.SourceChat {
			t.Errorf("Pending = %+v", p)
		}
	},
	"Work/HeartbeatsComeAlone": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "a")
		r.accept(t, "x:1", "2", "b")
		r.enter(t, sessions.Entry{Inbound: in("x:1", "3", "beat"), Source: sessions.SourceHeartbeat}, sessions.Queued)
		r.accept(t, "x:1", "4", "c")
		h := r.claim(t)
		for _, want := range [][]string{{"a", "b"}, {"beat"}, {"c"}, nil} {
			r.pending(t, h, 10, want...)
			if want != nil {
				r.commit(t, h, "ok")
			}
		}
	},
	"Work/CommitIsAllOrNothing": func(t *testing.T, r *rig) {
		seq := r.accept(t, "x:1", "1", "hi")
		h := r.claim(t)
		turn := sessions.Turn{
			ID: "t", Answers: []sessions.Answered{{Seq: seq}, {Seq: seq + 1}},
			Messages: []sessions.Message{user("hi"), assistant("no")}, Replies: []sessions.Reply{{Text: "no"}},
			Occurrence: &sessions.Occurrence{Job: "j", Due: time.Now(), Outcome: "ran"},
		}
		is(t, "CommitTurn with an unknown answer", r.CommitTurn(t.Context(), h.Claim, turn), sessions.ErrConflict)
		same(t, "transcript", r.transcript(t, "x:1"), nil)
		same(t, "deliveries", r.deliver(t, h), nil)
		if o, err := r.Occurrences(t.Context(), "", 10); err != nil || len(o) != 0 {
			t.Errorf("Occurrences = %v, %v", o, err)
		}
		r.pending(t, h, 0, "hi")
		turn.Answers = turn.Answers[:1]
		must(t, r.CommitTurn(t.Context(), h.Claim, turn))
		is(t, "CommitTurn again", r.CommitTurn(t.Context(), h.Claim, turn), sessions.ErrConflict)
		same(t, "transcript", r.transcript(t, "x:1"), []string{"user: hi", "assistant: no"})
		same(t, "deliveries", r.deliver(t, h), []string{"no"})
		r.pending(t, h, 0)
	},
	"Work/InboxAndOutboxShareASequence": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "a")
		h := r.claim(t)
		r.commit(t, h, "b")
		if seq := r.accept(t, "x:1", "2", "c"); seq != 3 {
			t.Errorf("seq = %d, want 3: the reply is 2", seq)
		}
		ds, err := r.Unsent(t.Context(), h.Claim, 0)
		must(t, err)
		if len(ds) != 1 || ds[0].Seq != 2 {
			t.Errorf("Unsent = %+v", ds)
		}
	},
	"Work/NoHistoryTouchesNoConversation": func(t *testing.T, r *rig) {
		r.say(t, "x:1", "0", user("before"))
		before, err := r.Find(t.Context(), sessions.Query{Limit: 10})
		must(t, err)
		for i, k := range []string{"x:1", "x:2"} {
			e := sessions.Entry{Inbound: in(k, number("hb", i), "beat"), Source: sessions.SourceHeartbeat}
			a := r.enter(t, e, sessions.Queued)
			h := r.claim(t)
			must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: []sessions.Answered{{Seq: a.Seq}}, Replies: []sessions.Reply{{Text: "news"}}}))
			same(t, "deliveries", r.deliver(t, h), []string{"news"})
			h.release(nil)
		}
		after, err := r.Find(t.Context(), sessions.Query{Limit: 10})
		must(t, err)
		same(t, "List", after, before)
		same(t, "transcript", r.transcript(t, "x:1"), []string{"user: before"})
	},
	"Work/AnInterruptedTurnGoesOn": func(t *testing.T, r *rig) {
		one := r.accept(t, "x:1", "1", "one")
		h := r.claim(t)
		answers := []sessions.Answered{{Seq: one}}
		call := assistant("")
		call.ToolCalls = []sessions.ToolCall{{ID: "c", Name: "time", Arguments: "{}"}}
		steps := []sessions.Step{
			{Kind: sessions.StepModel, Message: &call},
			{Kind: sessions.StepToolStart, CallID: "c"},
			{Kind: sessions.StepPreview, MessageID: "p"},
		}
		for _, s := range steps {
			must(t, r.AppendStep(t.Context(), h.Claim, "t", answers, s))
		}
		two := r.accept(t, "x:1", "2", "two")
		steered := user("two")
		must(t, r.AppendStep(t.Context(), h.Claim, "t", []sessions.Answered{{Seq: two}}, sessions.Step{Kind: sessions.StepSteer, Message: &steered}))
		r.accept(t, "x:1", "3", "three")
		is(t, "AppendStep of another turn", r.AppendStep(t.Context(), h.Claim, "u", answers, steps[0]), sessions.ErrConflict)
		is(t, "CommitTurn of another turn", r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "u", Answers: answers}), sessions.ErrConflict)
		if err := r.AppendStep(t.Context(), h.Claim, "v", nil, steps[0]); err == nil {
			t.Error("a journal that belongs to no message was kept")
		}
		running := func(turn, answers, kinds string) {
			t.Helper()
			p, err := r.Running(t.Context(), key("x:1"))
			must(t, err)
			var texts, steps []string
			for _, w := range p.Messages {
				texts = append(texts, w.Inbound.Text)
			}
			for _, s := range p.Steps {
				steps = append(steps, string(s.Kind))
			}
			same(t, "Running", []string{p.Turn, strings.Join(texts, " "), strings.Join(steps, " ")}, []string{turn, answers, kinds})
		}
		running("t", "one two", "model tool_start preview steer")
		h.release(nil) // as if it had died
		running("t", "one two", "model tool_start preview steer")

		h = r.claim(t)
		p := r.pending(t, h, 1, "one", "two")
		var kinds []sessions.StepKind
		for _, s := range p.Steps {
			kinds = append(kinds, s.Kind)
			if s.At.IsZero() {
				t.Errorf("step %s has no time", s.Kind)
			}
		}
		same(t, "steps", kinds, []sessions.StepKind{sessions.StepModel, sessions.StepToolStart, sessions.StepPreview, sessions.StepSteer})
		if p.Turn != "t" || p.More != 1 || p.Steps[0].Message.ToolCalls[0].Name != "time" || p.Steps[3].Message.Content != "two" {
			t.Errorf("Pending = %+v", p)
		}
		r.commit(t, h, "both")
		running("", "", "")
		if p, err := r.Running(t.Context(), key("x:unknown")); err != nil || p.Turn != "" {
			t.Errorf("Running in an unknown conversation = %+v, %v", p, err)
		}
		p = r.pending(t, h, 5, "three")
		if p.Turn != "" || len(p.Steps) != 0 {
			t.Errorf("Pending after the commit = %+v", p)
		}
	},
	"Work/AJournalEndsWithItsTurn": func(t *testing.T, r *rig) {
		note := sessions.Step{Kind: sessions.StepNote}
		journal := func(id string, h *held) sessions.Answered {
			t.Helper()
			a := sessions.Answered{Seq: r.accept(t, "x:1", id, id)}
			must(t, r.AppendStep(t.Context(), h.Claim, "t", []sessions.Answered{a}, note))
			if p := r.pending(t, h, 1, id); p.Turn != "t" || len(p.Steps) != 1 {
				t.Fatalf("Pending = %+v, want one step", p)
			}
			return a
		}
		r.accept(t, "x:1", "0", "zero")
		h := r.claim(t)
		r.commit(t, h, "ok")
		// A turn with the id of an ended one begins with an empty journal,
		// however that one ended.
		a := journal("1", h)
		must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: []sessions.Answered{a}}))
		journal("2", h)
		r.enter(t, control("x:1", "3", sessions.ControlStop), sessions.Done)
		h.release(nil)
		h = r.claim(t)
		a = journal("4", h)
		must(t, r.Postpone(t.Context(), h.Claim, []int64{a.Seq}, time.Now().Add(time.Hour), ""))
		must(t, r.DropQueue(t.Context(), r.item(t, "in", "postponed").ID))
		journal("5", h)
	},
	"Work/WhatATurnDidNotAnswerWaitsAgain": func(t *testing.T, r *rig) {
		one, two := r.accept(t, "x:1", "1", "one"), r.accept(t, "x:1", "2", "two")
		h := r.claim(t)
		must(t, r.AppendStep(t.Context(), h.Claim, "t", []sessions.Answered{{Seq: one}, {Seq: two}}, sessions.Step{Kind: sessions.StepNote}))
		must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: []sessions.Answered{{Seq: one}}, Messages: []sessions.Message{user("one")}}))
		if p := r.pending(t, h, 0, "two"); p.Turn != "" || len(p.Steps) != 0 {
			t.Errorf("Pending = %+v", p)
		}
	},
	"Work/PostponedWakesAtItsTime": func(t *testing.T, r *rig) {
		one := r.accept(t, "x:1", "1", "one")
		h := r.claim(t)
		must(t, r.AppendStep(t.Context(), h.Claim, "t", []sessions.Answered{{Seq: one}}, sessions.Step{Kind: sessions.StepNote}))
		until := time.Now().Add(300 * time.Millisecond)
		is(t, "Postpone of an unknown message", r.Postpone(t.Context(), h.Claim, []int64{one, 77}, until, "x"), sessions.ErrConflict)
		must(t, r.Postpone(t.Context(), h.Claim, []int64{one}, until, "the model is away"))
		r.pending(t, h, 0)
		st, err := r.Stats(t.Context())
		must(t, err)
		if st.Waiting != 1 || st.Postponed != 1 {
			t.Errorf("Stats = %+v", st)
		}
		h.release(nil)
		// A later message must not be answered before the postponed one.
		r.accept(t, "x:1", "2", "two")
		h = r.claim(t)
		if early := time.Until(until); early > 0 {
			t.Errorf("claimed %s before its time", early)
		}
		p := r.pending(t, h, 0, "one")
		if p.Turn != "t" || len(p.Steps) != 1 || p.Messages[0].Attempts != 1 || p.More != 1 {
			t.Errorf("Pending = %+v", p)
		}
	},
	"Work/APostponedChatDoesNotHoldBackAHeartbeat": func(t *testing.T, r *rig) {
		one := r.accept(t, "x:1", "1", "one")
		h := r.claim(t)
		must(t, r.Postpone(t.Context(), h.Claim, []int64{one}, time.Now().Add(time.Hour), ""))
		h.release(nil)
		r.accept(t, "x:1", "later", "two")
		r.enter(t, sessions.Entry{Inbound: in("x:1", "2", "beat"), Source: sessions.SourceHeartbeat}, sessions.Queued)
		h = r.claim(t)
		if p := r.pending(t, h, 0, "beat"); p.More != 0 {
			t.Errorf("More = %d: message two waits for message one", p.More)
		}
		r.commit(t, h, "ok")
		same(t, "deliveries", r.deliver(t, h), []string{"ok"})
		h.release(nil)
		r.accept(t, "x:1", "3", "two")
		r.noClaim(t, 50*time.Millisecond, "its first message waits for another hour")
	},
}
