//go:build !nowhatsapp

package whatsapp

import (
	"context"
	"slices"
	"sync"

	"go.mau.fi/whatsmeow/types"
)

// sendQueue lets one message at a time through to the library, whose lock has no
// deadline. Messages go in order of arrival, except that a chat whose last message was
// not acknowledged waits until no other chat does, because it may block the next
// message too.
type sendQueue struct {
	mu      sync.Mutex
	busy    bool
	waiting []*waiter
	missed  map[types.JID]bool // chats whose last message was not acknowledged
}

// waiter is a message that waits for its turn in a [sendQueue].
type waiter struct {
	to   types.JID
	turn chan struct{} // closed when its turn comes
}

// join waits for a turn. It returns false if ctx ended first. After true the caller must
// call leave.
func (l *sendQueue) join(ctx context.Context, to types.JID) bool {
	l.mu.Lock()
	if !l.busy {
		l.busy = true
		l.mu.Unlock()
		return true
	}
	p := &waiter{to, make(chan struct{})}
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
		l.next() // The turn came at the same moment.
	}
	return false
}

func (l *sendQueue) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next()
}

// next gives the turn to the next waiter. The caller holds l.mu.
func (l *sendQueue) next() {
	if len(l.waiting) == 0 {
		l.busy = false
		return
	}
	i := max(0, slices.IndexFunc(l.waiting, func(p *waiter) bool { return !l.missed[p.to] }))
	close(l.waiting[i].turn)
	l.waiting = slices.Delete(l.waiting, i, i+1)
}

// acknowledged records whether WhatsApp acknowledged a message to a chat, and reports
// whether it acknowledged the previous one.
func (l *sendQueue) acknowledged(to types.JID, ok bool) (before bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = !l.missed[to]
	if ok {
		delete(l.missed, to)
	} else {
		l.missed[to] = true
	}
	return before
}
