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

// watch begins to show the progress of the turn that answers message seq of k, until end
// is called.
func (s *chats) watch(k channels.Key, seq int64, show func(agent.Progress)) (end func()) {
	one := &watcher{seq, show}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.at(k)
	c.watchers = append(c.watchers, one)
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

// showWatchers shows progress to those whose message the turn answers.
func (r *run) showWatchers(p agent.Progress) {
	for _, w := range r.g.chats.watchersOf(r.claim.Key) {
		if r.live.reads(w.seq) {
			w.show(p)
		}
	}
}
