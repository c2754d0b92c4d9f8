package agent

import (
	"dragoman/agent/window"
	"dragoman/sessions"
)

// calibration remembers, by model name, how many tokens its server counts for each one
// that we count. It is safe for concurrent use. A few calls after a restart teach it
// again.
type calibration struct {
	models boundedMap[string, calibrated]
}

// calibrated is what calibration knows about one model.
type calibrated struct {
	average float64 // moves with each report that is used
	applied float64 // used to build requests
	calls   int
}

const (
	// Of the first firstReports reports each one is used, then one in everyReport:
	// counting a long request costs time and teaches nothing new.
	firstReports, everyReport = 16, 16
	// minReport: in a shorter request the template around the messages weighs more
	// than the messages.
	minReport = 256
	// A new factor changes where a request that fills the window begins, and so loses
	// the provider's cache. So the factor moves in steps: up soon, because a request
	// that is too long is refused, and down late.
	stepUp, stepDown = 1.05, 0.85
)

func (c *calibration) of(model string) calibrated {
	if m, found := c.models.get(model); found {
		return m
	}
	return calibrated{average: 1, applied: 1}
}

// factor returns what to multiply our token counts by for model: 0.5 to 3, and 1
// while nothing is known.
func (c *calibration) factor(model string) float64 { return c.of(model).applied }

// observe learns that model's server reported this many tokens for a request for which
// count returns ours.
func (c *calibration) observe(model string, reported int, count func() int) {
	m := c.of(model)
	m.calls++
	if m.calls <= firstReports || m.calls%everyReport == 0 {
		if counted := count(); counted >= minReport {
			m.average = window.Calibrate(m.average, reported, counted)
		}
		if m.average > m.applied*stepUp || m.average < m.applied*stepDown {
			m.applied = m.average
		}
	}
	c.models.set(model, m)
}

// messageTokens counts the tokens of msgs, without the calibration.
func (a *Agent) messageTokens(msgs []sessions.Message) int { return window.Count(msgs, a.opts.Count) }

// room converts a number of the model's tokens into ours.
func (a *Agent) room(name string, tokens int) int {
	return int(float64(tokens) / a.calibration.factor(name))
}

// learn calibrates with the server's token count of req.
func (a *Agent) learn(m Model, req *Request, u *sessions.Usage) {
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
