package recap

import (
	"errors"
	"time"

	"dragoman/channels"
)

const (
	summaryPause = 10 * time.Minute // after a failure, for that conversation
	askedPause   = time.Minute      // the same if a person asks for the next one
	// briefPause is the same after a failure that may pass by itself, as of a
	// server that was restarted. It grows up to summaryPause.
	briefPause = 10 * time.Second
)

// state is kept while a summary is queued or being made, and after failures.
type state struct {
	queued   bool     // a background task waits for a slot
	running  *running // nil: none
	failures int
	failed   time.Time // when the last one did
	notUntil time.Time // the next one by itself
	// asker is the newest command that wants the summary which is queued or being
	// made, to answer if it fails; nil: nobody asked.
	asker *channels.Inbound
}

// running is a summary that is being made. Its err may be read once ended is
// closed.
type running struct {
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
func (st *state) obstacle(now time.Time, asked bool) obstacle {
	until := st.notUntil
	if again := st.failed.Add(askedPause); asked && again.Before(until) {
		until = again
	}
	return obstacle{busy: st.running != nil, rests: max(until.Sub(now), 0)}
}

// change calls f under the lock with what is known of k, and forgets what need
// not be known.
func (s *Summaries) change(k channels.Key, f func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state[k]
	if st == nil {
		st = &state{}
	}
	f(st)
	if st.queued || st.running != nil || st.failures > 0 {
		s.state[k] = st
	} else {
		delete(s.state, k)
	}
}

// queue notes that a background task waits for a slot for k, or returns why
// none should. Who asks for one that is on its way hears of its failure too.
func (s *Summaries) queue(k channels.Key, now time.Time, asker *channels.Inbound) (o obstacle) {
	s.change(k, func(st *state) {
		o = st.obstacle(now, asker != nil)
		o.busy = o.busy || st.queued
		if asker != nil && (o.busy || !o.any()) {
			st.asker = asker
		}
		st.queued = st.queued || !o.any()
	})
	return o
}

// wanted reports whether a person wants the summary of k and was not answered yet.
func (s *Summaries) wanted(k channels.Key) (yes bool) {
	s.change(k, func(st *state) { yes = st.asker != nil })
	return yes
}

// leave ends the waiting of a background task. It returns who had asked for the
// summary and was not answered yet.
func (s *Summaries) leave(k channels.Key) (asker *channels.Inbound) {
	s.change(k, func(st *state) {
		st.queued = false
		if st.running == nil {
			asker, st.asker = st.asker, nil
		}
	})
	return asker
}

// begin reports whether k may be summarised now, and marks it as running. If
// another summary of k is running, that is busy. One that is queued is
// overtaken.
func (s *Summaries) begin(k channels.Key, now time.Time, asked bool) (ok bool, busy *running) {
	s.change(k, func(st *state) {
		if st.obstacle(now, asked).any() {
			busy = st.running
			return
		}
		st.running, ok = &running{ended: make(chan struct{})}, true
	})
	return ok, busy
}

// end says what the running summary of k came to: err, which need not be a
// failure of k's summaries. It returns who had asked for that summary.
func (s *Summaries) end(k channels.Key, now time.Time, err error, failed bool) (asker *channels.Inbound) {
	s.change(k, func(st *state) {
		st.running.err = err
		close(st.running.ended)
		st.running = nil
		if failed || err == nil || !st.queued { // what was cancelled may still be made by the task that waits
			asker, st.asker = st.asker, nil
		}
		if !failed {
			st.failures, st.failed, st.notUntil = 0, time.Time{}, time.Time{}
			return
		}
		st.failures++
		st.failed, st.notUntil = now, now.Add(pauseAfter(err, st.failures))
	})
	return asker
}

// pauseAfter is how long a conversation's summaries rest after so many failures
// in a row, of which err is the last. An error that may pass by itself says so
// with a method Passing, and how long its server wants to be left alone.
func pauseAfter(err error, failures int) time.Duration {
	var may interface {
		Passing() (after time.Duration, passes bool)
	}
	if errors.As(err, &may) {
		if after, passes := may.Passing(); passes {
			return max(min(briefPause<<min(failures-1, 6), summaryPause), after)
		}
	}
	return min(summaryPause<<min(failures-1, 4), 3*time.Hour)
}
