package web

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// guessEvery and guessBurst limit the wrong tokens of one address.
	guessEvery = 10 * time.Second
	guessBurst = 6
	// maxPeers is how many addresses are counted. Each has some 100 bytes.
	maxPeers = 4096
)

// limit counts the failures of one address.
type limit = rate.Limiter

// guesses limits failures by the address that they come from, so that nobody can slow
// others down. Networks of IPv6 count as one address, because a customer gets a whole one.
type guesses struct {
	mu sync.Mutex
	of map[netip.Addr]*limit
}

// allow counts a failure of peer, and reports whether it may have one more.
func (g *guesses) allow(peer netip.Addr) bool {
	if peer.Is6() {
		if network, err := peer.Prefix(64); err == nil {
			peer = network.Addr()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.of[peer]
	if l == nil {
		g.makeRoom()
		l = rate.NewLimiter(rate.Every(guessEvery), guessBurst)
		g.of[peer] = l
	}
	return l.Allow()
}

// makeRoom forgets addresses whose failures are long ago or, if there are none, any one.
// The caller holds g.mu.
func (g *guesses) makeRoom() {
	if len(g.of) < maxPeers {
		return
	}
	for peer, l := range g.of {
		if l.Tokens() >= guessBurst {
			delete(g.of, peer)
		}
	}
	for peer := range g.of {
		if len(g.of) < maxPeers {
			return
		}
		delete(g.of, peer)
	}
}
