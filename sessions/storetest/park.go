package storetest

import (
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// park parks the pending turn of h as the turn "t" for a while, with a reply.
func (r *rig) park(t *testing.T, h *held, d time.Duration) {
	t.Helper()
	p, err := r.Pending(t.Context(), h.Claim, 0)
	must(t, err)
	parking := sessions.Parking{Turn: "t", Until: time.Now().Add(d), Why: "closed", Replies: []sessions.Reply{{Text: "Later."}}}
	for _, w := range p.Messages {
		parking.Answers = append(parking.Answers, sessions.Answered{Seq: w.Seq, Rev: w.Rev})
	}
	must(t, r.Park(t.Context(), h.Claim, parking))
}

// kinds are those of the steps of p.
func kinds(p sessions.Pending) (list []sessions.StepKind) {
	for _, s := range p.Steps {
		list = append(list, s.Kind)
	}
	return list
}

var parkTests = map[string]func(*testing.T, *rig){
	"Park/GoesOnAtItsTime": func(t *testing.T, r *rig) {
		one := r.accept(t, "x:1", "1", "one")
		h := r.claim(t)
		must(t, r.Postpone(t.Context(), h.Claim, []int64{one}, time.Now(), "away"))
		until := time.Now().Add(300 * time.Millisecond)
		r.park(t, h, 300*time.Millisecond)
		r.pending(t, h, 0)
		same(t, "deliveries", r.deliver(t, h), []string{"Later."})
		it := r.item(t, sessions.LaneIn, sessions.QueueParked)
		if it.Error != "closed" || it.NotBefore.Before(until) || it.Attempts != 0 {
			t.Errorf("the item is %+v, want parked until %v, without its earlier attempt", it, until)
		}
		h.release(nil)
		r.accept(t, "x:1", "2", "two") // waits behind it
		h = r.claim(t)
		if early := time.Until(until); early > 0 {
			t.Errorf("claimed %s before its time", early)
		}
		p := r.pending(t, h, 0, "one")
		same(t, "steps", kinds(p), []sessions.StepKind{sessions.StepParked})
		if p.Turn != "t" || p.More != 1 {
			t.Errorf("Pending = %+v", p)
		}
		r.commit(t, h, "ok")
		r.pending(t, h, 0, "two")
	},
	"Park/IsMadeDue": func(t *testing.T, r *rig) {
		h := r.held(t, "x:1", "1", "one")
		r.park(t, h, time.Hour)
		same(t, "deliveries", r.deliver(t, h), []string{"Later."})
		h.release(nil)
		r.noClaim(t, 0, "of a parked turn")
		must(t, r.RetryQueue(t.Context(), r.item(t, sessions.LaneIn, sessions.QueueParked).ID))
		h = r.claim(t)
		r.pending(t, h, 0, "one")
		r.park(t, h, time.Hour)
		p, err := r.Running(t.Context(), key("x:1"))
		must(t, err)
		same(t, "steps", kinds(p), []sessions.StepKind{sessions.StepParked, sessions.StepParked})
	},
	"Park/IsStopped": func(t *testing.T, r *rig) {
		h := r.held(t, "x:1", "1", "one")
		r.park(t, h, time.Hour)
		r.deliver(t, h)
		h.release(nil)
		r.enter(t, control("x:1", "2", sessions.ControlStop), sessions.Done)
		p, err := r.Running(t.Context(), key("x:1"))
		must(t, err)
		if p.Turn != "" {
			t.Errorf("the turn goes on after /stop: %+v", p)
		}
		h = r.held(t, "x:1", "3", "next")
		if p := r.pending(t, h, 0, "next"); p.Turn != "" {
			t.Errorf("Pending = %+v", p)
		}
	},
	"Park/MayStillChange": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "one")
		r.accept(t, "x:1", "2", "two")
		h := r.claim(t)
		r.pending(t, h, 0, "one", "two")
		r.park(t, h, time.Hour)
		r.deliver(t, h)
		h.release(nil)
		r.enter(t, edit("x:1", "3", "m1", "better"), sessions.Replaced)
		r.enter(t, gone("x:1", "4", "m2", channels.DeletedBySender), sessions.Withdrawn)
		must(t, r.RetryQueue(t.Context(), r.item(t, sessions.LaneIn, sessions.QueueParked).ID))
		h = r.claim(t)
		if p := r.pending(t, h, 0, "better"); p.Turn != "t" {
			t.Errorf("Pending = %+v", p)
		}
		r.park(t, h, time.Hour)
		h.release(nil)
		r.enter(t, gone("x:1", "5", "m1", channels.DeletedBySender), sessions.Withdrawn)
		h = r.held(t, "x:1", "6", "next")
		if p := r.pending(t, h, 0, "next"); p.Turn != "" || len(p.Steps) != 0 {
			t.Errorf("Pending = %+v, want nothing of the turn whose messages are gone", p)
		}
	},
	"Park/RefusesWhatHasChanged": func(t *testing.T, r *rig) {
		h := r.held(t, "x:1", "1", "one")
		stale := sessions.Parking{Turn: "t", Answers: []sessions.Answered{{Seq: r.pending(t, h, 0, "one").Messages[0].Seq}}, Until: time.Now().Add(time.Hour)}
		r.enter(t, edit("x:1", "2", "m1", "better"), sessions.Replaced)
		is(t, "Park", r.Park(t.Context(), h.Claim, stale), sessions.ErrConflict)
		r.enter(t, control("x:1", "3", sessions.ControlNew), sessions.Done)
		is(t, "Park after /new", r.Park(t.Context(), h.Claim, stale), sessions.ErrFenced)
		h.release(nil)
		same(t, "deliveries", r.deliver(t, r.held(t, "x:1", "4", "next")), []string{"ok new"})
	},
}

// parkedStays: after a restart, the turn is parked and its reply is sent; the time at which
// it goes on has not changed.
func parkedStays(t *testing.T, reopen func() *rig) {
	r := reopen()
	h := r.held(t, "x:1", "1", "one")
	r.park(t, h, time.Hour)
	before := r.item(t, sessions.LaneIn, sessions.QueueParked)
	r = reopen()
	h = r.claim(t)
	same(t, "deliveries", r.deliver(t, h), []string{"Later."})
	same(t, "item", r.item(t, sessions.LaneIn, sessions.QueueParked), before)
	r.pending(t, h, 0)
	h.release(nil)
	must(t, r.RetryQueue(t.Context(), before.ID))
	h = r.claim(t)
	p := r.pending(t, h, 0, "one")
	same(t, "steps", kinds(p), []sessions.StepKind{sessions.StepParked})
}
