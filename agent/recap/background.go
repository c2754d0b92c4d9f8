package recap

import (
	"errors"
	"time"

	"dragoman/channels"
)

const (
	summaryPause = 10 * time.Minute // after a failure, per conversation
	askedPause   = time.Minute      // the same if a person asks
	// briefPause follows a failure that may pass soon, for example while a server
	// restarts. It grows up to summaryPause.
	briefPause = 10 * time.Second
)

// job is the summary of one conversation that is queued or running.
type job struct {
	queued  bool  // a background task will take it
	least   Level // what the conversation must reach then
	running bool
	// asker is the newest command that wants it, to tell if it fails; nil: none.
	asker *channels.Inbound
	ended chan struct{} // closed at the end
	err   error         // why it failed, once ended is closed
}

// pause is how long a conversation gets no automatic summary, because the last
// ones failed. The zero value is no pause.
type pause struct {
	failures int
	failed   time.Time // when the last one failed
	until    time.Time // no automatic summary before
	why      error     // the last one, unless it passes by itself
}

// Failed is a summary that failed for a reason that stays until somebody mends it.
type Failed struct {
	Key channels.Key
	At  time.Time
	Why error
	// Others are as many other conversations whose last summary failed so.
	Others int
}

// shownFor is how long a failure is told: nobody may write there any more.
const shownFor = 24 * time.Hour

// Failed returns the newest failure of the last day, unless a later summary of that
// conversation succeeded.
func (s *Summaries) Failed() (newest Failed, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := 0
	for k, p := range s.pauses {
		if p.why == nil || s.opts.Now().Sub(p.failed) > shownFor {
			continue
		}
		found++
		if found == 1 || p.failed.After(newest.At) {
			newest = Failed{Key: k, At: p.failed, Why: p.why}
		}
	}
	newest.Others = found - 1
	return newest, found > 0
}

// remaining returns how long no summary is started. A person who asks for one waits
// less.
func (p pause) remaining(now time.Time, asked bool) time.Duration {
	until := p.until
	if again := p.failed.Add(askedPause); asked && again.Before(until) {
		until = again
	}
	return max(until.Sub(now), 0)
}

// queue adds a job for a background task, or returns what prevents it: a summary is
// on its way, or they are paused. A person who asks for one that is on its way is
// told if it fails.
func (s *Summaries) queue(k channels.Key, least Level, asker *channels.Inbound) (busy bool, paused time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, busy := s.jobs[k]
	if !busy {
		paused = s.pauses[k].remaining(s.opts.Now(), asker != nil)
		if paused > 0 {
			return false, paused
		}
		j = &job{queued: true, least: least, ended: make(chan struct{})}
		s.jobs[k] = j
	}
	if asker != nil {
		j.asker = asker
	}
	return busy, 0
}

// startQueued starts the queued summary of k, unless a turn has overtaken it.
func (s *Summaries) startQueued(k channels.Key) (least Level, ok bool) {
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

// overtake starts a summary of k for a turn that waits, queued or not. If one is
// running, it returns that job and false. If summaries are paused, it returns nil and
// false.
func (s *Summaries) overtake(k channels.Key) (j *job, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j = s.jobs[k]
	switch {
	case j != nil && j.running:
		return j, false
	case j == nil && s.pauses[k].remaining(s.opts.Now(), false) > 0:
		return nil, false
	case j == nil:
		j = &job{ended: make(chan struct{})}
		s.jobs[k] = j
	}
	j.running = true
	return j, true
}

func (s *Summaries) wanted(k channels.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[k].asker != nil
}

// endJob records the result of the running summary of k and returns the command that
// asked for it. err need not count as a failure.
func (s *Summaries) endJob(k channels.Key, err error, failed bool) (asker *channels.Inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[k]
	j.err = err
	close(j.ended)
	if err != nil && !failed && j.queued { // the background task may still make the cancelled summary
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
	p := pause{failures: failures, failed: now, until: now.Add(pauseAfter(err, failures))}
	if !passes(err) {
		p.why = err
	}
	s.pauses[k] = p
	return asker
}

// passing is an error that may pass by itself.
type passing interface {
	Temporary() (after time.Duration, passes bool)
}

func passes(err error) bool {
	var may passing
	if !errors.As(err, &may) {
		return false
	}
	_, passes := may.Temporary()
	return passes
}

// pauseAfter returns how long a conversation's summaries pause after this many failures
// in a row, of which err is the last.
func pauseAfter(err error, failures int) time.Duration {
	var may passing
	if errors.As(err, &may) {
		if after, passes := may.Temporary(); passes {
			return max(min(briefPause<<min(failures-1, 6), summaryPause), after)
		}
	}
	return min(summaryPause<<min(failures-1, 4), 3*time.Hour)
}
