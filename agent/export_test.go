package agent

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
