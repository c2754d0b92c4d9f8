package provider

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"dragoman/agent"
)

const (
	// cooldown is how long a model is skipped after a temporary failure. After a
	// refusal, which a person must fix, it is ten times as long.
	cooldown = 30 * time.Second
	// longestPause bounds the pause that a server asks for.
	longestPause = 10 * time.Minute
)

// Fallback is a model made of several: the first available one answers. The
// next one takes over only if the failure may lie with the server, and only
// before any of the answer was shown, also in a later try ([agent.Pin]). A model that failed is skipped for a while. If all have
// failed, Fallback asks the one whose pause ends first.
//
// It is safe for concurrent use. The response's message names the model that
// answered.
type Fallback struct {
	log    *slog.Logger
	models []agent.Model
	mu     sync.Mutex
	until  []time.Time // when each model may be asked again
}

var (
	_ agent.Model              = (*Fallback)(nil)
	_ agent.ModelWithAbilities = (*Fallback)(nil)
	_ agent.FallbackModel      = (*Fallback)(nil)
)

// NewFallback returns a model that asks first, then others in order. It logs
// each failure that lets another model answer.
func NewFallback(first agent.Model, others []agent.Model, log *slog.Logger) *Fallback {
	models := append([]agent.Model{first}, others...)
	return &Fallback{log: log, models: models, until: make([]time.Time, len(models))}
}

// Name returns the first model's name, whichever model answers.
func (f *Fallback) Name() string { return f.models[0].Name() }

// Names returns the names of all models.
func (f *Fallback) Names() (names []string) {
	for _, m := range f.models {
		names = append(names, m.Name())
	}
	return names
}

// Abilities returns those of the model that would answer now.
func (f *Fallback) Abilities() agent.Abilities { return agent.AbilitiesOf(f.models[f.available()[0]]) }

// available returns the models to ask now, in order: those without a pause, or
// else the one whose pause ends first.
func (f *Fallback) available() (list []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, first := time.Now(), 0
	for i := range f.models {
		if !f.until[i].After(now) {
			list = append(list, i)
		}
		if f.until[i].Before(f.until[first]) {
			first = i
		}
	}
	if len(list) == 0 {
		list = []int{first}
	}
	return list
}

// candidates returns the models for one answer: only the model that people saw
// begin it, if there is one.
func (f *Fallback) candidates(a *agent.Pin) []int {
	if a != nil && a.Shown {
		for i := range f.models {
			if f.models[i].Name() == a.Model {
				return []int{i}
			}
		}
	}
	list := f.available()
	if a == nil || a.Skip == "" {
		return list
	}
	others := slices.DeleteFunc(slices.Clone(list), func(i int) bool { return f.models[i].Name() == a.Skip })
	if len(others) == 0 {
		return list
	}
	return others
}

// Complete asks one model after the other until one answers; see [agent.Model].
// If none does, it returns the first temporary error, or else the first error.
func (f *Fallback) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
	var failed *agent.ModelError
	for _, i := range f.candidates(r.Pin) {
		started := false
		if r.Pin != nil {
			r.Pin.Model = f.models[i].Name()
		}
		resp, err := f.models[i].Complete(ctx, r, func(d agent.Delta) {
			started = true
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
		if ctx.Err() != nil || !errors.As(err, &me) || !othersMayAnswer(me) {
			return agent.Response{}, err
		}
		if me.Kind != agent.ErrorInvalid { // which may lie with the request
			f.pause(i, time.Now().Add(cooldownAfter(me)))
		}
		if started {
			return agent.Response{}, err
		}
		if failed == nil || failed.Kind == agent.ErrorRefused && me.Kind == agent.ErrorTemporary {
			failed = me
		}
		f.log.Warn("a model failed; asking the next one", "model", f.models[i].Name(), "kind", string(me.Kind), "cause", string(me.Cause))
	}
	return agent.Response{}, failed
}

// othersMayAnswer reports whether another model may answer what failed with e: the
// failure lies with the server, or nobody knows its reason.
func othersMayAnswer(e *agent.ModelError) bool {
	switch e.Kind {
	case agent.ErrorTemporary, agent.ErrorRefused:
		return true
	case agent.ErrorInvalid:
		return e.Cause == ""
	case agent.ErrorContext:
	}
	return false
}

// cooldownAfter returns how long to skip a model after failure e.
func cooldownAfter(e *agent.ModelError) time.Duration {
	switch {
	case e.After > 0:
		return min(e.After, longestPause)
	case e.Kind == agent.ErrorRefused:
		return 10 * cooldown
	}
	return cooldown
}

func (f *Fallback) pause(i int, then time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until[i] = then
}
