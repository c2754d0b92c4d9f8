package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
)

// emit tells e to whoever listens. What it tells of is durable by now.
func (g *Gateway) emit(e event.Event) {
	if g.opts.Events == nil {
		return
	}
	e.At = g.opts.Now()
	g.opts.Events(e)
}

// turnDone tells how a turn ended.
func (r *run) turnDone(res agent.Result, outcome string, took time.Duration) {
	e := event.Event{
		Event: event.TurnDone, Key: r.claim.Key, Generation: r.history.Generation, Turn: r.id, Outcome: outcome,
		Steps: res.Steps, TookMS: took.Milliseconds(), Messages: len(res.Messages),
	}
	addUsage(&e, res.Messages)
	r.g.emit(e)
}

// named finds out how the generation is called that the commit has begun: a
// conversation without a message had none yet. Events and the log go without
// it if the store cannot say.
func (r *run) named(ctx context.Context) {
	if r.history.Generation != "" || r.g.opts.Events == nil && !r.g.opts.Logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	c, err := r.g.store.Conversation(ctx, r.claim.Key)
	if err != nil {
		r.g.log(r.claim.Key).Warn("the new conversation cannot be read; its first events do not name its generation", "turn", r.id, "err", err)
		return
	}
	r.history.Generation = c.Generation
}

// saved tells that a turn's messages were stored, and that they are the first
// ones of their generation if they are.
func (r *run) saved(t sessions.Turn) {
	h := r.history
	e := event.Event{
		Event: event.SessionSave, Key: r.claim.Key, Generation: h.Generation, Turn: r.id, Messages: len(t.Messages),
	}
	addUsage(&e, t.Messages)
	if h.Summary == nil && h.Omitted == 0 && !slices.ContainsFunc(h.Messages, ofATurn) {
		r.g.log(e.Key).Info("session created", "generation", e.Generation, "turn", e.Turn)
		r.g.emit(event.Event{Event: event.SessionCreate, Key: e.Key, Generation: e.Generation, Turn: e.Turn})
	}
	r.g.emit(e)
}

// ofATurn tells what a turn left from what stands there without one: messages
// that /stop has ended, notes, and what was imported.
func ofATurn(m sessions.Message) bool { return m.Turn != "" }

func addUsage(e *event.Event, messages []sessions.Message) {
	var sum sessions.Usage
	for _, m := range messages {
		if m.Usage != nil {
			sum.Add(*m.Usage)
		}
	}
	e.InputTokens, e.OutputTokens, e.CachedTokens, e.Cost = sum.Input, sum.Output, sum.Cached, sum.Cost
}

var _ channels.Joiner = intake{}

// Join makes from a part of to. Both names must be the channel's own.
func (in intake) Join(ctx context.Context, from, to channels.Key) error {
	name := in.b.Channel.Name()
	if from.Channel() != name || to.Channel() != name {
		return fmt.Errorf("gateway: channel %s asked to join %s and %s", name, from, to)
	}
	if from == to {
		return nil
	}
	if in.g.busy.closed() {
		return errDraining
	}
	_, err := in.g.store.Conversation(ctx, from)
	there := err == nil
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return fmt.Errorf("gateway: join %s to %s: %w", from, to, err)
	}
	if err := in.g.store.Join(ctx, from, to); err != nil {
		return fmt.Errorf("gateway: join %s to %s: %w", from, to, err)
	}
	if there {
		in.g.joined(from, to)
	}
	return nil
}
