package whatsapp

import (
	"context"
	"slices"
	"sync"

	"go.mau.fi/whatsmeow/types"
)

// line lets one message at a time through to the library, whose own lock knows
// no deadline. They go in the order in which they came, except that a chat
// whose last message was not acknowledged waits until no other chat does: it
// may hold up the next one too.
type line struct {
	mu      sync.Mutex
	busy    bool
	waiting []*place
	missed  map[types.JID]bool // chats whose last message was not acknowledged
}

type place struct {
	to   types.JID
	turn chan struct{} // closed when it is theirs
}

// join waits for the turn; false: ctx ended before that. After true leave must
// be called.
func (l *line) join(ctx context.Context, to types.JID) bool {
	l.mu.Lock()
	if !l.busy {
		l.busy = true
		l.mu.Unlock()
		return true
	}
	p := &place{to, make(chan struct{})}
	l.waiting = append(l.waiting, p)
	l.mu.Unlock()
	select {
	case <-p.turn:
		return true
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, p); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else {
		l.next() // the turn came in the same moment
	}
	return false
}

func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next()
}

// next gives the turn on. The lock is held.
func (l *line) next() {
	if len(l.waiting) == 0 {
		l.busy = false
		return
	}
	i := max(0, slices.IndexFunc(l.waiting, func(p *place) bool { return !l.missed[p.to] }))
	close(l.waiting[i].turn)
	l.waiting = slices.Delete(l.waiting, i, i+1)
}

// acknowledged notes whether WhatsApp acknowledged a message to a chat, and
// reports whether it did the last time.
func (l *line) acknowledged(to types.JID, ok bool) (before bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = !l.missed[to]
	if ok {
		delete(l.missed, to)
		return before
	}
	if l.missed == nil {
		l.missed = map[types.JID]bool{}
	}
	l.missed[to] = true
	return before
}
