package agent

import "time"

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

// length is how many tokens, as we count them, a request may have after one was
// refused, and since when that is known: so not every turn begins with a refused
// request.
type length struct {
	most int
	at   time.Time
}

// noteLength learns that the model of that name, for which a window of so many tokens is configured,
// refused a request of refused tokens as too long (0: none), and took one of
// passed tokens after it (0: none). The next ones may always be as long as that.
func (a *Agent) noteLength(name string, window, refused, passed int) {
	if refused == 0 || passed == 0 && refused < a.room(name, window/leastWindow) {
		return
	}
	a.lengths.set(name, length{max(refused*learnedTenths/10, passed), a.now()})
}

// learned is window, or the smaller one that the model's server refused more than.
func (a *Agent) learned(name string, window int) int {
	known, found := a.lengths.get(name)
	if !found || a.now().Sub(known.at) >= lengthsLast {
		return window
	}
	return a.windowFor(name, window, known.most)
}

// windowOf is how many tokens the model of that name takes: what the options
// say, or less where its server refused less.
func (a *Agent) windowOf(name string) int { return a.learned(name, a.sizeOf(name)) }

// windowFor is window, or the smaller one of the model of that name in which a
// request of so many tokens, as we count them, leaves just the room for its
// answer.
func (a *Agent) windowFor(name string, window, most int) int {
	tokens := int(float64(most) * a.calibration.factor(name))
	reserve := min(4096, tokens/7)
	if a.opts.MaxTokens > 0 {
		reserve = min(a.opts.MaxTokens, tokens)
	}
	return min(window, tokens+reserve)
}
