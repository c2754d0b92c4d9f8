package llm

import (
	"cmp"
	"context"
	"errors"
	"time"

	"dragoman/agent"
	"dragoman/internal/config"
	"dragoman/internal/metrics"
	"dragoman/sessions"
)

// metered counts and prices the calls of a model. Its methods have a pointer
// receiver: a copy of it would be on the stack of every waiting turn.
type metered struct {
	agent.Model
	label   string // its name in the metrics
	metrics *metrics.Set
	prices  config.Prices
	health  *health
}

// Unwrap returns the metered model.
func (m *metered) Unwrap() agent.Model { return m.Model }

// cost returns the price of u in US dollars. Cached tokens are part of the
// input.
func (m *metered) cost(u sessions.Usage) float64 {
	const million = 1e6
	cached := min(max(u.Cached, 0), max(u.Input, 0))
	cachedPrice := cmp.Or(m.prices.Cached, m.prices.Input)
	return sessions.RoundCost((float64(max(u.Input, 0)-cached)*m.prices.Input + float64(cached)*cachedPrice +
		float64(max(u.Output, 0))*m.prices.Output) / million)
}

func (m *metered) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (res agent.Response, err error) {
	began := time.Now()
	res, err = m.Model.Complete(ctx, r, onDelta)
	m.health.record(err)
	m.meter(&res, err, time.Since(began))
	return res, err
}

// meter counts and prices a finished call.
func (m *metered) meter(res *agent.Response, err error, took time.Duration) {
	outcome := "ok"
	if err != nil {
		outcome = "cancelled"
		if failed, ok := errors.AsType[*agent.ModelError](err); ok {
			outcome = string(failed.Kind)
		}
	}
	var u sessions.Usage
	if res.Usage != nil {
		u = *res.Usage
		if m.prices != (config.Prices{}) {
			u.Cost = m.cost(u) // otherwise the provider's own price counts
		}
		priced := u
		res.Usage = &priced
		if res.Message.Usage != nil {
			res.Message.Usage = &priced
		}
	}
	m.metrics.ModelCall(m.label, outcome, took, u.Input, u.Output, u.Cached)
	m.metrics.Cost(m.label, u.Cost)
}
