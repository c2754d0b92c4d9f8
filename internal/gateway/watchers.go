package gateway

import (
	"context"
	"slices"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// watcher waits for the answer to a message.
type watcher struct {
	id   string               // the message's
	show func(agent.Progress) // nil: only the answer is wanted
	// ended gets the turn that answered the message here. It has a capacity of 1: a
	// message is answered once.
	ended chan *endedTurn
	// settled says that messages of the conversation wait no longer, or that a turn there is
	// parked. It has a capacity of 1: one look into the store shows all that happened.
	settled chan struct{}
}

// endedTurn is what a committed turn said, as the store has it.
type endedTurn struct {
	id       string
	messages []sessions.Message
	sent     []sessions.FeedItem
}

// watch begins to wait for the answer to the message of k with that id, until end is
// called. Who watches before the message is there misses nothing. If the turn that answers
// it runs already, show gets first how far that has come.
func (s *chats) watch(k channels.Key, id string, show func(agent.Progress)) (one *watcher, end func()) {
	one = &watcher{id: id, show: show, ended: make(chan *endedTurn, 1), settled: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.at(k)
	c.watchers = append(c.watchers, one)
	if show != nil && c.turn != nil && c.turn.asks(id) {
		// Under the lock, so that what comes now is shown after it: see showWatchers.
		now, _ := c.turn.current()
		if now != (agent.Progress{}) {
			show(now)
		}
	}
	return one, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c := s.m[k]
		c.watchers = slices.DeleteFunc(c.watchers, func(other *watcher) bool { return other == one })
		s.tidy(k)
	}
}

// watchersOf are those who watch k.
func (s *chats) watchersOf(k channels.Key) []*watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.m[k]
	if c == nil {
		return nil
	}
	return slices.Clone(c.watchers)
}

// wait returns the turn that answered the message here, or nil when a look into the store
// may show an answer. Its error is that of ctx.
func (w *watcher) wait(ctx context.Context) (*endedTurn, error) {
	look := time.NewTimer(askLook)
	defer look.Stop()
	select {
	case e := <-w.ended:
		return e, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.settled:
	case <-look.C:
	}
	select { // a turn hands over its answer before it says that it has ended
	case e := <-w.ended:
		return e, nil
	default:
		return nil, nil
	}
}

// reads reports whether the turn answers the message with that id.
func (r *run) reads(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.rows, func(w sessions.InboxRecord) bool { return w.Inbound.ID == id })
}

// showWatchers shows progress to those whose message the turn answers. The turn has noted
// p before, so that whoever begins to watch after this has seen it.
func (r *run) showWatchers(p agent.Progress) {
	for _, w := range r.g.chats.watchersOf(r.claim.Key) {
		if w.show != nil && r.reads(w.id) {
			w.show(p)
		}
	}
}

// tellWatchers hands t, which is committed, to those whose message it answers: they need
// not look for it in the store.
func (r *run) tellWatchers(t *sessions.Turn) {
	watchers := slices.DeleteFunc(r.g.chats.watchersOf(r.claim.Key), func(w *watcher) bool { return !r.reads(w.id) })
	if len(watchers) == 0 {
		return
	}
	e := &endedTurn{id: t.ID, messages: t.Messages}
	for _, reply := range t.Replies {
		e.sent = append(e.sent, sessions.FeedItem{Label: reply.Label, Text: reply.Text})
	}
	for _, w := range watchers {
		select {
		case w.ended <- e:
		default:
		}
	}
}
