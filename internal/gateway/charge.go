package gateway

import (
	"context"
	"fmt"

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

// cutCalls are the calls in a journal that a crash has cut.
func cutCalls(steps []sessions.Step) (all []sessions.Message) {
	for _, s := range steps {
		if s.Kind == sessions.StepCut && s.Message != nil {
			all = append(all, *s.Message)
		}
	}
	return all
}
