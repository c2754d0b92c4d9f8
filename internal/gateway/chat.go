package gateway

import (
	"sync"

	"dragoman/channels"
)

// chats are the conversations of which this process knows more than the store does. One
// mutex guards them all: what is done under it is short and never waits. Only a running
// turn has one of its own, because its answer grows many times a second.
//
// Not here: what belongs to a delivery, which a join of two chats gives to another one
// ([inFlight], [formerSends], [stranded]), and what belongs to a person or a model.
type chats struct {
	mu sync.Mutex
	m  map[channels.Key]*chat
	// failing is how many of them have a failed turn, so that nobody looks for those who
	// wait for a model while nobody does.
	failing int
	most    int // chats before the next forget
}

// chat is one of them. It serves the people who wait and may be lost at any moment; the
// store knows what is left to do. It exists while it knows anything.
type chat struct {
	turn       *liveTurn      // that runs here; nil: none
	out        *outgoing      // what of its answers is being sent; nil: nothing
	watchers   []*watcher     // who asked here and wants to see the answer grow
	failed     *postponedTurn // that waits for another attempt; nil: none
	refusal    notice         // that it was sent last
	turnedAway notice         // that its stranger was sent, for whom there was no pairing code
	cure       cure           // of the turn that failed last, for whoever runs Dragoman
	spent      spent          // the turn that a budget ended last
}

// maxChatsKept bounds the memory. Beyond it nobody remembers what was refused and which
// turns failed: at worst a refusal is said twice, and a turn is tried a few times more.
const maxChatsKept = 10_000

// at is the chat of k, which is made if need be. The caller holds s.mu, and calls tidy
// after it has taken something away.
func (s *chats) at(k channels.Key) *chat {
	c := s.m[k]
	if c != nil {
		return c
	}
	if len(s.m) >= max(s.most, maxChatsKept) {
		s.forget()
		s.most = 2 * len(s.m)
	}
	c = new(chat)
	s.m[k] = c
	return c
}

// tidy drops the chat of k if nothing is known of it. The caller holds s.mu.
func (s *chats) tidy(k channels.Key) {
	c := s.m[k]
	if c == nil {
		return
	}
	known := c.turn != nil || c.out != nil || len(c.watchers) > 0 || c.failed != nil
	said := c.refusal != (notice{}) || c.turnedAway != (notice{}) || c.cure != (cure{}) || c.spent != (spent{})
	if !known && !said {
		delete(s.m, k)
	}
}

// forget drops what is known of chats in which nothing happens now.
func (s *chats) forget() {
	s.failing = 0
	for k, c := range s.m {
		c.failed = nil
		c.refusal = notice{}
		c.turnedAway = notice{}
		c.cure = cure{}
		c.spent = spent{}
		s.tidy(k)
	}
}
