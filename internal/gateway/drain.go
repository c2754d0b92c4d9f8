package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"dragoman/sessions"
)

// errDraining refuses messages while the gateway stops. Their networks keep
// them, because they are not acknowledged.
var errDraining = errors.New("gateway: stopping, no more messages are accepted")

// drain waits until no turn runs and nothing is being delivered.
func (g *Gateway) drain(release func()) {
	running, idle := g.busy.close()
	g.opts.Logger.Info("draining", "busy", running, "limit", g.opts.DrainLimit)
	g.handOver(release)
	select {
	case <-idle:
		g.opts.Logger.Info("drained")
	case <-time.After(g.opts.DrainLimit):
		g.opts.Logger.Warn("drain limit reached; the rest stays queued", "busy", g.busy.count())
	}
}

// handOver begins a drain. If another node runs turns, it hands the keys over at
// once. If another node runs channels, it calls release, which ends this node's
// channels: whatever this node still has to deliver goes out through the other.
func (g *Gateway) handOver(release func()) {
	if g.opts.Peers == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stateCallLimit)
	defer cancel()
	nodes, err := g.opts.Peers.Nodes(ctx)
	others := func(role string) bool {
		return slices.ContainsFunc(nodes, func(n sessions.Node) bool {
			return !n.Self && (len(n.Roles) == 0 || slices.Contains(n.Roles, role))
		})
	}
	if err == nil && others("turns") {
		if err = g.opts.Peers.Leave(ctx); err == nil {
			close(g.handedOver)
		}
	}
	if err == nil && others("channels") {
		release()
	}
	if err != nil {
		g.opts.Logger.Warn("other nodes take over only when this one has stopped", "err", err)
	}
}

// waitHandedOver waits until another node or the next start can go on with a key.
func (g *Gateway) waitHandedOver(ctx context.Context) {
	select {
	case <-g.handedOver:
	case <-ctx.Done():
	}
}

// busy counts work that must not be cut short, and can be closed for good.
type busy struct {
	mu   sync.Mutex
	n    int
	shut bool
	done chan struct{} // made by close, closed when n is 0
}

// begin reports false after close. Otherwise the caller must call end.
func (b *busy) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut {
		return false
	}
	b.n++
	return true
}

func (b *busy) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n--
	if b.n == 0 && b.shut {
		close(b.done)
	}
}

// close makes begin report false, and returns how much is busy. idle is closed
// once nothing is.
func (b *busy) close() (running int, idle <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut, b.done = true, make(chan struct{})
	if b.n == 0 {
		close(b.done)
	}
	return b.n, b.done
}

func (b *busy) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut
}

func (b *busy) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}
