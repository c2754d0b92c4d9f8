package agent

import "sync"

// mostHalves bounds the turns that are remembered.
const mostHalves = 1024

// halves are the turns that failed after people saw some of an answer: when such
// a turn runs again, the same model must answer. They are forgotten with the
// process, and safe for concurrent use.
type halves struct {
	mu    sync.Mutex
	turns map[string]Asked
}

func (h *halves) of(turn string) Asked {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turns[turn]
}

// keep remembers how a turn ended: a is who answers next, if people saw some of that.
func (h *halves) keep(turn string, a Asked) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.turns, turn); !a.Shown || a.Model == "" {
		return
	}
	if h.turns == nil {
		h.turns = make(map[string]Asked)
	}
	if len(h.turns) >= mostHalves {
		clear(h.turns)
	}
	h.turns[turn] = a
}
