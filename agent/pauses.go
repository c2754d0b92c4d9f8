package agent

import (
	"errors"
	"sync"
	"time"
)

// errResting is a call that is not made, because the model's server has asked
// to be left alone.
var errResting = errors.New("its server has asked to be left alone for a while")

// pauses are those that servers named, by model: what one conversation was told
// holds for all that ask the same model. They are forgotten with the process,
// and safe for concurrent use.
type pauses struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// mostPause bounds a pause. Servers that name a day are often well in minutes,
// and nobody would learn that without asking again.
const mostPause = time.Minute

// note learns that a server named a pause.
func (p *pauses) note(model string, pause time.Duration, now time.Time) {
	if pause <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = make(map[string]time.Time)
	}
	p.until[model] = now.Add(min(pause, mostPause))
}

// rest is how much of a model's pause is left.
func (p *pauses) rest(model string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.until[model].Sub(now), 0)
}
