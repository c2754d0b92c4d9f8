package agent

import (
	"sync"

	"dragoman/agent/window"
	"dragoman/sessions"
)

// Calibration remembers, for each model by its name, by how much its servers
// count more tokens than we do. It is safe for concurrent use, and the zero
// value is ready. It begins anew with the process: a few calls teach it again.
type Calibration struct {
	mu     sync.Mutex
	models map[string]*calibrated
}

type calibrated struct {
	average float64 // moves with every report
	applied float64 // what requests are built with
	calls   int
}

const (
	// firstReports are all heeded; after that one in everyReport is, because
	// counting a long request costs time and teaches nothing new.
	firstReports, everyReport = 16, 16
	// minReport: in a shorter request the template around the messages weighs
	// more than they do.
	minReport = 256
	// Requests that are fitted into a full window change where they begin with
	// the factor, and a provider's cache with them. So it is changed in steps:
	// up soon, because too long a request is refused, down late.
	stepUp, stepDown = 1.05, 0.85
)

// Factor is what the tokens that we count are to be multiplied by for model:
// 0.5 to 3, and 1 while nothing is known.
func (c *Calibration) Factor(model string) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.models[model]; m != nil {
		return m.applied
	}
	return 1
}

// wants reports whether the next report of model's usage is worth counting for.
func (c *Calibration) wants(model string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.of(model)
	m.calls++
	return m.calls <= firstReports || m.calls%everyReport == 0
}

// Observe learns that model's server says reported where we count counted.
func (c *Calibration) Observe(model string, reported, counted int) {
	if counted < minReport {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.of(model)
	m.average = window.Calibrate(m.average, reported, counted)
	if m.average > m.applied*stepUp || m.average < m.applied*stepDown {
		m.applied = m.average
	}
}

// of needs the lock.
func (c *Calibration) of(model string) *calibrated {
	if c.models == nil {
		c.models = make(map[string]*calibrated)
	}
	m := c.models[model]
	if m == nil {
		m = &calibrated{average: 1, applied: 1}
		c.models[model] = m
	}
	return m
}

// messageTokens is how many tokens msgs take, without the calibration.
func (a *Agent) messageTokens(msgs []sessions.Message) int { return window.Count(msgs, a.opts.Count) }

// room is how many of the tokens that we count fit into tokens of the model
// called name: its servers count more by the calibrated factor.
func (a *Agent) room(name string, tokens int) int {
	return int(float64(tokens) / a.opts.Calibration.Factor(name))
}

// learn calibrates with what the server says that req took.
func (a *Agent) learn(m Model, req Request, u *sessions.Usage) {
	name := m.Name()
	if u == nil || u.Input <= 0 || !a.opts.Calibration.wants(name) {
		return
	}
	counted := a.messageTokens(req.Messages) + a.opts.Count(req.System)
	for _, s := range req.Tools {
		counted += a.specTokens(s)
	}
	a.opts.Calibration.Observe(name, u.Input, counted)
}
