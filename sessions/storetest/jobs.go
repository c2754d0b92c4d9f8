package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

var jobTests = map[string]func(*testing.T, *rig){
	"Jobs/FireOnce": func(t *testing.T, r *rig) {
		ctx := t.Context()
		if _, planned, err := r.NextDue(ctx, "j"); err != nil || planned {
			t.Errorf("NextDue of an unknown job: %v, %v", planned, err)
		}
		due := time.Date(2026, 3, 29, 2, 30, 0, 123456789, time.FixedZone("CET", 3600))
		next := due.Add(24 * time.Hour)
		beat := in("x:1", "hb:j:1", "prompt")
		is(t, "Fire of an unplanned job", r.Fire(ctx, "j", due, due, next, beat), sessions.ErrConflict)
		must(t, r.Plan(ctx, "j", time.Time{}, due))
		if got, planned, err := r.NextDue(ctx, "j"); err != nil || !planned || !got.Equal(due) {
			t.Errorf("NextDue = %v, %v, %v", got, planned, err)
		}
		is(t, "Fire at another time", r.Fire(ctx, "j", due.Add(1), due.Add(1), next, beat), sessions.ErrConflict)
		must(t, r.Fire(ctx, "j", due, due, next, beat))
		is(t, "Fire twice", r.Fire(ctx, "j", due, due, next, in("x:1", "hb:other", "prompt")), sessions.ErrConflict)
		is(t, "Skip after Fire", r.Skip(ctx, "j", due, next, "skipped", ""), sessions.ErrConflict)
		if got, _, err := r.NextDue(ctx, "j"); err != nil || !got.Equal(next) {
			t.Errorf("NextDue = %v, %v, want %v", got, err, next)
		}
		// Planned back, as after a step of the clock: it continues without a
		// second firing.
		must(t, r.Plan(ctx, "j", next, due))
		must(t, r.Fire(ctx, "j", due, due, next, in("x:1", "hb:again", "prompt")))
		h := r.claim(t)
		p := r.pending(t, h, 0, "prompt")
		if p.Messages[0].Source != sessions.SourceHeartbeat || p.More != 0 {
			t.Errorf("Pending = %+v", p)
		}
		must(t, r.CommitTurn(ctx, h.Claim, sessions.Turn{
			ID: "t", Answers: []sessions.Answered{{Seq: p.Messages[0].Seq}},
			Occurrence: &sessions.Occurrence{Job: "j", Due: due, Outcome: "silent", Why: "HEARTBEAT_OK"},
		}))
		list, err := r.Occurrences(ctx, "j", 10)
		must(t, err)
		if len(list) != 1 || list[0].Outcome != "silent" || list[0].Why != "HEARTBEAT_OK" || !list[0].Due.Equal(due) || list[0].At.IsZero() {
			t.Errorf("Occurrences = %+v", list)
		}
	},
	"Jobs/UndeliveredTextFailsItsRun": func(t *testing.T, r *rig) {
		ctx := t.Context()
		must(t, r.Plan(ctx, "j", time.Time{}, noon))
		run := func(due time.Time, n, pieces int) {
			t.Helper()
			news := make([]sessions.Reply, pieces)
			for i := range news {
				news[i] = sessions.Reply{Label: sessions.Label{Job: "j", Kind: channels.KindJob}, Key: key("y:1"), Text: "news"}
			}
			must(t, r.Fire(ctx, "j", due, due, due.Add(time.Hour), in("x:1", number("hb", n), "prompt")))
			h := r.claim(t)
			p := r.pending(t, h, 0, "prompt")
			must(t, r.CommitTurn(ctx, h.Claim, sessions.Turn{
				ID: number("t", n), Answers: []sessions.Answered{{Seq: p.Messages[0].Seq}}, Replies: news,
				Occurrence: &sessions.Occurrence{Job: "j", Due: due, Outcome: "ran", At: time.Now()},
			}))
			h.release(nil)
		}
		run(noon, 0, 1)
		h := r.claim(t) // of y:1, while the job runs again
		run(noon.Add(time.Hour), 1, 2)
		run(noon.Add(2*time.Hour), 2, 1)
		list, err := r.Unsent(ctx, h.Claim, 10)
		must(t, err)
		for _, piece := range list[1:3] { // those of the second run
			must(t, r.MarkDead(ctx, h.Claim, piece.ID, "the chat is gone"))
		}
		h.release(nil)
		var got []string
		all, err := r.Occurrences(ctx, "j", 10)
		must(t, err)
		for _, o := range all {
			got = append(got, o.Outcome+" "+o.Why)
			if o.Changed.IsZero() != (o.Outcome == "ran") || o.At.IsZero() {
				t.Errorf("%s: at %s, changed %s", o.Outcome, o.At, o.Changed)
			}
		}
		same(t, "Occurrences", got, []string{"ran ", "failed its text was not delivered: the chat is gone", "ran "})
	},
	"Jobs/FireBesideThePlan": func(t *testing.T, r *rig) {
		ctx, planned := t.Context(), noon.Add(time.Hour)
		must(t, r.Plan(ctx, "j", time.Time{}, planned))
		is(t, "Fire of who saw another plan", r.Fire(ctx, "j", noon, noon, planned, in("x:1", "hb:0", "prompt")), sessions.ErrConflict)
		must(t, r.Fire(ctx, "j", planned, noon, planned, in("x:1", "hb:1", "prompt")))
		if got, _, err := r.NextDue(ctx, "j"); err != nil || !got.Equal(planned) {
			t.Errorf("NextDue = %v, %v, want %v", got, err, planned)
		}
		if list, err := r.Occurrences(ctx, "j", 10); err != nil || len(list) != 1 || !list[0].Due.Equal(noon) || list[0].Outcome != "fired" {
			t.Errorf("Occurrences = %+v, %v", list, err)
		}
	},
	"Jobs/PlanReplacesNoOther": func(t *testing.T, r *rig) {
		first, second := noon, noon.Add(time.Hour)
		is(t, "Plan from a time of a job that has none", r.Plan(t.Context(), "j", first, second), sessions.ErrConflict)
		must(t, r.Plan(t.Context(), "j", time.Time{}, first))
		is(t, "Plan of who saw none", r.Plan(t.Context(), "j", time.Time{}, second), sessions.ErrConflict)
		is(t, "Plan of who saw another", r.Plan(t.Context(), "j", second, second.Add(time.Hour)), sessions.ErrConflict)
		if due, _, err := r.NextDue(t.Context(), "j"); err != nil || !due.Equal(first) {
			t.Errorf("NextDue = %v, %v, want %v", due, err, first)
		}
		must(t, r.Plan(t.Context(), "j", first, second))
	},
	"Jobs/SkipRecordsAndPlans": func(t *testing.T, r *rig) {
		ctx := t.Context()
		due := time.Now().Add(-time.Hour)
		for i, job := range []string{"a", "b", "a"} {
			at := due.Add(time.Duration(i) * time.Minute)
			was, _, err := r.NextDue(ctx, job)
			must(t, err)
			must(t, r.Plan(ctx, job, was, at))
			must(t, r.Skip(ctx, job, at, at.Add(time.Minute), "missed", number("why ", i)))
		}
		is(t, "Skip twice", r.Skip(ctx, "a", due, due, "missed", ""), sessions.ErrConflict)
		var got []string
		list, err := r.Occurrences(ctx, "", 10)
		must(t, err)
		for _, o := range list {
			got = append(got, o.Job+" "+o.Outcome+" "+o.Why)
		}
		same(t, "Occurrences", got, []string{"a missed why 2", "b missed why 1", "a missed why 0"})
		if list, err = r.Occurrences(ctx, "a", 1); err != nil || len(list) != 1 || list[0].Why != "why 2" {
			t.Errorf("Occurrences(a, 1) = %+v, %v", list, err)
		}
		r.noClaim(t, 0, "nothing was fired")
	},
	"Jobs/ManyFireOneWins": func(t *testing.T, r *rig) {
		due := time.Now()
		must(t, r.Plan(t.Context(), "j", time.Time{}, due))
		var wins, losses int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				err := r.Fire(t.Context(), "j", due, due, due.Add(time.Hour), in("x:1", number("hb", i), "prompt"))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					wins++
				case errors.Is(err, sessions.ErrConflict):
					losses++
				}
			})
		}
		all.Wait()
		if wins != 1 || losses != 19 {
			t.Errorf("%d fired and %d were refused, want 1 and 19", wins, losses)
		}
		r.pending(t, r.claim(t), 0, "prompt")
	},
	"Leases/OneHolderAtATime": func(t *testing.T, r *rig) {
		entered, leave := make(chan struct{}), make(chan struct{})
		first := make(chan error, 1)
		want := errors.New("mine")
		go func() {
			first <- r.Hold(t.Context(), "l", func(context.Context) error {
				close(entered)
				<-leave
				return want
			})
		}()
		wait(t, entered, "no lease")
		must(t, r.Hold(t.Context(), "other", func(context.Context) error { return nil }))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := r.Hold(ctx, "l", func(context.Context) error { t.Error("two holders"); return nil }); err == nil {
			t.Error("Hold without the lease returned nil")
		}
		second := make(chan error, 1)
		go func() { second <- r.Hold(t.Context(), "l", func(context.Context) error { return nil }) }()
		close(leave)
		is(t, "Hold", <-first, want)
		must(t, <-second)
	},
}
