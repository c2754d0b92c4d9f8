package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

var runTests = map[string]func(*testing.T, *rig){
	"Run/Case45OneClaimAKeyManyKeysAtOnce": func(t *testing.T, r *rig) {
		for i := range 8 {
			r.accept(t, number("x:", i), number("", i), "hi")
		}
		var all []*held
		for range 8 {
			all = append(all, r.claim(t)) // all eight handlers run now
		}
		r.accept(t, "x:0", "again", "hi")
		r.noClaim(t, 30*time.Millisecond, "all keys are claimed")
		for _, h := range all {
			h.release(nil)
		}
	},
	"Run/ClaimsRaiseTheEpoch": func(t *testing.T, r *rig) {
		last := int64(0)
		for i := range 5 {
			r.accept(t, "x:1", number("", i), "hi")
			h := r.claim(t)
			if h.Epoch <= last {
				t.Errorf("epoch %d after %d", h.Epoch, last)
			}
			last = h.Epoch
			r.commit(t, h, "ok")
			r.deliver(t, h)
			h.release(nil)
		}
	},
	"Run/FailedHandlersAreCalledAgain": func(t *testing.T, r *rig) {
		r.accept(t, "x:1", "1", "hi")
		h := r.claim(t)
		began := time.Now()
		h.release(errors.New("broken"))
		h = r.claim(t)
		if pause := time.Since(began); pause < 10*time.Millisecond {
			t.Errorf("called again after %s: no backoff", pause)
		}
		// A handler that returns without doing its work must not spin either.
		began = time.Now()
		h.release(nil)
		h = r.claim(t)
		if pause := time.Since(began); pause < 10*time.Millisecond {
			t.Errorf("called again after %s: a busy loop", pause)
		}
		r.commit(t, h, "ok")
		r.deliver(t, h)
		h.release(errors.New("broken at the end"))
		r.noClaim(t, 300*time.Millisecond, "nothing is due")
	},
	"Run/PanicsStayInTheirKey":                  panicky,
	"Run/EndWaitsForHandlers":                   endWaits,
	"Run/EveryMessageWakesItsKey":               wakeUps,
	"Run/ADeferredHeadHoldsBackTheRest":         deferredHead,
	"Run/AStopIsObeyedDuringBackoff":            stopDuringBackoff,
	"Run/RepliesToAnotherKeyWakeIt":             otherKey,
	"Run/NothingIsClaimedAfterTheContext":       afterEnd,
	"Run/Case45OrderAndOnceUnderRandomArrivals": arrivals,
	"Run/ContextOfTheHandlerEndsWithTheRun":     handlerContext,
}

// serve runs h on r's store until the test's end.
func (r *rig) serve(t *testing.T, h sessions.Handler) (stop func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.Run(r.ctx, h); err != nil {
			t.Errorf("Run = %v", err)
		}
	}()
	stop = func() { r.stop(); <-ended }
	t.Cleanup(stop)
	return stop
}

func panicky(t *testing.T, r *rig) {
	var calls atomic.Int32
	fine := make(chan struct{})
	r.serve(t, func(ctx context.Context, c sessions.Claim) error {
		if c.Key == key("x:bad") && calls.Add(1) == 1 {
			panic("a bug")
		}
		if err := answerAll(ctx, r, c); err != nil {
			return err
		}
		if c.Key == key("x:bad") {
			close(fine)
		}
		return nil
	})
	r.accept(t, "x:bad", "1", "hi")
	wait(t, fine, "the key is not worked on after a panic")
}

func wait(t *testing.T, c <-chan struct{}, why string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal(why)
	}
}

// answerAll answers and delivers until nothing is due.
func answerAll(ctx context.Context, s *rig, c sessions.Claim) error {
	for {
		p, err := s.Pending(ctx, c, 10)
		if err != nil {
			return err
		}
		if len(p.Messages) > 0 {
			turn := sessions.Turn{ID: "t"}
			for _, w := range p.Messages {
				turn.Answers = append(turn.Answers, sessions.Answered{Seq: w.Seq, Rev: w.Rev})
				turn.Messages = append(turn.Messages, sessions.UserMessage(w.Inbound))
				turn.Replies = append(turn.Replies, sessions.Reply{Text: "re " + w.Inbound.Text})
			}
			if err := s.CommitTurn(ctx, c, turn); err != nil {
				return err
			}
		}
		ds, err := s.Unsent(ctx, c, 10)
		if err != nil {
			return err
		}
		if len(ds)+len(p.Messages) == 0 {
			return nil
		}
		for _, d := range ds {
			if err := s.MarkSending(ctx, c, d.ID); err != nil {
				return err
			}
			if err := s.MarkSent(ctx, c, d.ID, channels.Receipt{}); err != nil {
				return err
			}
		}
	}
}

func endWaits(t *testing.T, r *rig) {
	r.accept(t, "x:1", "1", "hi")
	entered, leave := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- r.Run(r.ctx, func(context.Context, sessions.Claim) error {
			close(entered)
			<-leave
			return nil
		})
	}()
	wait(t, entered, "no claim")
	r.stop()
	select {
	case <-ended:
		t.Error("Run returned before its handler")
	case <-time.After(30 * time.Millisecond):
	}
	close(leave)
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(patience):
		t.Error("Run does not return")
	}
}

// wakeUps tests the classic race: a message arrives while the handler of the previous
// one is returning.
func wakeUps(t *testing.T, r *rig) {
	keys := 2000
	if testkit.Race {
		keys /= 4
	}
	var left sync.WaitGroup
	left.Add(2 * keys)
	stop := r.serve(t, func(ctx context.Context, c sessions.Claim) error {
		for {
			p, err := r.Pending(ctx, c, 1)
			if err != nil || len(p.Messages) == 0 {
				return err
			}
			w := p.Messages[0]
			if err := r.CommitTurn(ctx, c, sessions.Turn{ID: "t", Answers: []sessions.Answered{{Seq: w.Seq, Rev: w.Rev}}}); err != nil {
				return err
			}
			left.Done()
		}
	})
	var senders sync.WaitGroup
	for w := range 200 {
		senders.Go(func() {
			for i := w; i < keys; i += 200 {
				k := number("x:", i)
				_, err := r.Accept(t.Context(), sessions.Entry{Inbound: in(k, number("a", i), "one")})
				if err == nil {
					pauseFor(t.Context(), rand.N(120*time.Millisecond)/time.Duration(1+i%8))
					_, err = r.Accept(t.Context(), sessions.Entry{Inbound: in(k, number("b", i), "two")})
				}
				if err != nil {
					t.Errorf("Accept: %v", err)
					return
				}
			}
		})
	}
	senders.Wait()
	all := make(chan struct{})
	go func() { left.Wait(); close(all) }()
	select {
	case <-all:
	case <-time.After(patience):
		st, _ := r.Stats(t.Context())
		t.Errorf("stranded messages: %+v", st)
		left.Add(-st.Waiting)
	}
	stop()
}

// pauseFor is network latency, not a way to wait for something.
func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func deferredHead(t *testing.T, r *rig) {
	r.enter(t, sessions.Entry{Inbound: in("x:1", "1", "/a"), Answered: true, Replies: []sessions.Reply{{Text: "one"}, {Text: "two"}}}, sessions.Done)
	h := r.claim(t)
	ds, err := r.Unsent(t.Context(), h.Claim, 0)
	must(t, err)
	until := time.Now().Add(250 * time.Millisecond)
	must(t, r.MarkSending(t.Context(), h.Claim, ds[0].ID))
	must(t, r.Reschedule(t.Context(), h.Claim, ds[0].ID, until, false, "slow down"))
	h.release(nil)
	h = r.claim(t)
	if early := time.Until(until); early > 0 {
		t.Errorf("claimed %s before the head of the outbox is due", early)
	}
	same(t, "deliveries", r.deliver(t, h), []string{"one", "two"})
}

func stopDuringBackoff(t *testing.T, r *rig) {
	took := time.Duration(0)
	for i := range 5 { // a busy machine may be late, but not each time
		key := fmt.Sprintf("x:%d", i)
		r.accept(t, key, "1", "poison")
		for range 4 { // the next backoff is most of a second long
			r.claim(t).release(errors.New("broken"))
		}
		began := time.Now()
		r.enter(t, control(key, "2", sessions.ControlStop), sessions.Done)
		h := r.claim(t)
		took = time.Since(began)
		same(t, "deliveries", r.deliver(t, h), []string{"ok stop"})
		h.release(nil)
		if took <= 300*time.Millisecond {
			return
		}
	}
	t.Errorf("the answer to /stop waited %s", took)
}

func otherKey(t *testing.T, r *rig) {
	seq := r.accept(t, "x:1", "1", "hi")
	h := r.claim(t)
	must(t, r.CommitTurn(t.Context(), h.Claim, sessions.Turn{ID: "t", Answers: []sessions.Answered{{Seq: seq}}, Replies: []sessions.Reply{{Key: key("y:2"), Text: "there"}}}))
	other := r.claim(t)
	if other.Key != key("y:2") {
		t.Fatalf("claim of %s", other.Key)
	}
	ds, err := r.Unsent(t.Context(), other.Claim, 0)
	must(t, err)
	is(t, "MarkSending under the wrong claim", r.MarkSending(t.Context(), h.Claim, ds[0].ID), sessions.ErrNotFound)
	same(t, "deliveries", r.deliver(t, other), []string{"there"})
}

func afterEnd(t *testing.T, r *rig) {
	r.claimNothing(t)
	r.stop()
	<-r.running
	r.accept(t, "x:1", "1", "hi") // still stored
	select {
	case <-r.claims:
		t.Error("claimed after the end of Run")
	case <-time.After(20 * time.Millisecond):
	}
	if err := r.Run(t.Context(), func(context.Context, sessions.Claim) error { return nil }); err == nil {
		t.Error("a second Run of one store was allowed")
	}
}

func (r *rig) claimNothing(t *testing.T) { r.noClaim(t, time.Millisecond, "nothing is there") }

func handlerContext(t *testing.T, r *rig) {
	r.accept(t, "x:1", "1", "hi")
	h := r.claim(t)
	r.stop()
	wait(t, h.ctx.Done(), "the handler's context goes on")
	if errors.Is(context.Cause(h.ctx), sessions.ErrFenced) {
		t.Error("the end of Run looks like a fence")
	}
}

// arrivals sends numbered messages to a few keys at random moments and checks
// that each key answered each of its messages once and in order.
func arrivals(t *testing.T, r *rig) {
	const keys, each = 20, 40
	var all sync.WaitGroup
	all.Add(keys * each)
	var mu sync.Mutex
	got := map[channels.Key][]string{}
	live := map[channels.Key]bool{}
	stop := r.serve(t, func(ctx context.Context, c sessions.Claim) error {
		mu.Lock()
		if live[c.Key] {
			t.Errorf("two live claims of %s", c.Key)
		}
		live[c.Key] = true
		mu.Unlock()
		defer func() { mu.Lock(); live[c.Key] = false; mu.Unlock() }()
		p, err := r.Pending(ctx, c, 1+rand.N(3))
		if err != nil || len(p.Messages) == 0 {
			return err
		}
		turn := sessions.Turn{ID: "t"}
		for _, w := range p.Messages {
			turn.Answers = append(turn.Answers, sessions.Answered{Seq: w.Seq, Rev: w.Rev})
		}
		if err := r.CommitTurn(ctx, c, turn); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, w := range p.Messages {
			got[c.Key] = append(got[c.Key], w.Inbound.Text)
			all.Done()
		}
		return nil
	})
	var senders sync.WaitGroup
	for k := range keys {
		senders.Go(func() {
			for i := range each {
				if _, err := r.Accept(t.Context(), sessions.Entry{Inbound: in(number("x:", k), number(number("", k)+"-", i), number("", i))}); err != nil {
					t.Errorf("Accept: %v", err)
				}
				pauseFor(t.Context(), rand.N(3*time.Millisecond))
			}
		})
	}
	senders.Wait()
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	wait(t, done, "stranded messages")
	stop()
	for k, texts := range got {
		for i, text := range texts {
			if text != number("", i) {
				t.Fatalf("%s answered %q as number %d", k, text, i)
			}
		}
	}
}
