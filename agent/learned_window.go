package agent

import "time"

const (
	// limitLifetime is how long a refusal counts. Servers are restarted with more
	// room, and one refused request an hour costs little.
	limitLifetime = time.Hour
	// safeTenths: this many tenths of a refused request are assumed to pass.
	safeTenths = 6
	// A refusal of less than one minWindowShare-th of the configured window teaches
	// nothing, unless a smaller request passed right after it.
	minWindowShare = 8
)

// sizeLimit is the largest request that a model's server is known to accept, in tokens
// as we count them. With it not every turn begins with a refused request.
type sizeLimit struct {
	maxTokens int
	at        time.Time
}

// learnLimit learns that a model with this configured window refused a request as too
// long, and then accepted another, both in tokens as we count them (0: none). The
// learned limit is never below what passed.
func (a *Agent) learnLimit(name string, window, refused, passed int) {
	if refused == 0 || passed == 0 && refused < a.room(name, window/minWindowShare) {
		return
	}
	a.limits.set(name, sizeLimit{max(refused*safeTenths/10, passed), a.now()})
}

// learnedWindow returns window, or less if the model's server recently refused that
// much.
func (a *Agent) learnedWindow(name string, window int) int {
	known, found := a.limits.get(name)
	if !found || a.now().Sub(known.at) >= limitLifetime {
		return window
	}
	return a.windowHolding(name, window, known.maxTokens)
}

// usableWindow returns the model's nominal window, or less if its server recently
// refused that much.
func (a *Agent) usableWindow(name string) int { return a.learnedWindow(name, a.nominalWindow(name)) }

// windowHolding returns the size of the window in which a request of tokens, as we
// count them, leaves just enough room for its answer. It is at most window.
func (a *Agent) windowHolding(name string, window, tokens int) int {
	tokens = int(float64(tokens) * a.calibration.factor(name))
	reserve := min(4096, tokens/7)
	if a.opts.MaxTokens > 0 {
		reserve = min(a.opts.MaxTokens, tokens)
	}
	return min(window, tokens+reserve)
}
