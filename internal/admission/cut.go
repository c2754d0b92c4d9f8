package admission

import (
	"context"
	"time"

	"dragoman/sessions"
)

// Cut returns the calls of a turn, with that journal, that a crash has cut and that are not in
// the journal.
func (c *Calls) Cut(ctx context.Context, turn string, steps []sessions.Step) (cut []Underway, err error) {
	left, err := c.leftOvers(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range left {
		if u.Turn == turn && !u.answered(steps) {
			cut = append(cut, u)
		}
	}
	return cut, nil
}

// leftOvers are the calls of other processes. If no other node is there, these are over, and
// are read once.
func (c *Calls) leftOvers(ctx context.Context) ([]Underway, error) {
	c.mu.Lock()
	known := c.read
	left := c.left
	c.mu.Unlock()
	if known {
		return left, nil
	}
	left, err := c.othersNoted(ctx, func(time.Time) bool { return true })
	if err != nil || c.opts.Shared {
		return left, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = true
	c.left = left
	return left, nil
}

// answered reports whether the journal of its turn has the answer to u, or u itself.
func (u *Underway) answered(steps []sessions.Step) bool {
	n := 0
	for _, s := range steps {
		switch {
		case s.Kind == sessions.StepCut && s.CallID == u.ID:
			return true
		case s.Kind == sessions.StepModel && s.Within == u.Within:
			n++
		case s.Kind == sessions.StepToolDone && u.Within != "" && s.CallID == u.Within && s.Within == "":
			return true // its task has ended
		}
	}
	return n > u.Steps
}

// Step is what the journal of its turn has of a call that was cut.
func (u *Underway) Step(at time.Time) sessions.Step {
	used := sessions.Usage{Input: u.Input, Cost: sessions.RoundCost(u.Cost)}
	m := sessions.Message{Role: sessions.RoleAssistant, Model: u.Model, Usage: &used, Synthetic: true, At: at}
	return sessions.Step{Kind: sessions.StepCut, CallID: u.ID, Within: u.Within, Message: &m, At: at}
}
