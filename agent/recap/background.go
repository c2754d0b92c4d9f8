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

// job is the summary of one conversation that waits for a slot or is being made.
type job struct {
	queued  bool  // a background task comes for it
	least   Level // that the conversation must have reached then
	running bool
	// asker is the newest command that wants it, to answer if it fails; nil:
	// nobody asked.
	asker *channels.Inbound
	ended chan struct{} // closed when it is over
	err   error         // why it failed, once ended is closed
}

// pause is kept after failures.
type pause struct {
	failures int
	failed   time.Time // when the last one did
	until    time.Time // the next one by itself
}

// left is how long none is begun. A person who asks for one does not wait as long.
func (p pause) left(now time.Time, asked bool) time.Duration {
	until := p.until
	if again := p.failed.Add(askedPause); asked && again.Before(until) {
		until = again
	}
	return max(until.Sub(now), 0)
}

// queue notes that a background task comes for a summary of k, or returns what
// keeps it from that: one is on its way, or they rest. Who asks for one that is
// on its way hears of its failure too.
func (s *Summaries) queue(k channels.Key, least Level, asker *channels.Inbound) (busy bool, rests time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, busy := s.jobs[k]
	if !busy {
		if rests = s.pauses[k].left(s.opts.Now(), asker != nil); rests > 0 {
			return false, rests
		}
		j = &job{queued: true, least: least, ended: make(chan struct{})}
		s.jobs[k] = j
	}
	if asker != nil {
		j.asker = asker
	}
	return busy, 0
}

// come begins the queued summary of k, unless a turn has overtaken it.
func (s *Summaries) come(k channels.Key) (least Level, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[k]
	if j == nil || !j.queued {
		return Nothing, false
	}
	j.queued = false
	if j.running {
		return Nothing, false
	}
	j.running = true
	return j.least, true
}

// overtake begins a summary of k for a turn that waits, whether one is queued or
// not. If one is running, that is j; if they rest, it is nil.
func (s *Summaries) overtake(k channels.Key) (j *job, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j = s.jobs[k]
	switch {
	case j != nil && j.running:
		return j, false
	case j == nil && s.pauses[k].left(s.opts.Now(), false) > 0:
		return nil, false
	case j == nil:
		j = &job{ended: make(chan struct{})}
		s.jobs[k] = j
	}
	j.running = true
	return j, true
}

// wanted reports whether a person wants the summary of k that is being made.
func (s *Summaries) wanted(k channels.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[k].asker != nil
}

// end says what the running summary of k came to: err, which need not be a
// failure of k's summaries. It returns who had asked for it.
func (s *Summaries) end(k channels.Key, err error, failed bool) (asker *channels.Inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[k]
	j.err = err
	close(j.ended)
	if err != nil && !failed && j.queued { // what was cancelled may still be made by the task that comes
		s.jobs[k] = &job{queued: true, least: j.least, asker: j.asker, ended: make(chan struct{})}
	} else {
		asker = j.asker
		delete(s.jobs, k)
	}
	if !failed {
		delete(s.pauses, k)
		return asker
	}
	now, failures := s.opts.Now(), s.pauses[k].failures+1
	s.pauses[k] = pause{failures, now, now.Add(pauseAfter(err, failures))}
	return asker
}

// pauseAfter is how long a conversation's summaries rest after so many failures
// in a row, of which err is the last. An error that may pass by itself says so
// with a method Passing, and how long its server wants to be left alone.
func pauseAfter(err error, failures int) time.Duration {
	var may interface {
		Temporary() (after time.Duration, passes bool)
	}
	if errors.As(err, &may) {
		if after, passes := may.Temporary(); passes {
			return max(min(briefPause<<min(failures-1, 6), summaryPause), after)
		}
	}
	return min(summaryPause<<min(failures-1, 4), 3*time.Hour)
}
