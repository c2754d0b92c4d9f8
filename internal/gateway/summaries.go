package gateway

import (
	"context"
	"slices"
	"time"

	"dragoman/agent/recap"
	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/people"
	"dragoman/internal/stream"
	"dragoman/sessions"
)

func (g *Gateway) newSummaries() *recap.Summaries {
	return recap.NewSummaries(g.agent, recap.Host{
		Slots: g.opts.Summarizers, LoadWhole: g.wholeHistory, LoadForTurn: g.history, TrimForTurn: g.trimForTurn, AddSummary: g.addSummary, Wasted: g.wastedSummary,
		Exclusive: g.alone, Tell: g.answerAsker, Done: g.compacted, Observer: g.opts.Observer, Logger: g.opts.Logger, Now: g.opts.Now,
	})
}

// addSummary stores a summary, and what it used.
func (g *Gateway) addSummary(ctx context.Context, k channels.Key, s sessions.Summary, paid recap.Paid) error {
	return g.store.AddSummary(ctx, k, s, g.summaryCounts(paid)...)
}

// wastedSummary counts what an attempt used that left no summary. If the store fails, or the
// process dies before, it is not counted.
func (g *Gateway) wastedSummary(ctx context.Context, paid recap.Paid) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutSummaryWithin)
	defer cancel()
	err := g.store.Count(ctx, g.summaryCounts(paid)...)
	if err != nil {
		g.log(paid.Key).Warn("what a summary used was not counted", "err", err)
	}
}

// summaryCounts are what is added up of a summary. It is no turn, so it has no ID.
func (g *Gateway) summaryCounts(paid recap.Paid) []sessions.Count {
	t := admission.Turn{Key: paid.Key, At: g.opts.Now()}
	if paid.By != "" {
		t.Owner = people.Identity(paid.Key.Channel(), paid.By)
	}
	return g.counts(t, []sessions.Message{{Role: sessions.RoleAssistant, Model: paid.Model, Usage: &paid.Used}})
}

// FailedSummary returns the newest summary that failed for a reason that stays.
func (g *Gateway) FailedSummary() (recap.Failed, bool) { return g.summaries.Failed() }

// alone runs f while no other node summarises k.
func (g *Gateway) alone(ctx context.Context, k channels.Key, f func(context.Context) error) error {
	if g.opts.Peers == nil {
		return f(ctx)
	}
	return g.store.Hold(ctx, "summary:"+k.String(), f)
}

func (g *Gateway) wholeHistory(ctx context.Context, k channels.Key) (sessions.History, error) {
	h, err := g.store.History(ctx, k, sessions.HistoryLimit{})
	h.Settings = g.resolved(k, h.Settings)
	return h, err
}

func (g *Gateway) trimForTurn(h sessions.History) sessions.History {
	h.DropFirst(len(h.Messages) - g.opts.HistoryMessages)
	return h
}

// history is the conversation that a turn of k starts from.
func (g *Gateway) history(ctx context.Context, k channels.Key) (sessions.History, error) {
	h, err := g.store.History(ctx, k, sessions.HistoryLimit{Messages: g.opts.HistoryMessages, Bytes: g.opts.HistoryBytes})
	h.Settings = g.resolved(k, h.Settings)
	return alignStart(h), err
}

// historyStep is the distance of the messages at which an incomplete history
// may begin.
const historyStep = 64

// alignStart shortens an incomplete history a little, so that the next turns
// begin at the same message: requests that begin differently share no prefix
// for the provider's cache.
func alignStart(h sessions.History) sessions.History {
	if h.Omitted == 0 || len(h.Messages) < 4*historyStep {
		return h
	}
	first := h.Messages[0].Seq
	start := first + (historyStep-first%historyStep)%historyStep
	n := slices.IndexFunc(h.Messages, func(m sessions.Message) bool { return m.Seq >= start })
	h.DropFirst(n)
	return h
}

func (g *Gateway) compacted(r recap.Report) {
	g.emit(stream.Event{
		Event: stream.ContextCompacted, Key: r.Key, Generation: r.Generation, CoversSeq: r.CoversSeq, Covered: r.Covered,
		Messages: r.Messages, OldTokens: r.Before, NewTokens: r.After, SavingsPercent: r.Savings(),
	})
}

// cutSummaryWithin bounds how long the shutdown waits for the store to accept the
// notice that a summary was cut off. The notice is delivered after the next start.
const cutSummaryWithin = 5 * time.Second

// answerAsker answers the person who asked for a summary, unless their
// conversation was deleted meanwhile: the answer would begin it anew. If the
// store fails, that is only logged.
func (g *Gateway) answerAsker(ctx context.Context, asker channels.Inbound, text string) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.Background(), cutSummaryWithin)
		defer cancel()
	}
	if h, err := g.store.History(ctx, asker.Key, sessions.HistoryLimit{Messages: 1}); err == nil && h.Generation == "" {
		return
	}
	if _, err := g.notify(ctx, asker, onceID("summary", asker.ID), formerCompact+asker.ID, g.split(sessions.Label{Kind: channels.KindNotice}, asker.Key, g.SpellCommands(asker.Key, text), asker)); err != nil {
		g.log(asker.Key).Warn("the person is not told that the summary failed", "err", err)
	}
}
