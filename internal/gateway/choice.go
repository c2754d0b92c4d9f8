package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// sayChoice is what a person reads once when their conversation has become
// long, where summaries wait for their word.
const sayChoice = "This conversation is long by now. /compact summarises its older part for me, /new begins a new one. " +
	"If you do nothing, I summarise it when it no longer fits into my memory. Nothing is deleted either way."

// choice is what to say beside the answer of t to a person who is to choose.
// It is said by the turn that reaches a trigger, in the commit of its answer:
// so a crash neither repeats nor loses it, and the turns after it, in front of
// which the trigger was reached already, are silent.
func (r *run) choice(t sessions.Turn) []sessions.Reply {
	g := r.g
	after := r.history
	after.Messages = append(after.Messages, t.Messages...) // the turn is over: nobody else adds to them
	if !g.agent.AsksForSummary(g.asLoaded(after)) || g.agent.AsksForSummary(g.asLoaded(r.history)) {
		return nil
	}
	return g.split(r.claim.Key, g.spell(r.claim.Key, sayChoice), r.rows[len(r.rows)-1].Inbound)
}

// sayNoSummary answers a /compact whose summary came to nothing later on, by
// cause: once, whatever is tried again. The summary's context is ctx; if that has
// ended, it was cut off.
func (g *Gateway) sayNoSummary(ctx context.Context, asker channels.Inbound, cause error) {
	text := noSummary
	switch {
	case ctx.Err() != nil:
		g.sayCutSummary(asker, cutWords(ctx))
		return
	case errors.Is(cause, agent.ErrLongSummary):
		text = longSummary
	case errors.Is(cause, agent.ErrNothingToSummarize):
		text = nothingLeft
	case errors.Is(cause, sessions.ErrConflict):
		text = changedSummary
	}
	g.answerAsker(ctx, asker, text)
}

// cutSummaryWithin bounds how long the end of the process waits for a store
// that is to keep the notice of sayCutSummary.
const cutSummaryWithin = 5 * time.Second

// sayCutSummary answers a /compact whose summary was cut off, by the end of the
// process or with the turn that it was made for. At the end of the process the
// answer is delivered after the next start.
func (g *Gateway) sayCutSummary(asker channels.Inbound, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), cutSummaryWithin)
	defer cancel()
	g.answerAsker(ctx, asker, text)
}

// cutWords says why a summary was cut off whose context, ctx, has ended: a turn
// ends alone where a person stops or interrupts it.
func cutWords(ctx context.Context) string {
	if fenced(ctx) || errors.Is(context.Cause(ctx), errInterrupted) {
		return stoppedSummary
	}
	return cutSummary
}

// answerAsker says text where asker is from, unless that conversation was
// deleted meanwhile: the answer would begin it anew. If the store does not take
// it, that is only logged.
func (g *Gateway) answerAsker(ctx context.Context, asker channels.Inbound, text string) {
	if h, err := g.store.History(ctx, asker.Key, sessions.HistoryLimit{Messages: 1}); err == nil && h.Generation == "" {
		return
	}
	_, err := g.store.Accept(ctx, sessions.Entry{
		Inbound: channels.Inbound{Key: asker.Key, ID: "compact:" + asker.ID, At: g.opts.Now()},
		Origin:  sessions.OriginNotice, Answered: true, Replies: g.split(asker.Key, g.spell(asker.Key, text), asker),
	})
	if err != nil {
		g.log(asker.Key).Warn("the person is not told that the summary failed", "err", err)
		return
	}
	g.live.kick(asker.Key)
}

// noSummary is what a person reads whose /compact came to nothing.
const noSummary = "I could not summarise this conversation. Nothing is lost, and it goes on as before; you can ask for it again with /compact."

// longSummary is the same where there is nothing to gain.
const longSummary = "There is nothing to gain: this conversation is shorter than a summary of it would be. All of it stays as it is."

// nothingLeft is the same where there was nothing to do any more.
const nothingLeft = "There is nothing to summarise here by now. Nothing is lost, and this conversation goes on as before."

// changedSummary is the same where something was said to be over or erased that
// the summary stood for.
const changedSummary = "This conversation changed while I summarised it, so that summary is dropped. You can ask for it again with /compact."

// stoppedSummary is what they read if it ended with a turn that was stopped.
const stoppedSummary = "The answer that this conversation was being summarised for was stopped, and the summary with it. " +
	"Nothing is lost, and it goes on as before; you can ask for it again with /compact."

// cutSummary is what they read if the end of the process cut it off.
const cutSummary = "I was restarted before this conversation was summarised. Nothing is lost, and it goes on as before; you can ask for it again with /compact."

// compactText begins a summary because the person asks for it, and says so.
// The summary is made in the background, once answered is closed: the network
// waits for the command.
func (g *Gateway) compactText(ctx context.Context, m channels.Inbound, answered <-chan struct{}) (string, error) {
	if !g.agent.Summarizes() {
		return "I make no summaries here: whoever runs me has turned them off. /new begins a new conversation.", nil
	}
	h, err := g.history(ctx, m.Key)
	switch {
	case err != nil:
		return "", fmt.Errorf("gateway: compact %s: %w", m.Key, err)
	case !g.agent.CanSummarize(h):
		return "There is nothing to summarise yet.", nil
	}
	switch o := g.summarizeLater(m.Key, never, &m, answered); {
	case o.busy:
		return "I am summarising this conversation already.", nil
	case o.any():
		return fmt.Sprintf("The last summary failed a short while ago; nothing is lost. Please try again in %d seconds.",
			int(math.Ceil(o.rests.Seconds()))), nil
	}
	return "I am summarising the older part of this conversation. All that was said is kept.", nil
}
