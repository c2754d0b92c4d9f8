package gateway

import (
	"context"
	"fmt"
	"slices"

	"dragoman/internal/admission"
	"dragoman/sessions"
)

// chargeCut journals the calls of the turn that a crash has cut. From then on they count as
// what the turn used.
func (r *run) chargeCut(ctx context.Context, steps []sessions.Step) error {
	calls := r.g.opts.Calls
	if calls == nil || r.g.meterOf(admission.Turn{}) == nil {
		return nil
	}
	cut, err := calls.Cut(ctx, r.id, steps)
	if err != nil {
		return r.asStoreError(err)
	}
	for _, u := range cut {
		step := u.Step(r.g.opts.Now())
		err := r.g.store.AppendStep(ctx, r.claim, r.id, r.bound(), step)
		if err != nil {
			return r.asStoreError(fmt.Errorf("charge a call that was cut: %w", err))
		}
		r.log().Info("a call of the model was cut by a crash; its input is counted", "turn", r.id, "tokens", u.Input)
		r.answered = append(r.answered, *step.Message)
		r.cut = append(r.cut, *step.Message)
	}
	return nil
}

// stoppedCounts are what is counted of the turn that the command e ends: what its journal knows,
// and the input of the calls that run for it, or that a crash has cut.
func (g *Gateway) stoppedCounts(ctx context.Context, e sessions.Entry) ([]sessions.Count, error) {
	t, paid, steps, err := g.stoppedTurn(ctx, e)
	if err != nil || t.ID == "" {
		return nil, err
	}
	if calls := g.opts.Calls; calls != nil && g.meterOf(admission.Turn{}) != nil {
		cut, err := calls.Cut(ctx, t.ID, steps)
		if err != nil {
			return nil, err
		}
		for _, u := range append(calls.In(t.ID), cut...) {
			paid = append(paid, *u.Step(g.opts.Now()).Message)
		}
	}
	return g.counts(t, paid), nil
}

// stoppedTurn is the turn that the command e ends, with what the model has answered in it, and
// its journal. One that has no journal yet is known where it runs. Without a turn, t has no ID.
func (g *Gateway) stoppedTurn(ctx context.Context, e sessions.Entry) (t admission.Turn, answered []sessions.Message, steps []sessions.Step, err error) {
	p, err := g.store.Running(ctx, e.Inbound.Key)
	if err != nil {
		return t, nil, nil, err
	}
	if p.Turn != "" {
		if len(e.Ends) > 0 && !slices.Contains(e.Ends, p.Messages[0].Seq) {
			return t, nil, nil, nil
		}
		r := g.newRun(sessions.Claim{Key: e.Inbound.Key}, p)
		return r.asked(), r.answered, p.Steps, nil
	}
	live := g.chats.turn(e.Inbound.Key)
	if live == nil || e.Control == sessions.ControlStop && len(e.Ends) == 0 {
		return t, nil, nil, nil
	}
	return live.asked, nil, nil, nil
}

// cutCalls are the calls in a journal that a crash has cut.
func cutCalls(steps []sessions.Step) (all []sessions.Message) {
	for _, s := range steps {
		if s.Kind == sessions.StepCut && s.Message != nil {
			all = append(all, *s.Message)
		}
	}
	return all
}
