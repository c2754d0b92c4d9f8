package gateway

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"dragoman/agent"
	"dragoman/internal/event"
	"dragoman/sessions"
)

func (g *Gateway) emit(e event.Event) {
	if g.opts.Events == nil {
		return
	}
	e.At = g.opts.Now()
	g.opts.Events(e)
}

func (r *run) emitTurnDone(res agent.Result, outcome string, took time.Duration) {
	e := event.Event{
		Event: event.TurnDone, Key: r.claim.Key, Generation: r.history.Generation, Turn: r.id, Outcome: outcome,
		Steps: res.Steps, TookMS: took.Milliseconds(), Messages: len(res.Messages),
	}
	addUsage(&e, res.Messages)
	r.g.emit(e)
}

// loadGeneration reads the name of the generation that the commit has begun: an
// empty conversation had none before. If the store fails, events and log go
// without it.
func (r *run) loadGeneration(ctx context.Context) {
	if r.history.Generation != "" || r.g.opts.Events == nil && !r.g.opts.Logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	c, err := r.g.store.Conversation(ctx, r.claim.Key)
	if err != nil {
		r.log().Warn("the new conversation cannot be read; its first events do not name its generation", "turn", r.id, "err", err)
		return
	}
	r.history.Generation = c.Generation
}

// emitSaved reports that a turn's messages were stored and, if they are the first of
// their generation, that it was created.
func (r *run) emitSaved(t sessions.Turn) {
	h := r.history
	e := event.Event{
		Event: event.SessionSave, Key: r.claim.Key, Generation: h.Generation, Turn: r.id, Messages: len(t.Messages),
	}
	addUsage(&e, t.Messages)
	if h.Summary == nil && h.Omitted == 0 && !slices.ContainsFunc(h.Messages, ofTurn) {
		r.g.log(e.Key).Info("session created", "generation", e.Generation, "turn", e.Turn)
		r.g.emit(event.Event{Event: event.SessionCreate, Key: e.Key, Generation: e.Generation, Turn: e.Turn})
	}
	r.g.emit(e)
}

// ofTurn reports whether a turn wrote m. Text that /stop has ended, notes and
// imported messages have no turn.
func ofTurn(m sessions.Message) bool { return m.Turn != "" }

func addUsage(e *event.Event, messages []sessions.Message) {
	var sum sessions.Usage
	for _, m := range messages {
		if m.Usage != nil {
			sum.Add(*m.Usage)
		}
	}
	e.InputTokens, e.OutputTokens, e.CachedTokens, e.Cost = sum.Input, sum.Output, sum.Cached, sum.Cost
}
