package agent

import (
	"math"
	"slices"
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
	// learnedTenths is what is known to pass of what was refused, in tenths.
	learnedTenths = 6
	// maxPasses bounds how many requests that passed are remembered of a model.
	// Of two that differ by less than one part of passStep the longer is enough.
	maxPasses, passStep = 16, 16
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

// length is what is known of one model, in tokens as we count them.
type length struct {
	most int // what a request may have; 0: nothing was refused
	at   time.Time
	// passed are requests that were answered within lengthsLast, the shortest
	// first.
	passed []pass
}

type pass struct {
	tokens int
	at     time.Time
}

// add remembers a request that passed.
func (k *length) add(tokens int, now time.Time) {
	if tokens <= 0 {
		return
	}
	k.passed = slices.DeleteFunc(k.passed, func(p pass) bool {
		return now.Sub(p.at) >= lengthsLast || p.tokens <= tokens && tokens-p.tokens <= tokens/passStep
	})
	at := slices.IndexFunc(k.passed, func(p pass) bool { return p.tokens > tokens })
	if at < 0 {
		at = len(k.passed)
	}
	k.passed = slices.Insert(k.passed, at, pass{tokens, now})
	if n := len(k.passed) - maxPasses; n > 0 {
		k.passed = slices.Delete(k.passed, 0, n)
	}
}

// below returns the longest request that passed and is shorter than one that
// was refused, and forgets those that are not: they were of another kind of
// text, or the server takes less now.
func (k *length) below(refused int, now time.Time) (longest int) {
	k.passed = slices.DeleteFunc(k.passed, func(p pass) bool { return now.Sub(p.at) >= lengthsLast || p.tokens >= refused })
	if n := len(k.passed); n > 0 {
		longest = k.passed[n-1].tokens
	}
	return longest
}

// pass learns that a request to m of so many tokens was answered.
func (l *lengths) pass(m served, tokens int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.models[m]
	known.add(tokens, now)
	l.keep(m, known)
}

// longest is the longest request to m that passed lately; 0: none did.
func (l *lengths) longest(m served, now time.Time) (tokens int) {
	return l.longestBelow(m, math.MaxInt, now)
}

// longestBelow is the longest of those that were shorter than that.
func (l *lengths) longestBelow(m served, most int, now time.Time) (tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.models[m].passed {
		if p.tokens < most && now.Sub(p.at) < lengthsLast {
			tokens = p.tokens
		}
	}
	return tokens
}

// keep needs the lock.
func (l *lengths) keep(m served, known length) {
	if l.models == nil {
		l.models = make(map[served]length)
	}
	l.models[m] = known
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
	known := l.models[m]
	if now.Sub(known.at) >= lengthsLast {
		known.most = 0
	}
	if refused > 0 {
		// Not below what passed in other turns: else one refusal would have
		// summaries made of conversations that fit.
		most := max(refused*learnedTenths/10, least, known.below(refused, now))
		if known.most == 0 || most < known.most {
			known.most = most
		}
		known.at = now
	}
	if known.most > 0 {
		// What passed fits, whatever was refused in other requests.
		known.most = max(known.most, passed)
	}
	known.add(passed, now)
	l.keep(m, known)
}

// windowOf is how many tokens the model of that name takes: what the options
// say, or less where its server refused less.
func (a *Agent) windowOf(name string) int { return a.learned(answering(name), a.opts.windowOf(name)) }

// summarizerWindow is the same for the model that writes summaries.
func (a *Agent) summarizerWindow() int {
	return a.learned(a.summarizing(), a.opts.SummarizerWindow)
}

// learned is window, or the smaller one that m's server refused more than.
func (a *Agent) learned(m served, window int) int {
	if most := a.lengths.of(m, a.now()); most > 0 {
		return a.windowFor(m.model, window, most)
	}
	return window
}

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
