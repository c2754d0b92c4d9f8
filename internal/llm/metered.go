package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/agent"
	"dragoman/agent/wire"
	"dragoman/internal/config"
	"dragoman/internal/lazily"
	"dragoman/internal/metrics"
	"dragoman/internal/trace"
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
	span := m.beginSpan(ctx)
	first := firstPiece{m: m, span: span, began: began, onDelta: onDelta}
	res, err = m.Model.Complete(ctx, r, first.add)
	m.health.record(err)
	outcome := m.meter(&res, err, time.Since(began))
	m.finish(span, &res, outcome)
	return res, err
}

// beginSpan begins the span of a call, if somebody traces.
func (m *metered) beginSpan(ctx context.Context) *trace.Span {
	if !trace.On(ctx) {
		return nil
	}
	return trace.Begin(ctx, trace.OperationChat+" "+m.label, trace.Client,
		trace.Text(trace.Operation, trace.OperationChat), trace.Text(trace.ProviderName, m.providerName()), trace.Text(trace.RequestModel, m.label))
}

// providerName is whose API the model speaks, in the words of OpenTelemetry's conventions.
func (m *metered) providerName() string {
	h, isHosted := m.Model.(*hosted)
	switch {
	case !isHosted:
		return trace.Agent // the demo
	case h.provider.API() == wire.APIMessages:
		return "anthropic"
	}
	return "openai"
}

// firstPiece times how long a model takes until it says something.
type firstPiece struct {
	m       *metered
	span    *trace.Span
	began   time.Time
	came    bool
	onDelta func(agent.Delta) // nil: nobody reads along
}

func (f *firstPiece) add(d agent.Delta) {
	if !f.came {
		f.came = true
		took := time.Since(f.began)
		f.m.metrics.FirstToken(f.m.label, took)
		f.span.Set(trace.Number(trace.FirstToken, int(took.Milliseconds())))
	}
	if f.onDelta != nil {
		f.onDelta(d)
	}
}

// modelName matches what servers call models. What else one may put there is not sent on.
var modelName = lazily.Compile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$`)

// finish ends the span of a call. Of what a model's server says it has only names that
// look like names.
func (m *metered) finish(span *trace.Span, res *agent.Response, outcome string) {
	if span == nil {
		return
	}
	if outcome != "ok" {
		span.Fail(outcome)
	}
	if u := res.Usage; u != nil {
		span.Set(trace.Number(trace.InputTokens, u.Input), trace.Number(trace.OutputTokens, u.Output), trace.Number(trace.CachedTokens, u.Cached))
	}
	if modelName.Matches(res.Model) {
		span.Set(trace.Text(trace.ResponseModel, res.Model))
	}
	if slices.Contains([]string{"stop", "tool_calls", "length", "content_filter"}, res.Finish) {
		span.Set(trace.List(trace.FinishReasons, res.Finish))
	}
	span.End()
}

// meter counts a call, and returns its outcome.
func (m *metered) meter(res *agent.Response, err error, took time.Duration) (outcome string) {
	outcome = "ok"
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
	return outcome
}

// Trouble is why calls of a model fail, until one succeeds.
type Trouble struct {
	At     time.Time // of the newest failure
	Why    string    // a sentence for the operator
	InARow int       // failures since the last success
}

// OtherTrouble is trouble with a model other than the configured one.
type OtherTrouble struct {
	Model string
	Trouble
}

// health remembers how a model's calls have failed since the last success. It
// is not stored: after a start nothing is known until the first call.
type health struct {
	mu      sync.Mutex
	trouble Trouble
	lasting bool // another try is useless
	other   bool // it is not the configured model
}

// record takes the result of one call. A cancelled call and a request that is
// too long say nothing about the server.
func (h *health) record(err error) {
	var failed *agent.ModelError
	if err != nil && (!errors.As(err, &failed) || failed.Kind == agent.ErrorContext) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.trouble, h.lasting = Trouble{}, false
		return
	}
	h.lasting = slices.Contains(lastingCauses, failed.Cause)
	h.trouble = Trouble{At: time.Now(), Why: h.whyFailed(failed), InARow: h.trouble.InARow + 1}
}

// lastingCauses do not pass by themselves: a person has to fix the configuration
// or pay.
var lastingCauses = []agent.Cause{
	agent.CauseKey, agent.CauseAccess, agent.CauseRegion, agent.CauseModelAccess, agent.CauseBlocked,
	agent.CauseModel, agent.CauseQuota, agent.CauseURL, agent.CauseCertificate,
}

// failuresUntilDown is how many calls in a row must fail before the model
// counts as down. A single failure may pass by itself.
const failuresUntilDown = 3

// current returns the trouble for the status page, or nil, and whether the
// model is down, so that people get no answers.
func (h *health) current() (t *Trouble, down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trouble.InARow == 0 {
		return nil, false
	}
	return new(h.trouble), h.trouble.InARow >= failuresUntilDown || h.lasting
}

// whyFailed returns the cause without our package names. A model's error holds
// no secret and no URL.
func (h *health) whyFailed(e *agent.ModelError) string {
	why := strings.TrimPrefix(e.Err.Error(), "wire: complete: ")
	if e.Status != 0 {
		why = fmt.Sprintf("HTTP %d: %s", e.Status, why)
	}
	cure := e.Cause.Cure()
	if h.other && e.Cause == agent.CauseModel {
		cure = "Correct its name where it is used: model.fallback, summary.model, a channel's models, or a conversation (dragoman sessions unset KEY model)."
	}
	if cure != "" {
		why = strings.TrimRight(why, ".") + ". " + cure
	}
	return why
}
