package gateway

import (
	"slices"
	"sync"

	"dragoman/agent"
	"dragoman/channels"
)

// watchers are those who asked here and want to see their answer grow. It is memory only.
type watchers struct {
	mu sync.Mutex
	m  map[channels.Key][]*watcher
}

// watcher wants to see the answer to message seq.
type watcher struct {
	seq  int64
	show func(agent.Progress)
}

// add begins to show the progress of the turn that answers message seq of k, until end is
// called.
func (w *watchers) add(k channels.Key, seq int64, show func(agent.Progress)) (end func()) {
	one := &watcher{seq, show}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.m[k] = append(w.m[k], one)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.m[k] = slices.DeleteFunc(w.m[k], func(other *watcher) bool { return other == one })
		if len(w.m[k]) == 0 {
			delete(w.m, k)
		}
	}
}

// of are those who watch k.
func (w *watchers) of(k channels.Key) []*watcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.m[k])
}

// showWatchers shows progress to those whose message the turn answers.
func (r *run) showWatchers(p agent.Progress) {
	for _, w := range r.g.watchers.of(r.claim.Key) {
		if r.live.reads(w.seq) {
			w.show(p)
		}
	}
}
