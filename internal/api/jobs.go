package api

import (
	"context"
	"math"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Job is a job as lists show it: a configured one, or a reminder that somebody made by
// talking, whose name is like telegram:42/r7. The words of reminders are not listed.
type Job struct {
	Name     string    `json:"name"`
	Schedule string    `json:"schedule"` // "every 30m", "0 8 * * * Europe/Rome"; of reminders in words
	Target   string    `json:"target"`
	Next     time.Time `json:"next,omitzero"`
	// Paused is why a reminder is not due; "": it is.
	Paused string `json:"paused,omitempty"`
	// Last is the newest recorded occurrence.
	Last *Occurrence `json:"last,omitempty"`
}

// Occurrence is one due time of one job, with its outcome.
type Occurrence struct {
	Job string    `json:"job"`
	Due time.Time `json:"due"`
	// Outcome is "fired", "ran", "silent", "failed", "skipped", "missed", or "waiting": it
	// ran, and its text could not be delivered yet.
	Outcome string    `json:"outcome"`
	Why     string    `json:"why,omitempty"`
	At      time.Time `json:"at"` // when the outcome was written
}

func occurrenceOf(o sessions.Occurrence) Occurrence { return Occurrence(o) }

// Scheduler lists and runs the configured jobs.
type Scheduler interface {
	Jobs(ctx context.Context) ([]Job, error)
	// RunJob fires a job now, besides its schedule. Errors: sessions.ErrNotFound.
	RunJob(ctx context.Context, name string) error
}

// JobName is a configured job.
type JobName struct {
	Name string `json:"name"`
}

// JobLimited asks for one page of the outcomes of a job's due times; "" means all jobs.
type JobLimited struct {
	Job string `json:"job,omitempty"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: a hundred.
	Limit int `json:"limit,omitempty"`
}

func (s *server) jobs(ctx context.Context, _ None) (Page[Job], error) {
	if s.Jobs == nil {
		return pageOf[Job](nil, nil)
	}
	all, err := s.Jobs.Jobs(ctx)
	if err == nil {
		var last []*Occurrence
		for _, j := range all {
			if j.Last != nil {
				last = append(last, j.Last)
			}
		}
		err = s.markWaiting(ctx, last)
	}
	if err != nil || caller(ctx).May(people.Operate) {
		return pageOf(all, err)
	}
	var own []Job
	for _, j := range all {
		is, err := s.ownJob(ctx, j)
		if err != nil {
			return Page[Job]{}, err
		}
		if is {
			own = append(own, j)
		}
	}
	return pageOf(own, nil)
}

// ownReminder reports whether a job is a reminder of the caller, under any of their
// identities. At a port without tokens nobody has shown who they are.
func (s *server) ownReminder(ctx context.Context, name string) (bool, error) {
	owner := sessions.JobsOwner(name)
	if owner == "" || caller(ctx).AtOpenPort() {
		return false, nil
	}
	mine, err := s.Directory.Owners(ctx, caller(ctx).ID)
	return slices.Contains(mine, owner), err
}

// ownJob reports whether a job writes to a conversation of the caller.
func (s *server) ownJob(ctx context.Context, j Job) (bool, error) {
	k, err := channels.ParseKey(j.Target)
	if err != nil {
		return false, nil // it writes to none
	}
	sight, err := s.sight(ctx, k)
	return sight.Own, err
}

func (s *server) occurrences(ctx context.Context, q JobLimited) (Page[Occurrence], error) {
	all, err := s.outcomes(ctx, q.Job)
	if err != nil {
		return Page[Occurrence]{}, err
	}
	shown := each(all, occurrenceOf)
	pointers := make([]*Occurrence, len(shown))
	for i := range shown {
		pointers[i] = &shown[i]
	}
	err = s.markWaiting(ctx, pointers)
	if err != nil {
		return Page[Occurrence]{}, err
	}
	at := func(o Occurrence) place { return place{At: o.Due, ID: o.Job} }
	return pageAfter(shown, at, newestFirst, q.After, q.Limit)
}

// outcomes are those of a job's due times that the caller sees; "" means all jobs.
func (s *server) outcomes(ctx context.Context, job string) (all []sessions.Occurrence, err error) {
	if caller(ctx).May(people.Operate) {
		return s.Store.Occurrences(ctx, job, math.MaxInt)
	}
	own, err := s.jobs(ctx, None{})
	if err != nil {
		return nil, err
	}
	for _, j := range own.Data {
		if job != "" && job != j.Name {
			continue
		}
		some, err := s.Store.Occurrences(ctx, j.Name, math.MaxInt)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// mostWaiting bounds how many entries of the queue are searched for texts of jobs.
const mostWaiting = 10_000

// markWaiting changes the outcome of the runs, newest first, whose text could not be
// delivered yet: nobody has read it.
func (s *server) markWaiting(ctx context.Context, all []*Occurrence) error {
	if !slices.ContainsFunc(all, func(o *Occurrence) bool { return o.Outcome == "ran" }) {
		return nil
	}
	queue, err := s.Store.ListQueue(ctx, mostWaiting)
	if err != nil {
		return err
	}
	for _, it := range queue {
		if it.Lane != sessions.LaneOut || it.Job == "" || it.State == sessions.QueueDead || it.Error == "" {
			continue
		}
		for _, job := range sessions.JobsOf(it.Job) {
			i := slices.IndexFunc(all, func(o *Occurrence) bool {
				return o.Job == job && !o.At.After(it.At) && (o.Outcome == "ran" || o.Outcome == "waiting")
			})
			if i < 0 {
				continue
			}
			all[i].Outcome = "waiting"
			all[i].Why = "its text is not delivered yet: " + it.Error
		}
	}
	return nil
}

func (s *server) runJob(ctx context.Context, j JobName) error {
	if s.Jobs == nil {
		return ErrNoDaemon
	}
	return s.Jobs.RunJob(ctx, j.Name)
}
