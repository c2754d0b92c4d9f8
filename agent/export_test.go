package agent

import "dragoman/sessions"

// SetFit replaces what makes a's requests fit, by something that is faulty.
func (a *Agent) SetFit(fit func(msgs []sessions.Message, users, budget int) (view, listed []sessions.Message)) {
	a.fit = fit
}

// SetRepair replaces what makes the messages of a's requests for summaries
// well-formed, by something that is faulty.
func (a *Agent) SetRepair(repair func(msgs []sessions.Message) []sessions.Message) { a.repair = repair }

// Calibration is what an agent learns of its servers' counting.
type Calibration = calibration

// Factor is by how much more the servers of model count.
func (c *calibration) Factor(model string) float64 { return c.factor(model) }

// Observe learns a report.
func (c *calibration) Observe(model string, reported, counted int) {
	c.observe(model, reported, counted)
}

// Calibrated is a, which has learnt c.
func (a *Agent) Calibrated(c *Calibration) *Agent {
	a.calibration = c
	return a
}
