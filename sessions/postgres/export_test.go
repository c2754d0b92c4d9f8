package postgres

import (
	"cmp"
	"context"
	"strings"
	"time"

	"dragoman/sessions/rows"
)

// Backend is the backend of s.
func Backend(s *Store) rows.Backend { return s.b }

// Fault has f called before each commit.
func Fault(s *Store, f func() error) { s.b.fault = f }

// Quick has River hand out jobs without a pause. With several nodes under load
// that is slower. A busy machine makes no node a dead one.
func Quick(o Options) Options {
	o.cooldown, o.TTL = 5*time.Millisecond, cmp.Or(o.TTL, time.Minute)
	return o
}

// KeptQueries are the statements in what Kept says.
func KeptQueries() []string {
	return append([]string{rewriteQuery}, strings.Split(removeQueries, "; ")...)
}

// Everybody is what all nodes listen on.
func Everybody(s *Store) string { return s.b.everybody() }

// FindTakers has s look now who takes turns.
func FindTakers(ctx context.Context, s *Store) error { return s.b.findTakers(ctx) }

// Freeze has s not renew its node any more, as if its process stood still. All
// else of it goes on.
func Freeze(s *Store) {
	n := &s.b.node
	n.mu.Lock() // it may just join
	defer n.mu.Unlock()
	n.stop()
	n.renewal.Wait()
}

// Ended waits until River has stopped. A lost node does not wait for that.
func Ended(s *Store) {
	if s.b.run == nil {
		return
	}
	select {
	case <-s.b.river.Stopped():
	case <-time.After(10 * time.Second): // it was never started, or goleak tells
	}
}

// Stale has s count as frozen since an hour.
func Stale(s *Store) {
	ago := time.Now().Add(-time.Hour)
	s.b.node.renewed.Store(&ago)
}
