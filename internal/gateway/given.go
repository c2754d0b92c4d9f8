package gateway

import (
	"cmp"
	"context"
	"errors"
	"time"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/internal/actions"
	"dragoman/internal/admission"
	"dragoman/internal/people"
	"dragoman/sessions"
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
	set := &t.History.Settings
	set.Model = cmp.Or(set.Model, g.modelOfAgent(set.Agent))
	asked := g.givenTurn(ctx, &t)
	v, err := g.askRules(ctx, asked)
	if err != nil {
		return agent.Result{}, err
	}
	if !v.IsZero() {
		g.opts.Observer.TurnEnded("skipped", 0)
		return agent.Result{}, g.refusedBy(asked, v)
	}
	if err := g.waitForSlot(ctx); err != nil {
		return agent.Result{}, err
	}
	defer g.turns.Release(1)
	began := time.Now()
	ctx, span := g.turnSpan(ctx, t.ID, t.Key)
	m := g.meterOf(asked)
	defer m.end(ctx)
	if m != nil {
		t.Meter = m
	}
	res, err = g.runGiven(ctx, t)
	if m != nil && err == nil {
		m.counted = true // by the caller, in a moment
	}
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

// givenTurn is t as rules see it.
func (g *Gateway) givenTurn(ctx context.Context, t *agent.Turn) admission.Turn {
	who, _ := people.From(ctx)
	return admission.Turn{ID: t.ID, Key: t.Key, Person: t.Person, Private: t.Private, Owner: who.ID, At: g.opts.Now()}
}

// refusedBy is what the caller of a given turn learns of a rule.
func (g *Gateway) refusedBy(t admission.Turn, v admission.Verdict) *RefusedError {
	no := &RefusedError{Why: g.SpellCommands(t.Key, v.Say), Later: !v.Until.IsZero()}
	if !v.Again.IsZero() {
		no.Later, no.Spent = true, true
		no.After = v.Again.Sub(t.At)
	}
	return no
}

// GivenCounts are what rules count of a given turn that has answered with messages: whoever
// counts its usage adds them in the same step.
func (g *Gateway) GivenCounts(ctx context.Context, t agent.Turn, messages []sessions.Message) []sessions.Count {
	return g.appendCounts(nil, g.givenTurn(ctx, &t), messages)
}

func (g *Gateway) runGiven(ctx context.Context, t agent.Turn) (res agent.Result, err error) {
	defer recoverTo(&err, "turn "+t.ID)
	if g.opts.Permit != nil {
		t.Permit = g.opts.Permit(TurnProgram, t.Key, t.History.Settings.Agent)
	}
	t.Guard = agent.Unguarded
	if g.opts.Actions != nil {
		t.Guard = g.opts.Actions.Guard(actions.Turn{ID: t.ID, Chat: t.Key, Nobody: true})
	}
	return g.agent.Run(ctx, t)
}
