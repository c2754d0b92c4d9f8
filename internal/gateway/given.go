package gateway

import (
	"context"
	"errors"
	"time"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/internal/actions"
	"dragoman/internal/admission"
)

// ErrStopping: the gateway drains and begins nothing new.
var ErrStopping = errDraining

// Given runs a turn over messages that its caller keeps, when one of Options.MaxTurns
// slots is free. It stores nothing, and belongs to no conversation. Errors are those of
// [agent.Agent.Run], [*RefusedError] with what a rule says, or because the person asks more
// often than Limits.RatePerMinute allows, and ErrStopping. When ctx ends,
// so does the turn.
func (g *Gateway) Given(ctx context.Context, t agent.Turn) (res agent.Result, err error) {
	if !g.busy.begin() {
		return agent.Result{}, ErrStopping
	}
	defer g.busy.end()
	if err := g.withinGivenRate(ctx, t.Key, t.Person); err != nil {
		g.opts.Observer.TurnEnded("refused", 0)
		return agent.Result{}, err
	}
	v, err := g.askRules(ctx, admission.Turn{ID: t.ID, Key: t.Key, Person: t.Person, Private: t.Private, At: g.opts.Now()})
	if err != nil {
		return agent.Result{}, err
	}
	if !v.IsZero() {
		g.opts.Observer.TurnEnded("skipped", 0)
		return agent.Result{}, &RefusedError{Why: g.spellCommands(t.Key, v.Say), Later: !v.Until.IsZero()}
	}
	if err := g.waitForSlot(ctx); err != nil {
		return agent.Result{}, err
	}
	defer g.turns.Release(1)
	began := time.Now()
	ctx, span := g.turnSpan(ctx, t.ID, t.Key)
	res, err = g.runGiven(ctx, t)
	outcome := "answered"
	switch {
	case err == nil:
	case ctx.Err() != nil:
		outcome = "cancelled"
	case errors.Is(err, window.ErrShape), errors.Is(err, agent.ErrNoInput):
		outcome = "refused"
	default:
		outcome = "failed"
	}
	endSpan(span, &res, outcome)
	g.opts.Observer.TurnEnded(outcome, time.Since(began))
	g.opts.Logger.Debug("turn ended", "key", t.Key.String(), "turn", t.ID, "outcome", outcome, "took", time.Since(began), "steps", res.Steps)
	return res, err
}

func (g *Gateway) runGiven(ctx context.Context, t agent.Turn) (res agent.Result, err error) {
	defer recoverTo(&err, "turn "+t.ID)
	t.Guard = agent.Unguarded
	if g.opts.Actions != nil {
		t.Guard = g.opts.Actions.Guard(actions.Turn{ID: t.ID, Chat: t.Key, Nobody: true})
	}
	return g.agent.Run(ctx, t)
}
