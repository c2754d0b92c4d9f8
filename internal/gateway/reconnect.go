package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

const (
	// connectedEvery is how often a channel without a connection is looked at
	// while deliveries wait for one.
	connectedEvery = time.Second
	// strandedMost bounds how many deliveries are remembered for that. Any more
	// are tried when their own pause is over.
	strandedMost = 10000
)

// stranded are the deliveries of a channel that failed while it had no
// connection. They are due as soon as it has one, whatever their pauses had
// grown to. It is memory only: after a restart the pauses count.
type stranded struct {
	mu  sync.Mutex
	ids map[string]bool
	any chan struct{} // holds one sign: there are some
}

func newStranded() stranded { return stranded{ids: map[string]bool{}, any: make(chan struct{}, 1)} }

func (s *stranded) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ids) >= strandedMost {
		return
	}
	s.ids[id] = true
	select {
	case s.any <- struct{}{}:
	default:
	}
}

func (s *stranded) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Sorted(maps.Keys(s.ids))
	clear(s.ids)
	return ids
}

// connected reports whether the channel has a connection now.
func (b *binding) connected() bool { return b.current().State == channels.StateConnected }

// hasten makes what waits for a connection of b due once there is one.
func (g *Gateway) hasten(ctx context.Context, b *binding) {
	for {
		select {
		case <-b.stranded.any:
		case <-ctx.Done():
			return
		}
		for !b.connected() {
			if !sleep(ctx, connectedEvery) {
				return
			}
		}
		// A claim that has just put one back may hold it for a moment still.
		if busy := g.makeDue(ctx, b.stranded.take()); len(busy) > 0 && sleep(ctx, connectedEvery) {
			g.makeDue(ctx, busy)
		}
	}
}

// makeDue returns those that are being worked on, or done.
func (g *Gateway) makeDue(ctx context.Context, ids []string) (busy []string) {
	for _, id := range ids {
		err := g.store.RetryQueue(ctx, id)
		switch {
		case errors.Is(err, sessions.ErrConflict):
			busy = append(busy, id)
		case err != nil && !errors.Is(err, sessions.ErrNotFound) && ctx.Err() == nil:
			g.opts.Logger.Warn("could not retry a delivery at once after its channel connected", "msg_id", id, "err", err)
		}
	}
	return busy
}
