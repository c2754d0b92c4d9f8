package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// fencedGrace is how long a network call that was begun may go on after its
// claim is over. Cutting it off at once would leave unknown whether the
// message arrived, and a /stop would make an answer come twice.
const fencedGrace = 10 * time.Second

// pastFence is ctx, except that the end of the claim ends it only after
// [fencedGrace].
func pastFence(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !fenced(ctx) {
			cancel()
			return
		}
		time.AfterFunc(fencedGrace, cancel)
	})
	return out, func() {
		stop()
		cancel()
	}
}

// fenced reports whether ctx ended because its claim is over.
func fenced(ctx context.Context) bool { return errors.Is(context.Cause(ctx), sessions.ErrFenced) }

// attempt is one network call for a delivery, and how it ended.
type attempt struct {
	d       sessions.Delivery // as it was before the call
	receipt channels.Receipt
	err     error
}

// inFlight keeps the attempts whose end the store does not know, for the claim
// that follows: their claim was over, or the store failed. They are memory
// only: after a crash such a delivery is uncertain, as the store says.
//
// A join gives a delivery to another key, whose claim can begin while the call
// goes on: so inFlight also knows which calls are under way.
type inFlight struct {
	mu    sync.Mutex
	m     map[string]attempt       // by the delivery's id
	calls map[string]chan struct{} // the same; closed when the call has ended and its end was settled or kept
}

// begin notes that a call for the delivery is under way, until end is called.
func (o *inFlight) begin(id string) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls == nil {
		o.calls = map[string]chan struct{}{}
	}
	ended := make(chan struct{})
	o.calls[id] = ended
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		// Another claim may have begun a call since: that one goes on.
		if o.calls[id] == ended {
			delete(o.calls, id)
		}
		close(ended)
	}
}

// wait returns when no call for the delivery is under way any more, and reports
// whether there was one.
func (o *inFlight) wait(ctx context.Context, id string) (bool, error) {
	o.mu.Lock()
	call := o.calls[id]
	o.mu.Unlock()
	if call == nil {
		return false, nil
	}
	select {
	case <-call:
		return true, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// inFlightKept bounds the memory; only deliveries that are dropped at just
// that moment are never asked for.
const inFlightKept = 1000

func (o *inFlight) keep(a attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.m == nil || len(o.m) >= inFlightKept {
		o.m = make(map[string]attempt)
	}
	o.m[a.d.ID] = a
}

func (o *inFlight) take(id string) (attempt, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a, found := o.m[id]
	delete(o.m, id)
	return a, found
}
