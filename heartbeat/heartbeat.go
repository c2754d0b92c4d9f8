// Package heartbeat runs jobs by the clock: it decides when an occurrence of a
// job is due and puts its prompt into the inbox, where the gateway answers it
// like a message.
//
// The promise: each occurrence is fired at most once and has a recorded
// outcome. The [Ledger], not memory, says when a job is due next, and firing,
// recording and planning the next occurrence are one durable step there. So a
// restart neither repeats nor forgets an occurrence, and an interval continues
// where it was instead of starting again.
//
// What happens when something does not go as planned:
//
//   - Occurrences that came due while nothing could fire them (the daemon was
//     down, the clock jumped ahead) are collapsed: the newest one is fired
//     late, and the number of the others is recorded as missed
//     ([CatchUpOnce]); or all are recorded as missed ([CatchUpSkip]). Up to
//     [Grace] late still counts as in time.
//   - An occurrence outside the active hours is skipped. So is one that would be
//     caught up on outside them.
//   - An occurrence that comes due while the one before still runs waits for its
//     end. If one waits already, the new one is skipped (see Options.Unfinished).
//   - If the clock is set back, an interval is due again after one interval at
//     most. A calendar repeats no occurrence that has an outcome.
//   - A job whose schedule changed is planned anew. Whatever was overdue then is
//     still treated as due.
//   - If the Ledger fails, the occurrence stays due and is tried again, at first
//     after a second, later every half minute.
//
// The package starts no goroutines; [Scheduler.Run] blocks.
package heartbeat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"dragoman/channels"
)

// Grace is how late an occurrence may be fired without counting as missed.
const Grace = 2 * time.Minute

// maxSleep bounds how long Run sleeps, so that it notices a jump of the clock.
const maxSleep = 30 * time.Second

// never is the due time of a job that is never due again.
var never = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// ErrUnknown is returned for a job that is not configured.
var ErrUnknown = errors.New("no such job")

// Ledger is the durable calendar of jobs. It has no types of
// package sessions, and yet the store is one.
type Ledger interface {
	// NextDue is when job is due next; false if it was never planned.
	NextDue(ctx context.Context, job string) (time.Time, bool, error)
	// Plan moves job from was, which NextDue returned, to next. was is zero for a job
	// that was never planned. It fails if another process has moved the job.
	Plan(ctx context.Context, job string, was, next time.Time) error
	// Fire puts m into the inbox, records the occurrence at due and moves job
	// from was to next as Plan does, all or nothing.
	Fire(ctx context.Context, job string, was, due, next time.Time, m channels.Inbound) error
	// Skip records another outcome of the occurrence planned for due and moves
	// job to next.
	Skip(ctx context.Context, job string, due, next time.Time, outcome, why string) error
}

// Options tune a [Scheduler]. The zero value works.
type Options struct {
	// Now is the wall clock. Default [time.Now].
	Now func() time.Time
	// Zone is for jobs that name no time zone. Default [time.Local].
	Zone *time.Location
	// ReadFile reads a PromptFile. fs.ErrNotExist means that there is none.
	// Default: there is never one.
	ReadFile func(ctx context.Context, name string) ([]byte, error)
	// Unfinished counts the occurrences of a job that were fired and have no
	// answer yet. Without it every occurrence is fired and waits its turn.
	Unfinished func(ctx context.Context, job string) (int, error)
	// Paused returns why a job is not to run, "" if it is. Its occurrences are skipped.
	// Default: none is paused.
	Paused func(ctx context.Context, job string) (why string, err error)
	// Count is called for n occurrences that were not fired, with the outcome
	// "skipped" or "missed".
	Count  func(job, outcome string, n int)
	Logger *slog.Logger
}

// Scheduler fires jobs. It is safe for concurrent use.
type Scheduler struct {
	ledger Ledger
	o      Options
	jobs   map[string]*compiledJob
	order  []string // as configured
}

// New checks the jobs and makes a scheduler of them. The error has every
// problem of every job.
func New(jobs []Job, ledger Ledger, o Options) (*Scheduler, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Zone, o.Logger = cmp.Or(o.Zone, time.Local), cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.ReadFile == nil {
		o.ReadFile = func(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }
	}
	if o.Count == nil {
		o.Count = func(string, string, int) {}
	}
	s := &Scheduler{ledger: ledger, o: o, jobs: map[string]*compiledJob{}}
	var problems []error
	for _, j := range jobs {
		e, err := compile(j, o.Zone)
		if err == nil && s.jobs[j.Name] != nil {
			err = errors.New("another job has this name")
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("heartbeat: job %s: %w", j.Name, err))
			continue
		}
		s.jobs[j.Name] = e
		s.order = append(s.order, j.Name)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return s, nil
}

// Target is the conversation that job answers to; false if there is no such job.
func (s *Scheduler) Target(job string) (channels.Key, bool) {
	e, found := s.jobs[job]
	if !found {
		return channels.Key{}, false
	}
	return e.job.Target, true
}

// Run fires what comes due until ctx ends, then returns nil.
func (s *Scheduler) Run(ctx context.Context) error {
	for failures := 0; ; {
		sleep, failed := s.round(ctx)
		if failed {
			sleep = min(sleep, time.Second<<min(failures, 5))
			failures++
		} else {
			failures = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sleep):
		}
	}
}

// round deals with everything that is due. It returns how long Run may sleep,
// and whether something failed that should be tried again sooner.
func (s *Scheduler) round(ctx context.Context) (sleep time.Duration, failed bool) {
	sleep = maxSleep
	for _, name := range s.order {
		next, err := s.advance(ctx, s.jobs[name])
		switch {
		case ctx.Err() != nil:
			return sleep, false
		case err != nil:
			s.o.Logger.Warn("job waits: its record cannot be read or written", "job", name, "err", err)
			failed = true
		default:
			sleep = min(sleep, max(0, next.Sub(s.now())))
		}
	}
	return sleep, failed
}

// now is the wall clock without its monotonic reading, which would hide that
// the clock was set.
func (s *Scheduler) now() time.Time { return s.o.Now().Round(0) }

// RunNow fires job at once, whatever the hour; its schedule continues unchanged. It
// returns when the occurrence is durable, not when it is answered. Two calls within
// one second fire once. If it fails, nothing has changed. Errors: [ErrUnknown].
func (s *Scheduler) RunNow(ctx context.Context, job string) error {
	e, found := s.jobs[job]
	if !found {
		return fmt.Errorf("heartbeat: run %.80q: %w", job, ErrUnknown)
	}
	text, why := s.prompt(ctx, e.job)
	if why != "" {
		return fmt.Errorf("heartbeat: run %s: %s", job, why)
	}
	for try := 1; ; try++ {
		err := s.fireNow(ctx, e, text)
		if err == nil {
			return nil
		}
		if try == 3 || ctx.Err() != nil { // else another process, or Run, may have moved it
			return fmt.Errorf("heartbeat: run %s: %w", job, err)
		}
	}
}

func (s *Scheduler) fireNow(ctx context.Context, e *compiledJob, text string) error {
	now := s.now()
	due := wholeSecond(now)
	was, planned, err := s.ledger.NextDue(ctx, e.job.Name)
	if err != nil {
		return err
	}
	next := was
	if !planned || !next.After(now) {
		// An occurrence is due anyway; this one replaces it.
		newest := now
		if planned {
			newest, _ = newestDue(e.times, was, now)
		}
		next = e.after(newest)
	}
	return s.ledger.Fire(ctx, e.job.Name, was, due, next, e.message(due, now, text))
}
