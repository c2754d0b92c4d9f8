package provider

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"dragoman/agent"
)

const (
	// cooldown is how long a model is passed over after a failure that may pass.
	// After a refusal, which takes a person to mend, it is ten times as long.
	cooldown = 30 * time.Second
	// longestPause bounds the pause that a server names.
	longestPause = 10 * time.Minute
)

// Fallback is a model over several: the first that is well answers. A failure
// makes way for the next one only while nothing of the answer was shown, also
// when the answer is tried again ([agent.Pin]), and only if it lies with the server: what is too long for one model or malformed
// is the caller's matter. A model that failed is passed over for a while; if all
// have, the one whose time ends first is asked all the same.
//
// It is safe for concurrent use. The name of the model that answered stands in
// the response's message.
type Fallback struct {
	log    *slog.Logger // is told who stands in for whom
	models []agent.Model
	mu     sync.Mutex
	until  []time.Time // when each may be asked again
}

var (
	_ agent.Model              = (*Fallback)(nil)
	_ agent.ModelWithAbilities = (*Fallback)(nil)

	_ agent.FallbackModel = (*Fallback)(nil)
)

// NewFallback makes a model of first and those that stand in for it, in order.
func NewFallback(first agent.Model, others []agent.Model, log *slog.Logger) *Fallback {
	models := append([]agent.Model{first}, others...)
	return &Fallback{log: log, models: models, until: make([]time.Time, len(models))}
}

// Name is that of the first model, whoever stands in for it.
func (f *Fallback) Name() string { return f.models[0].Name() }

// Names are those of all models.
func (f *Fallback) Names() (names []string) {
	for _, m := range f.models {
		names = append(names, m.Name())
	}
	return names
}

// Abilities are those of the model that would be asked now.
func (f *Fallback) Abilities() agent.Abilities { return agent.AbilitiesOf(f.models[f.order()[0]]) }

// order is that in which the models are asked now: those that are well, else the
// one whose time ends first.
func (f *Fallback) order() (well []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, first := time.Now(), 0
	for i := range f.models {
		if !f.until[i].After(now) {
			well = append(well, i)
		}
		if f.until[i].Before(f.until[first]) {
			first = i
		}
	}
	if len(well) == 0 {
		well = []int{first}
	}
	return well
}

// orderFor is that order, or the one model that people saw begin the answer.
func (f *Fallback) orderFor(a *agent.Pin) []int {
	if a != nil && a.Shown {
		for i := range f.models {
			if f.models[i].Name() == a.Model {
				return []int{i}
			}
		}
	}
	return f.order()
}

// Complete makes one call to each model until one answers; see [agent.Model].
// If none does, the error is that of the first one asked whose trouble may pass.
func (f *Fallback) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
	var failed *agent.ModelError
	for _, i := range f.orderFor(r.Pin) {
		begun := false
		if r.Pin != nil {
			r.Pin.Model = f.models[i].Name()
		}
		resp, err := f.models[i].Complete(ctx, r, func(d agent.Delta) {
			begun = true
			if onDelta != nil {
				onDelta(d)
			}
		})
		if err == nil {
			f.pause(i, time.Time{})
			resp.Message.Model = cmp.Or(resp.Message.Model, f.models[i].Name())
			return resp, nil
		}
		var me *agent.ModelError
		if ctx.Err() != nil || !errors.As(err, &me) || me.Kind != agent.ErrorTemporary && me.Kind != agent.ErrorRefused {
			return agent.Response{}, err
		}
		f.pause(i, time.Now().Add(cooldownAfter(me)))
		if begun {
			return agent.Response{}, err
		}
		if failed == nil || failed.Kind == agent.ErrorRefused && me.Kind == agent.ErrorTemporary {
			failed = me
		}
		f.log.Warn("a model does not answer; the next one is asked", "model", f.models[i].Name(), "kind", string(me.Kind), "cause", string(me.Cause))
	}
	return agent.Response{}, failed
}

// cooldownAfter is how long the model is passed over that failed so.
func cooldownAfter(e *agent.ModelError) time.Duration {
	switch {
	case e.After > 0:
		return min(e.After, longestPause)
	case e.Kind == agent.ErrorRefused:
		return 10 * cooldown
	}
	return cooldown
}

// pause passes a model over until then.
func (f *Fallback) pause(i int, then time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until[i] = then
}
