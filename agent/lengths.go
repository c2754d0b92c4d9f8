package agent

import (
	"sync"
	"time"
)

const (
	// lengthsLast is how long a server's refusal counts. Servers are restarted
	// with more room, and one refused request an hour costs little.
	lengthsLast = time.Hour
	// learnedTenths is what is known to pass of what was refused, in tenths.
	learnedTenths = 6
	// leastWindow is the part of the configured window, one n-th, below which a
	// refusal teaches nothing, unless less than that passed right after it.
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

// length is how many tokens, as we count them, a request may have, and since
// when that is known.
type length struct {
	most int
	at   time.Time
}

// answering is the model of that name where conversations are answered, and
// summarizing the one that writes summaries.
func answering(model string) served { return served{model: model} }

func (a *Agent) summarizing() served {
	return served{a.opts.SummarizerServer, a.opts.Summarizer.Name()}
}

// noteLength learns that m, for which a window of so many tokens is configured,
// refused a request of refused tokens as too long (0: none), and took one of
// passed tokens after it (0: none). The next ones may always be as long as that.
func (a *Agent) noteLength(m served, window, refused, passed int) {
	if refused == 0 || passed == 0 && refused < a.room(m.model, window/leastWindow) {
		return
	}
	l, now := &a.lengths, a.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	known := length{refused * learnedTenths / 10, now}
	if before := l.models[m]; before.most > 0 && now.Sub(before.at) < lengthsLast {
		known.most = min(known.most, before.most)
	}
	known.most = max(known.most, passed)
	if l.models == nil {
		l.models = make(map[served]length)
	}
	l.models[m] = known
}

// learned is window, or the smaller one that m's server refused more than.
func (a *Agent) learned(m served, window int) int {
	a.lengths.mu.Lock()
	known := a.lengths.models[m]
	a.lengths.mu.Unlock()
	if known.most == 0 || a.now().Sub(known.at) >= lengthsLast {
		return window
	}
	return a.windowFor(m.model, window, known.most)
}

// windowOf is how many tokens the model of that name takes: what the options
// say, or less where its server refused less.
func (a *Agent) windowOf(name string) int { return a.learned(answering(name), a.sizeOf(name)) }

// windowFor is window, or the smaller one of the model of that name in which a
// request of so many tokens, as we count them, leaves just the room for its
// answer.
func (a *Agent) windowFor(name string, window, most int) int {
	tokens := int(float64(most) * a.opts.Calibration.Factor(name))
	reserve := min(4096, tokens/7)
	if a.opts.MaxTokens > 0 {
		reserve = min(a.opts.MaxTokens, tokens)
	}
	return min(window, tokens+reserve)
}
