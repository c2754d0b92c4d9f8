package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
)

const (
	backgroundLimit = 5 * time.Minute // of one summary that nobody waits for
	waitingLimit    = 2 * time.Minute // of one that a turn waits for
)

// considerSummary summarises k in the background if h, what its last turn knew
// of it and added to it, has become long enough. Nothing is read to find that
// out. Failure keeps everything and is tried again later.
func (g *Gateway) considerSummary(k channels.Key, h sessions.History) {
	h = g.asLoaded(h)
	if !g.agent.NeedsSummary(h) {
		g.logFill(slog.LevelDebug, contextOK, k, h)
		return
	}
	needed := g.agent.NeedsSummary
	if h.Omitted > 0 { // which the whole history does not say
		needed = always
	}
	g.summarizeLater(k, needed, nil, nil)
}

// asLoaded is h as the next turn loads it.
func (g *Gateway) asLoaded(h sessions.History) sessions.History {
	if n := len(h.Messages) - g.opts.HistoryMessages; n > 0 {
		h.Messages, h.Omitted = h.Messages[n:], h.Omitted+n
	}
	return h
}

func always(sessions.History) bool { return true }

func never(sessions.History) bool { return false }

// summarizeLater summarises k in the background if that is still needed when
// its turn comes, or if a person wants it, and returns what keeps it from that.
// asker is the command of that person, and answered is closed when they have
// been told that it is being made: what comes of it is not to be said before.
// nil: nobody asks yet.
func (g *Gateway) summarizeLater(k channels.Key, needed func(sessions.History) bool, asker *channels.Inbound, answered <-chan struct{}) obstacle {
	if o := g.sums.queue(k, g.opts.Now(), asker); o.any() {
		return o
	}
	g.sums.wg.Go(func() {
		came := context.Canceled // by the end of the process
		defer func() {
			if asker := g.sums.leave(k); asker != nil && came != nil {
				g.sayNoSummary(g.sums.ctx, *asker, came)
			}
		}()
		if answered != nil {
			<-answered
		}
		select {
		case g.sums.slots <- struct{}{}:
			defer func() { <-g.sums.slots }()
			if ok, _ := g.sums.begin(k, g.opts.Now(), asker != nil); ok {
				came = g.summarizeOnce(g.sums.ctx, k, nil, backgroundLimit, needed) // it is logged and tried again
			} else {
				came = nil // a turn has overtaken it
			}
		case <-g.sums.ctx.Done():
		}
	})
	return obstacle{}
}

// compactNow summarises k for a turn that waits for it and returns what the
// history is then. One that is running already is waited for instead, and its
// failure is the turn's; one that only waits for a slot is overtaken, and finds
// nothing left to do. A turn needs no slot: turns that run at once are bounded,
// and a person waits.
func (g *Gateway) compactNow(ctx context.Context, k channels.Key, keep *agent.Keep) (sessions.History, error) {
	ok, busy := g.sums.begin(k, g.opts.Now(), false)
	switch {
	case busy != nil:
		select {
		case <-busy.ended:
			if busy.err != nil {
				return sessions.History{}, fmt.Errorf("gateway: the summary of %s that this waited for: %w", k, busy.err)
			}
		case <-ctx.Done():
			return sessions.History{}, context.Cause(ctx)
		}
	case !ok:
		return sessions.History{}, fmt.Errorf("gateway: summary of %s: %w", k, agent.ErrSummaryRests)
	default:
		if err := g.summarizeOnce(ctx, k, keep, waitingLimit, always); err != nil {
			return sessions.History{}, err
		}
	}
	return g.history(ctx, k)
}

// summarizeOnce makes the summary that begin has marked as running, and ends
// that mark.
func (g *Gateway) summarizeOnce(ctx context.Context, k channels.Key, keep *agent.Keep, limit time.Duration, needed func(sessions.History) bool) error {
	lctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := g.summarize(lctx, k, keep, needed)
	came := err
	if errors.Is(err, sessions.ErrConflict) {
		g.opts.Observer.Summarized("outdated")
		err = nil // what there is now is as good
	}
	failed := err != nil && ctx.Err() == nil && !errors.Is(err, agent.ErrNothingToSummarize)
	if failed {
		g.log(k).Warn("summary failed; everything is kept", "err", err)
		g.opts.Observer.Summarized(outcomeOf(err))
		if errors.Is(err, agent.ErrUnseen) {
			g.opts.Observer.Unaccounted(1, false) // nothing is lost yet, and still it is a bug
		}
	}
	if asker := g.sums.end(k, g.opts.Now(), err, failed); asker != nil && came != nil {
		g.sayNoSummary(ctx, *asker, came)
	}
	return err
}

// outcomeOf names a failure of a summary in the metrics.
func outcomeOf(err error) string {
	if errors.Is(err, agent.ErrLongSummary) {
		return "longer"
	}
	return "failed"
}

// summarize makes one summary if one is needed, or a person asked for it. Messages that arrive meanwhile
// come after what it covers, so they are neither lost nor summarised. It reads
// the whole of what follows the last summary, however much that is.
func (g *Gateway) summarize(ctx context.Context, k channels.Key, keep *agent.Keep, needed func(sessions.History) bool) (err error) {
	defer recoverTo(&err, "summary of "+k.String())
	h, err := g.store.History(ctx, k, sessions.HistoryLimit{})
	h = g.withModel(k, h)
	if err != nil || !needed(h) && !g.sums.asked(k) {
		return err
	}
	g.logFill(slog.LevelInfo, "context compaction triggered", k, h)
	s, err := g.agent.Summarize(ctx, h, keep)
	if err != nil {
		return err
	}
	s.Erasures = h.Erasures
	if err := g.store.AddSummary(ctx, k, s); err != nil {
		return err
	}
	g.opts.Observer.Summarized("done")
	e := g.compacted(h, s)
	e.Key = k
	g.emit(e)
	g.log(k).Info("conversation summarised", "covers_seq", s.CoversSeq, "generation", s.Generation,
		"messages", len(h.Messages), "covered", e.Covered, "bytes", len(s.Text),
		"old_tokens", e.OldTokens, "new_tokens", e.NewTokens, "savings_percent", e.SavingsPercent)
	return nil
}

// compacted is the event that s took the place of messages of h and of the
// summary before it.
func (g *Gateway) compacted(h sessions.History, s sessions.Summary) event.Event {
	covered := 0
	for i := range h.Messages {
		if h.Messages[i].Seq <= s.CoversSeq {
			covered++
		}
	}
	left := h
	left.Summary, left.Messages = &s, h.Messages[covered:]
	before, after := g.agent.Tokens(h), g.agent.Tokens(left)
	return event.Event{
		Event: event.ContextCompacted, Generation: s.Generation, CoversSeq: s.CoversSeq, Covered: covered,
		Messages: len(h.Messages), OldTokens: before, NewTokens: after, SavingsPercent: (before - after) * 100 / max(before, 1),
	}
}

// contextOK is what the log says of a conversation that nothing is done about.
const contextOK = "context ok"

// logFill logs how full the window of a conversation's model is. It counts all
// of it, and only if somebody is going to read that.
func (g *Gateway) logFill(level slog.Level, what string, k channels.Key, h sessions.History) {
	ctx := context.Background()
	if !g.opts.Logger.Enabled(ctx, level) {
		return
	}
	tokens, limit := g.agent.Fill(h)
	if what == contextOK && tokens > limit {
		what = "context over full" // what stays anyway is too long, or summaries cannot help
	}
	percent := math.Round(float64(tokens)*1000/float64(max(limit, 1))) / 10
	g.log(k).Log(ctx, level, what, "tokens", tokens, "limit", limit, "usage_percent", percent)
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
