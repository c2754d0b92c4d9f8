package agent

import "context"

// Calibration is what an agent learns of its servers' counting.
type Calibration = calibration

// Factor is by how much more the servers of model count.
func (c *calibration) Factor(model string) float64 { return c.factor(model) }

// Observe learns a report.
func (c *calibration) Observe(model string, reported, counted int) {
	c.observe(model, reported, func() int { return counted })
}

// Calibrated is a, which has learnt c.
func (a *Agent) Calibrated(c *Calibration) *Agent {
	a.calibration = c
	return a
}

// Complete makes one call of the model, as turns and summaries do.
func (a *Agent) Complete(ctx context.Context, req *Request) error {
	_, err := a.complete(ctx, a.model, req, func() func(Delta) { return nil })
	return err
}
