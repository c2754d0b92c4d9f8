package agent

import (
	"sync"
	"time"
)

const (
	// lengthsLast is how long a server's refusal counts. Servers are restarted
	// with more room, and one refused request an hour costs little.
	lengthsLast = time.Hour
	// leastWindow is the part of the configured window, one n-th, that is used
	// whatever was refused. A shorter request that is refused says nothing of the
	// window: the refusal must have had another reason. Only a still shorter one
	// that passes right after it shows that it was the length.
	leastWindow = 8
)

// lengths remembers, for each model of each server, how long requests may be
// after one was refused, so that not every turn begins with a refused request.
// It is forgotten with the process, and safe for concurrent use.
type lengths struct {
	mu     sync.Mutex
	models map[served]length
}

// served is a model where it is served. Two servers may give models of one
// name different room.
type served struct{ server, model string }

// answering is the model of that name where conversations are answered, and
// summarizing the one that writes summaries.
func answering(model string) served { return served{model: model} }

func (a *Agent) summarizing() served {
	return served{a.opts.SummarizerServer, a.opts.Summarizer.Name()}
}

type length struct {
	most int // tokens as we count them
	at   time.Time
}

// of is how many tokens, as we count them, a request to m may have; 0 if
// nothing is known.
func (l *lengths) of(m served, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.models[m]
	if now.Sub(known.at) >= lengthsLast {
		return 0
	}
	return known.most
}

// note learns that a request of so many tokens was refused, and that one of so
// many passed, in the same attempt. 0: there was none.
func (l *lengths) note(m served, refused, passed, least int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if refused > 0 && passed >= refused {
		passed = 0 // of another kind of text, so that it says nothing about this one
	}
	known, found := l.models[m]
	found = found && now.Sub(known.at) < lengthsLast
	switch most := max(refused*6/10, least); {
	case refused > 0 && (!found || most < known.most):
		known, found = length{most, now}, true
	case refused > 0:
		known.at = now
	}
	if !found {
		return
	}
	// What passed fits, whatever was refused in other requests.
	known.most = max(known.most, passed)
	if l.models == nil {
		l.models = make(map[served]length)
	}
	l.models[m] = known
}

// windowOf is how many tokens the model of that name takes: what the options
// say, or less where its server refused less.
func (a *Agent) windowOf(name string) int { return a.learned(answering(name), a.opts.windowOf(name)) }

// summarizerWindow is the same for the model that writes summaries.
func (a *Agent) summarizerWindow() int {
	return a.learned(a.summarizing(), a.opts.SummarizerWindow)
}

// learned is window, or the smaller one in which a request of the length that
// is known to pass leaves just the room for its answer.
func (a *Agent) learned(m served, window int) int {
	most := a.lengths.of(m, a.now())
	if most == 0 {
		return window
	}
	tokens := int(float64(most) * a.opts.Calibration.Factor(m.model))
	reserve := min(4096, tokens/7)
	if a.opts.MaxTokens > 0 {
		reserve = min(a.opts.MaxTokens, tokens)
	}
	return min(window, tokens+reserve)
}

// noteLength learns from requests to m: the shortest one that was refused, and
// the one that passed. A window of so many tokens is configured for it.
func (a *Agent) noteLength(m served, window, refused, passed int) {
	least := a.room(m.model, window/leastWindow)
	if 0 < passed && passed < refused {
		least = 0
	}
	if refused > 0 && refused < least {
		return
	}
	a.lengths.note(m, refused, passed, least, a.now())
}
