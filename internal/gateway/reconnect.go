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
	// connectedEvery is how often a channel without a connection is checked
	// while deliveries wait for one.
	connectedEvery = time.Second
	// maxStranded bounds how many deliveries are remembered. The rest wait for
	// the end of their own pause.
	maxStranded = 10000
)

// stranded are the deliveries of a channel that failed while it had no
// connection. They become due as soon as it has one, however long their pauses
// have grown. After a restart the pauses count again.
type stranded struct {
	mu  sync.Mutex
	ids map[string]bool
	any chan struct{} // capacity 1: there are some
}

func (s *stranded) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ids) >= maxStranded {
		return
	}
	s.ids[id] = true
	signal(s.any)
}

func (s *stranded) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Sorted(maps.Keys(s.ids))
	clear(s.ids)
	return ids
}

func (b *binding) connected() bool { return b.currentStatus().State == channels.StateConnected }

// retryStranded makes the stranded deliveries of b due whenever it connects.
func (g *Gateway) retryStranded(ctx context.Context, b *binding) {
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
		g.makeDue(ctx, b.stranded.take())
	}
}

// makeDue makes deliveries due now. A claim that has just put one back may
// still hold it for a moment, so those in use are tried once more.
func (g *Gateway) makeDue(ctx context.Context, ids []string) {
	for try := 1; ; try++ {
		var inUse []string
		for _, id := range ids {
			err := g.store.RetryQueue(ctx, id)
			switch {
			case errors.Is(err, sessions.ErrConflict):
				inUse = append(inUse, id)
			case err != nil && !errors.Is(err, sessions.ErrNotFound) && ctx.Err() == nil:
				g.opts.Logger.Warn("could not retry a delivery at once after its channel connected", "msg_id", id, "err", err)
			}
		}
		ids = inUse
		if len(ids) == 0 || try == 2 || !sleep(ctx, connectedEvery) {
			return
		}
	}
}
