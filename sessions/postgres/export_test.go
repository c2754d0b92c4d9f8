package postgres

import (
	"cmp"
	"context"
	"strings"
	"time"

	"dragoman/sessions/engine"
	"dragoman/sessions/rules"
)

// Fault makes s call f before each commit.
func Fault(s *engine.Store, f func() error) { backendOf(s).fault = f }

// Quick makes River hand out jobs without a pause, which is slower with several nodes
// under load. Its long TTL keeps a node alive on a busy machine.
func Quick(o Options) Options {
	o.cooldown, o.TTL = 5*time.Millisecond, cmp.Or(o.TTL, time.Minute)
	return o
}

// KeptQueries are the statements that Kept recommends.
func KeptQueries() []string {
	return append([]string{rewriteQuery}, strings.Split(removeQueries, "; ")...)
}

// AllNodes is the notification channel of all nodes.
func AllNodes(s *engine.Store) string { return backendOf(s).allNodes() }

// AllFormer is that of the nodes of versions before seals.
func AllFormer(s *engine.Store) string { return backendOf(s).allFormer() }

// RefreshPeers makes s read the load of its peers now.
func RefreshPeers(ctx context.Context, s *engine.Store) error { return backendOf(s).refreshPeers(ctx) }

// Freeze makes s stop renewing its node, as if its process were frozen. Everything else
// goes on.
func Freeze(s *engine.Store) {
	n := &backendOf(s).node
	n.mu.Lock() // it may be joining
	defer n.mu.Unlock()
	n.stop()
	n.renewal.Wait()
}

// Ended waits until River has stopped, once s is closed. Run of a lost node does not wait for
// that, and one that ended before it had joined the others never started River.
func Ended(s *engine.Store) {
	b := backendOf(s)
	b.mu.Lock()
	started := b.run != nil && b.run.closed
	b.mu.Unlock()
	if !started {
		return
	}
	select {
	case <-b.river.Stopped():
	case <-time.After(10 * time.Second): // goleak tells
	}
}

// Stale makes s look frozen for an hour.
func Stale(s *engine.Store) {
	ago := time.Now().Add(-time.Hour)
	backendOf(s).node.renewed.Store(&ago)
}

// Fold moves additions to counts now.
func Fold(ctx context.Context, s *engine.Store) error { return backendOf(s).fold(ctx) }

// NumbersPause and LockClass are those of the package.
const (
	NumbersPause = numbersPause
	LockClass    = lockClass
)

// SetAside lets s set numbers of generations aside, or forbids it.
func SetAside(s *engine.Store, may bool) {
	n := &backendOf(s).numbers
	n.mu.Lock()
	defer n.mu.Unlock()
	n.never = !may
}

// Reserve sets n numbers of today aside for s.
func Reserve(ctx context.Context, s *engine.Store, n int64) error {
	b := backendOf(s)
	return b.setAside(ctx, rules.Day(b.Now()), n)
}
