package gateway

import (
	"slices"

	"dragoman/agent"
	"dragoman/channels"
)

// watcher wants to see the answer to message seq.
type watcher struct {
	seq  int64
	show func(agent.Progress)
}

// watch shows how far the turn has come that answers message seq of k, if it runs, and then
// its progress, until end is called.
func (s *chats) watch(k channels.Key, seq int64, show func(agent.Progress)) (end func()) {
	one := &watcher{seq, show}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.at(k)
	c.watchers = append(c.watchers, one)
	if c.turn != nil && c.turn.reads(seq) {
		// Under the lock, so that what comes now is shown after it: see showWatchers.
		now, _ := c.turn.current()
		if now != (agent.Progress{}) {
			show(now)
		}
	}
	return func() {
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

// showWatchers shows progress to those whose message the turn answers. The turn has noted
// p before, so that whoever begins to watch after this has seen it.
func (r *run) showWatchers(p agent.Progress) {
	for _, w := range r.g.chats.watchersOf(r.claim.Key) {
		if r.live.reads(w.seq) {
			w.show(p)
		}
	}
}
