package gateway

import (
	"context"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/trace"
	"dragoman/sessions"
)

// beginSpan begins the trace of an attempt at a turn. Its first part is how long the oldest
// message has waited.
func (r *run) beginSpan(ctx context.Context, first bool) context.Context {
	key := r.claim.Key
	if r.job != nil {
		key = r.job.target
	}
	ctx, r.span = r.g.turnSpan(ctx, r.id, key)
	if r.job != nil {
		r.span.Set(trace.Text(trace.Job, r.job.name))
	}
	if first {
		trace.BeginAt(ctx, time.Now().Add(-max(r.age(), 0)), "wait", trace.Internal).End()
	}
	return ctx
}

// turnSpan begins the span of a turn in the conversation key.
func (g *Gateway) turnSpan(ctx context.Context, turn string, key channels.Key) (context.Context, *trace.Span) {
	if g.opts.Traces == nil {
		return ctx, nil
	}
	return g.opts.Traces.Turn(ctx, turn, trace.OperationTurn+" "+trace.Agent, trace.Internal,
		trace.Text(trace.Operation, trace.OperationTurn), trace.Text(trace.AgentName, trace.Agent),
		trace.Text(trace.ConversationID, g.opts.Traces.Conversation(key.String())), trace.Text(trace.Channel, key.Channel()))
}

// endSpan ends the span of an attempt at a turn.
func endSpan(s *trace.Span, res *agent.Result, outcome string) {
	if s == nil {
		return
	}
	s.Set(trace.Text(trace.Outcome, outcome), trace.Number(trace.Steps, res.Steps))
	if outcome == "failed" || outcome == "refused" {
		s.Fail(outcome)
	}
	s.End()
}

// deliverySpan begins the span of an attempt to deliver, below its turn.
func (g *Gateway) deliverySpan(d sessions.Delivery) *trace.Span {
	if g.opts.Traces == nil {
		return nil
	}
	id := d.Turn
	if id == "" {
		id = d.ID
	}
	return g.opts.Traces.After(id, "deliver "+d.Key.Channel(), trace.Client,
		trace.Text(trace.Channel, d.Key.Channel()), trace.Text(trace.ConversationID, g.opts.Traces.Conversation(d.Key.String())),
		trace.Number(trace.Attempt, d.Attempts+1))
}
