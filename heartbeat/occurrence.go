package heartbeat

import (
	"context"
	"fmt"
	"time"

	"dragoman/channels"
)

// advance brings one job up to date and returns when it is due next.
func (s *Scheduler) advance(ctx context.Context, e *compiledJob) (time.Time, error) {
	// Missed occurrences are recorded in a step before the newest one.
	for range 3 {
		due, planned, err := s.ledger.NextDue(ctx, e.job.Name)
		if err != nil {
			return time.Time{}, err
		}
		next, now := due, s.now()
		ahead := !planned || due.After(now)
		if ahead {
			next, err = s.plan(ctx, e, due, planned, now)
		} else {
			err = s.decide(ctx, e, due, now)
		}
		switch {
		case err == nil && ahead:
			return next, nil
		case err == nil:
			continue
		}
		if other, planned, check := s.ledger.NextDue(ctx, e.job.Name); check != nil || !planned || other.Equal(due) {
			return time.Time{}, err
		}
		s.o.Logger.Debug("another node has handled the job", "job", e.job.Name, "due", due)
	}
	return s.now().Add(time.Second), nil
}

// plan returns when a job is due that is not due now. It plans the job for then
// if it was never planned or its schedule has changed.
func (s *Scheduler) plan(ctx context.Context, e *compiledJob, due time.Time, planned bool, now time.Time) (time.Time, error) {
	next := e.after(now)
	if planned {
		next = e.times.replan(due, now)
		if next.IsZero() || next.Equal(due) {
			return due, nil
		}
		s.o.Logger.Info("job planned anew", "job", e.job.Name, "was", due, "next", next)
	}
	return next, s.ledger.Plan(ctx, e.job.Name, due, next)
}

func (e *compiledJob) after(t time.Time) time.Time {
	if next := e.times.next(t); !next.IsZero() {
		return wholeSecond(next)
	}
	return never
}

// decide records or fires the oldest occurrence that is due. due is not after now.
func (s *Scheduler) decide(ctx context.Context, e *compiledJob, due, now time.Time) error {
	newest, count := newestDue(e.times, due, now)
	next, name := e.after(newest), e.job.Name
	late := now.Sub(newest) > Grace
	missed, then := count-1, newest // the newest one is decided in a later step
	if late && e.job.CatchUp == CatchUpSkip {
		missed, then = count, next
	}
	if missed > 0 {
		s.o.Logger.Warn("job missed occurrences", "job", name, "count", missed, "from", due)
		return s.skip(ctx, name, due, then, "missed", whyMissed(missed), missed)
	}
	why, text, err := s.skipReason(ctx, e, due, now)
	if err != nil {
		return err
	}
	if why != "" {
		s.o.Logger.Debug("job skipped", "job", name, "due", due, "why", why)
		return s.skip(ctx, name, due, next, "skipped", why, 1)
	}
	s.o.Logger.Debug("job fired", "job", name, "due", due, "late", late)
	return s.ledger.Fire(ctx, name, due, due, next, e.message(due, now, text))
}

// skip records and counts n occurrences that are not fired.
func (s *Scheduler) skip(ctx context.Context, job string, due, next time.Time, outcome, why string, n int) error {
	err := s.ledger.Skip(ctx, job, due, next, outcome, why)
	if err == nil {
		s.o.Count(job, outcome, n)
	}
	return err
}

func whyMissed(count int) string {
	switch {
	case count >= maxCount-1:
		return fmt.Sprintf("at least %d occurrences came due while the daemon could not run them", count)
	case count == 1:
		return "it came due while the daemon could not run it"
	}
	return fmt.Sprintf("%d occurrences came due while the daemon could not run them", count)
}

// skipReason returns why the occurrence is not fired, or "" and the prompt.
func (s *Scheduler) skipReason(ctx context.Context, e *compiledJob, due, now time.Time) (why, text string, err error) {
	switch {
	case !e.active.contain(due):
		return "outside of the active hours " + e.active.text, "", nil
	case !e.active.contain(now):
		return "too late for the active hours " + e.active.text, "", nil
	}
	if s.o.Paused != nil {
		why, err := s.o.Paused(ctx, e.job.Name)
		if why != "" || err != nil {
			return why, "", err
		}
	}
	if s.o.Unfinished != nil {
		n, err := s.o.Unfinished(ctx, e.job.Name)
		if err != nil {
			return "", "", err
		}
		if n > 1 {
			return fmt.Sprintf("%d earlier occurrences are not finished", n), "", nil
		}
	}
	text, why = s.prompt(ctx, e.job)
	return why, text, nil
}

// message is the inbox entry of an occurrence, which its id identifies.
func (e *compiledJob) message(due, now time.Time, text string) channels.Inbound {
	var origins []channels.Origin
	if e.job.PromptFile != "" {
		// The model and others may write there.
		origins = []channels.Origin{channels.OriginFile}
	}
	return channels.Inbound{
		Key:    e.key,
		ID:     fmt.Sprintf("%s:%d", e.job.Name, due.Unix()),
		Sender: channels.Person{Name: "heartbeat"},
		Text:   text,
		At:     now,

		Origins: origins,
	}
}
