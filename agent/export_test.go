package agent

import "context"

// Calibration exports calibration.
type Calibration = calibration

// Factor returns the factor for model.
func (c *calibration) Factor(model string) float64 { return c.factor(model) }

// Observe learns one report.
func (c *calibration) Observe(model string, reported, counted int) {
	c.observe(model, reported, func() int { return counted })
}

// Calibrated makes a use c.
func (a *Agent) Calibrated(c *Calibration) *Agent {
	a.calibration = c
	return a
}

// Complete makes one call of the model, as turns and summaries do.
func (a *Agent) Complete(ctx context.Context, req *Request) error {
	_, err := a.complete(ctx, a.model, req, func() func(Delta) { return nil })
	return err
}
