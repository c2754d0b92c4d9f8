package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// fencedGrace is how long a network call may go on after its claim is over. If
// it were cut off at once, nobody would know whether the message arrived, and a
// /stop would make an answer come twice.
const fencedGrace = 10 * time.Second

// pastFence returns a context like ctx that lives for [fencedGrace] more when
// the claim ends.
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

// inFlight keeps, for the next claim, the outcomes of attempts that the store
// does not know, because the claim was over or the store failed. It is memory
// only: after a crash such a delivery is uncertain, as the store says.
//
// A join moves a delivery to another key, whose claim can begin during the
// call. So inFlight also knows which calls are running.
type inFlight struct {
	mu    sync.Mutex
	m     map[string]attempt       // by the delivery's id
	calls map[string]chan struct{} // also by the delivery's id; closed when the call has ended and its outcome was recorded or kept
}

// begin notes a running call for the delivery, until end is called.
func (o *inFlight) begin(id string) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ended := make(chan struct{})
	o.calls[id] = ended
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		// Another claim may have begun another call since.
		if o.calls[id] == ended {
			delete(o.calls, id)
		}
		close(ended)
	}
}

// wait waits for a running call for the delivery. It reports whether there was one.
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

// maxInFlightKept bounds the memory. Normally each outcome is taken by the next
// claim; only those of deliveries dropped at that moment stay.
const maxInFlightKept = 1000

func (o *inFlight) keep(a attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.m) >= maxInFlightKept {
		clear(o.m)
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
