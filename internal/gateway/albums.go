package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

const (
	// albumQuiet is how long after one part of an album the next one may come
	// for both to be answered together.
	albumQuiet = 500 * time.Millisecond
	// albumMost bounds that from the first part on; with a [channels.Pauser],
	// four of its pauses do.
	albumMost = 3 * time.Second
	// albumsKept bounds how many are remembered before old ones are looked for.
	albumsKept = 1000
	// albumOld is when one is old: a turn that was put off may still come.
	albumOld = 15 * time.Minute
)

// albums knows which messages that were taken in just now are parts of one
// album, so that a turn does not begin on half of it. It is a convenience and
// not on disk: after a crash in the middle of an album its parts may get two
// answers.
type albums struct {
	mu sync.Mutex
	m  map[channels.Key]*album
}

type album struct {
	name        string
	first, last time.Time
	quiet, most time.Duration
	seqs        []int64
	begun       bool // its turn has begun; what still comes is another one's
}

// begin notes a part before it is stored: storing it wakes its key.
func (s *albums) begin(m channels.Inbound, ch channels.Channel, now time.Time) {
	if m.Album == "" || m.Edits != "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.m) >= albumsKept {
		for k, a := range s.m {
			if now.Sub(a.last) > albumOld {
				delete(s.m, k)
			}
		}
	}
	if s.m == nil {
		s.m = make(map[channels.Key]*album)
	}
	a := s.m[m.Key]
	if a == nil || a.name != m.Album || a.begun {
		a = &album{name: m.Album, first: now}
		s.m[m.Key] = a
	}
	a.last, a.quiet, a.most = now, albumQuiet, max(a.most, albumMost)
	if p, ok := ch.(channels.Pauser); ok {
		a.quiet = p.Pause(m)
		a.most = max(a.most, 4*a.quiet)
	}
}

// stored notes under which number a part waits.
func (s *albums) stored(m channels.Inbound, seq int64) {
	if m.Album == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.m[m.Key]; a != nil && a.name == m.Album {
		a.seqs = append(a.seqs, seq)
	}
}

// wait is how long a turn of k should wait for the rest of an album.
func (s *albums) wait(k channels.Key, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.m[k]
	if a == nil || a.begun {
		return 0
	}
	return min(a.last.Add(a.quiet).Sub(now), a.first.Add(a.most).Sub(now))
}

// together is how many of waiting, from the first one on, are one album; 1 if
// the first one is no part of any.
func (s *albums) together(k channels.Key, waiting []sessions.Waiting) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, n := s.m[k], 0
	for a != nil && n < len(waiting) && slices.Contains(a.seqs, waiting[n].Seq) {
		n++
	}
	return max(n, 1)
}

// close ends the waiting for k's album: its turn begins. What it consists of
// is remembered, should the turn be put off.
func (s *albums) close(k channels.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.m[k]; a != nil {
		a.begun = true
	}
}

// pending reads what c has to answer next. Where each message is answered
// alone an album counts as one.
func (g *Gateway) pending(ctx context.Context, c sessions.Claim) (sessions.Pending, error) {
	p, err := g.store.Pending(ctx, c, gatherMost)
	if err != nil {
		return p, fmt.Errorf("read the inbox of %s: %w", c.Key, err)
	}
	if g.opts.Queue == Collect && p.Turn == "" {
		p = g.ofOneAsker(c.Key, p)
	}
	if g.opts.Queue == Each && p.Turn == "" && len(p.Messages) > 1 {
		n := g.albums.together(c.Key, p.Messages)
		p.More += len(p.Messages) - n
		p.Messages = p.Messages[:n]
	}
	return p, nil
}
