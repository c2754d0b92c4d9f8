package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"dragoman/agent"
	"dragoman/channels"
)

const (
	summaryPause = 10 * time.Minute // after a failure, for that conversation
	askedPause   = time.Minute      // the same if a person asks for the next one
	// briefPause is the same after a failure that may pass by itself, as of a
	// server that was restarted. It grows up to summaryPause.
	briefPause = 10 * time.Second
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

// summaryState is kept while a summary is queued or being made, and after
// failures.
type summaryState struct {
	queued   bool     // a background task waits for a slot
	running  *summing // nil: none
	failures int
	failed   time.Time // when the last one did
	notUntil time.Time // the next one by itself
	// asker is the newest command that wants the summary which is queued or being
	// made, to answer if it fails; nil: nobody asked.
	asker *channels.Inbound
}

// summing is a summary that is being made. Its err may be read once ended is
// closed.
type summing struct {
	ended chan struct{}
	err   error
}

// obstacle is why no summary is begun. The zero value is none.
type obstacle struct {
	busy bool // one of the conversation waits or runs already
	// rests is how long none is begun after one that failed.
	rests time.Duration
}

func (o obstacle) any() bool { return o != obstacle{} }

// obstacle is what keeps a summary from being begun, under the lock. A person
// who asks for one does not wait as long after a failure.
func (st *summaryState) obstacle(now time.Time, asked bool) obstacle {
	until := st.notUntil
	if again := st.failed.Add(askedPause); asked && again.Before(until) {
		until = again
	}
	return obstacle{busy: st.running != nil, rests: max(until.Sub(now), 0)}
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

// of is what is known of k, under the lock.
func (s *summaries) of(k channels.Key) *summaryState {
	st := s.state[k]
	if st == nil {
		st = &summaryState{}
		s.state[k] = st
	}
	return st
}

// queue notes that a background task waits for a slot for k, or returns why
// none should. Who asks for one that is on its way hears of its failure too.
func (s *summaries) queue(k channels.Key, now time.Time, asker *channels.Inbound) obstacle {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.of(k)
	o := st.obstacle(now, asker != nil)
	o.busy = o.busy || st.queued
	if asker != nil && (o.busy || !o.any()) {
		st.asker = asker
	}
	st.queued = st.queued || !o.any()
	s.drop(k, st)
	return o
}

// asked reports whether a person wants the summary of k and was not answered yet.
func (s *summaries) asked(k channels.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state[k]
	return st != nil && st.asker != nil
}

// leave ends the waiting of a background task. It returns who had asked for the
// summary and was not answered yet.
func (s *summaries) leave(k channels.Key) (asker *channels.Inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.of(k)
	st.queued = false
	if st.running == nil {
		asker, st.asker = st.asker, nil
	}
	s.drop(k, st)
	return asker
}

// drop forgets what need not be known, under the lock.
func (s *summaries) drop(k channels.Key, st *summaryState) {
	if !st.queued && st.running == nil && st.failures == 0 {
		delete(s.state, k)
	}
}

// begin reports whether k may be summarised now, and marks it as running. If
// another summary of k is running, that is busy. One that is queued is
// overtaken.
func (s *summaries) begin(k channels.Key, now time.Time, asked bool) (ok bool, busy *summing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.of(k)
	if st.obstacle(now, asked).any() {
		return false, st.running
	}
	st.running = &summing{ended: make(chan struct{})}
	return true, nil
}

// end says what the running summary of k came to: err, which need not be a
// failure of k's summaries. It returns who had asked for that summary.
func (s *summaries) end(k channels.Key, now time.Time, err error, failed bool) (asker *channels.Inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.of(k)
	st.running.err = err
	close(st.running.ended)
	st.running = nil
	if failed || err == nil || !st.queued { // what was cancelled may still be made by the task that waits
		asker, st.asker = st.asker, nil
	}
	if failed {
		st.failures++
		st.failed = now
		st.notUntil = now.Add(pauseAfter(err, st.failures))
	} else {
		st.failures, st.failed, st.notUntil = 0, time.Time{}, time.Time{}
	}
	s.drop(k, st)
	return asker
}

// pauseAfter is how long a conversation's summaries rest after so many failures
// in a row, of which err is the last.
func pauseAfter(err error, failures int) time.Duration {
	var me *agent.ModelError
	if errors.As(err, &me) && me.Kind == agent.ErrorTemporary {
		return max(min(briefPause<<min(failures-1, 6), summaryPause), me.After)
	}
	return min(summaryPause<<min(failures-1, 4), 3*time.Hour)
}
