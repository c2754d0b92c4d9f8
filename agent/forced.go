package agent

import (
	"sync"

	"dragoman/agent/window"
	"dragoman/channels"
)

// maxForced bounds how many conversations forcedResults remembers.
const maxForced = 4096

// forcedResults remembers of which conversations the results of tools were
// taken out because a server refused the request, so that the next turn does
// not begin by being refused again. It is forgotten with the process, and then
// learned again in the same way.
type forcedResults struct {
	mu    sync.Mutex
	marks map[channels.Key]forcedMark
}

// forcedMark counts only in its generation: /new begins anew.
type forcedMark struct {
	generation string
	window.Forced
}

// add marks all results that t has seen.
func (f *forcedResults) add(t Turn) {
	mark := forcedMark{generation: t.History.Generation, Forced: window.Forced{Turn: t.ID}}
	if n := len(t.History.Messages); n > 0 {
		mark.Seq = t.History.Messages[n-1].Seq
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.marks == nil {
		f.marks = make(map[channels.Key]forcedMark)
	}
	if _, found := f.marks[t.Key]; !found && len(f.marks) >= maxForced {
		for k := range f.marks {
			delete(f.marks, k) // any of them: it costs that chat one refused request
			break
		}
	}
	f.marks[t.Key] = mark
}

// of returns what is marked of t's conversation.
func (f *forcedResults) of(t Turn) window.Forced {
	f.mu.Lock()
	defer f.mu.Unlock()
	if mark, found := f.marks[t.Key]; found && mark.generation == t.History.Generation {
		return mark.Forced
	}
	return window.Forced{}
}
