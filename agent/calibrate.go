package agent

import (
	"dragoman/agent/window"
	"dragoman/sessions"
)

// calibration remembers, for each model by its name, by how much its servers
// count more tokens than we do. It is safe for concurrent use, and the zero value
// is ready. It begins anew with the process: a few calls teach it again.
type calibration struct {
	models remembered[string, calibrated]
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

// of is what is known of model.
func (c *calibration) of(model string) calibrated {
	if m, found := c.models.get(model); found {
		return m
	}
	return calibrated{average: 1, applied: 1}
}

// factor is what the tokens that we count are to be multiplied by for model:
// 0.5 to 3, and 1 while nothing is known.
func (c *calibration) factor(model string) float64 { return c.of(model).applied }

// observe learns that model's server says reported where count counts.
func (c *calibration) observe(model string, reported int, count func() int) {
	m := c.of(model)
	if m.calls++; m.calls <= firstReports || m.calls%everyReport == 0 {
		if counted := count(); counted >= minReport {
			m.average = window.Calibrate(m.average, reported, counted)
		}
		if m.average > m.applied*stepUp || m.average < m.applied*stepDown {
			m.applied = m.average
		}
	}
	c.models.set(model, m)
}

// messageTokens is how many tokens msgs take, without the calibration.
func (a *Agent) messageTokens(msgs []sessions.Message) int { return window.Count(msgs, a.opts.Count) }

// room is how many of the tokens that we count fit into tokens of the model
// called name: its servers count more by the calibrated factor.
func (a *Agent) room(name string, tokens int) int {
	return int(float64(tokens) / a.calibration.factor(name))
}

// learn calibrates with what the server says that req took.
func (a *Agent) learn(m Model, req Request, u *sessions.Usage) {
	if u == nil || u.Input <= 0 {
		return
	}
	a.calibration.observe(m.Name(), u.Input, func() int {
		counted := a.messageTokens(req.Messages) + a.opts.Count(req.System)
		for _, s := range req.Tools {
			counted += a.specTokens(s)
		}
		return counted
	})
}
