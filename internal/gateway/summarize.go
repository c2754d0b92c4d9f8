package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/internal/event"
	"dragoman/sessions"
)

const (
	summaryTimeout = 5 * time.Minute
	summaryPause   = 10 * time.Minute // after a failure, for that conversation
)

// summaries runs summaries in the background: one at a time in a
// conversation, a few at once over all.
type summaries struct {
	wg    sync.WaitGroup
	slots chan struct{}
	ctx   context.Context // ends in wait; a background task has no caller's context
	stop  context.CancelFunc
	mu    sync.Mutex
	state map[channels.Key]*summaryState
}

// summaryState is kept while a summary is being made and after failures.
type summaryState struct {
	running  bool
	failures int
	notUntil time.Time
}

func (s *summaries) init(slots int) {
	s.slots = make(chan struct{}, slots)
	s.state = make(map[channels.Key]*summaryState)
	s.ctx, s.stop = context.WithCancel(context.Background())
}

// wait ends what runs; a summary that is not finished changes nothing.
func (s *summaries) wait() {
	s.stop()
	s.wg.Wait()
}

// begin reports whether k may be summarised now, and marks it as running.
func (s *summaries) begin(k channels.Key, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state[k]
	if st == nil {
		st = &summaryState{}
		s.state[k] = st
	}
	if st.running || now.Before(st.notUntil) {
		return false
	}
	st.running = true
	return true
}

func (s *summaries) end(k channels.Key, now time.Time, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !failed {
		delete(s.state, k)
		return
	}
	st := s.state[k]
	st.running = false
	st.failures++
	st.notUntil = now.Add(min(summaryPause<<min(st.failures-1, 4), 3*time.Hour))
}

// considerSummary summarises k in the background if h, what its last turn knew
// of it and added to it, has become long enough. Nothing is read to find that
// out. Failure keeps everything and is tried again later.
func (g *Gateway) considerSummary(k channels.Key, h sessions.History) {
	if !g.agent.NeedsSummary(h) || !g.sums.begin(k, g.opts.Now()) {
		return
	}
	g.sums.wg.Go(func() {
		select {
		case g.sums.slots <- struct{}{}:
			defer func() { <-g.sums.slots }()
		case <-g.sums.ctx.Done():
			return
		}
		err := g.summarize(g.sums.ctx, k)
		if err != nil && g.sums.ctx.Err() == nil {
			g.log(k).Warn("summary failed; everything is kept", "err", err)
			g.opts.Observer.Summarized("failed")
		}
		g.sums.end(k, g.opts.Now(), err != nil)
	})
}

// summarize makes one summary if one is needed. Messages that arrive meanwhile
// come after what it covers, so they are neither lost nor summarised. It reads
// the whole of what follows the last summary, however much that is.
func (g *Gateway) summarize(ctx context.Context, k channels.Key) (err error) {
	defer recoverTo(&err, "summary of "+k.String())
	ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
	defer cancel()
	h, err := g.store.History(ctx, k, sessions.HistoryLimit{})
	if err != nil || !g.agent.NeedsSummary(h) {
		return err
	}
	s, err := g.agent.Summarize(ctx, h)
	if err != nil {
		return err
	}
	err = g.store.AddSummary(ctx, k, s)
	if errors.Is(err, sessions.ErrConflict) {
		g.opts.Observer.Summarized("outdated") // a /new came in between
		return nil
	}
	if err != nil {
		return err
	}
	g.opts.Observer.Summarized("done")
	g.emit(event.Event{Event: event.ContextCompacted, Key: k, Generation: s.Generation, CoversSeq: s.CoversSeq})
	g.log(k).Info("conversation summarised", "covers_seq", s.CoversSeq, "generation", s.Generation)
	return nil
}
