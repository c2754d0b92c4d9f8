package gateway

import (
	"context"
	"time"

	"dragoman/agent/recap"
	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
)

// newSummaries returns the owner of all summaries, which lives here.
func (g *Gateway) newSummaries() *recap.Summaries {
	return recap.NewSummaries(g.agent, transcript{g}, recap.Host{
		Slots: g.opts.Summarizers, Alone: g.alone, Tell: g.answerAsker, Done: g.compacted, Observer: g.opts.Observer, Logger: g.opts.Logger, Now: g.opts.Now,
	})
}

// alone runs f while no other node summarises k.
func (g *Gateway) alone(ctx context.Context, k channels.Key, f func(context.Context) error) error {
	if g.opts.Peers == nil {
		return f(ctx)
	}
	return g.store.Hold(ctx, "summary:"+k.String(), f)
}

// transcript is the store as summaries see it: see [recap.Transcript].
type transcript struct{ g *Gateway }

func (t transcript) Whole(ctx context.Context, k channels.Key) (sessions.History, error) {
	h, err := t.g.store.History(ctx, k, sessions.HistoryLimit{})
	return t.g.withModel(k, h), err
}

func (t transcript) Loaded(ctx context.Context, k channels.Key) (sessions.History, error) {
	return t.g.history(ctx, k)
}

func (t transcript) AsLoaded(h sessions.History) sessions.History {
	if n := len(h.Messages) - t.g.opts.HistoryMessages; n > 0 {
		h.Messages, h.Omitted = h.Messages[n:], h.Omitted+n
	}
	return h
}

func (t transcript) AddSummary(ctx context.Context, k channels.Key, s sessions.Summary) error {
	return t.g.store.AddSummary(ctx, k, s)
}

// history is what a turn of k starts from.
func (g *Gateway) history(ctx context.Context, k channels.Key) (sessions.History, error) {
	h, err := g.store.History(ctx, k, sessions.HistoryLimit{Messages: g.opts.HistoryMessages, Bytes: g.opts.HistoryBytes})
	return steady(g.withModel(k, h)), err
}

// steadyStep is how far apart the places are where a history may begin that is
// not whole.
const steadyStep = 64

// steady leaves out a little more of a history that is not whole, so that the
// next turns begin at the same place: requests that begin elsewhere each time
// have nothing in common.
func steady(h sessions.History) sessions.History {
	if h.Omitted == 0 || len(h.Messages) < 4*steadyStep {
		return h
	}
	n := int((steadyStep - h.Messages[0].Seq%steadyStep) % steadyStep)
	h.Messages = h.Messages[n:]
	h.Omitted += n
	return h
}

// compacted tells that a summary took the place of messages.
func (g *Gateway) compacted(r recap.Report) {
	g.emit(event.Event{
		Event: event.ContextCompacted, Key: r.Key, Generation: r.Generation, CoversSeq: r.CoversSeq, Covered: r.Covered,
		Messages: r.Messages, OldTokens: r.Before, NewTokens: r.After, SavingsPercent: r.Savings(),
	})
}

// cutSummaryWithin bounds how long the end of the process waits for a store
// that is to keep the notice that a summary was cut off. It is delivered after
// the next start.
const cutSummaryWithin = 5 * time.Second

// answerAsker says text where asker is from, unless that conversation was
// deleted meanwhile: the answer would begin it anew. If the store does not take
// it, that is only logged.
func (g *Gateway) answerAsker(ctx context.Context, asker channels.Inbound, text string) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.Background(), cutSummaryWithin)
		defer cancel()
	}
	if h, err := g.store.History(ctx, asker.Key, sessions.HistoryLimit{Messages: 1}); err == nil && h.Generation == "" {
		return
	}
	if err := g.notify(ctx, asker, "compact:"+asker.ID, g.split(asker.Key, g.spell(asker.Key, text), asker)); err != nil {
		g.log(asker.Key).Warn("the person is not told that the summary failed", "err", err)
	}
}
