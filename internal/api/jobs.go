package api

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// Job is a job as lists show it: a configured one, or a reminder that somebody made, whose
// name is like telegram:42/r7.
type Job struct {
	Name     string    `json:"name"`
	Schedule string    `json:"schedule"` // "every 30m", "0 8 * * * Europe/Rome"; of reminders in words
	Target   string    `json:"target"`
	Next     time.Time `json:"next,omitzero"`
	// Paused is why it does not run; "": it does.
	Paused   string `json:"paused,omitempty"`
	Reminder bool   `json:"reminder,omitempty"`
	// Own: it is a reminder of the caller. Only they see its Text; with Prompt it is a task.
	Own    bool   `json:"own,omitempty"`
	Text   string `json:"text,omitempty"`
	Prompt bool   `json:"prompt,omitempty"`
	// Upcoming are the due times of the next 24 hours, at most 96.
	Upcoming []time.Time `json:"upcoming,omitempty"`
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

func occurrenceOf(o sessions.Occurrence) Occurrence {
	return Occurrence{Job: o.Job, Due: o.Due, Outcome: o.Outcome, Why: o.Why, At: o.At}
}

// Scheduler lists, runs and pauses jobs.
type Scheduler interface {
	// Jobs lists the configured jobs and the reminders of everybody, with their words, and
	// without Last and Upcoming.
	Jobs(ctx context.Context) ([]Job, error)
	// Upcoming are the due times of a job until a time.
	Upcoming(ctx context.Context, j Job, until time.Time) ([]time.Time, error)
	// PauseJob keeps a job or a reminder from running, or lets it run again. Errors:
	// sessions.ErrNotFound.
	PauseJob(ctx context.Context, name string, on bool) error
	// RunJob fires a job now, besides its schedule. Errors: sessions.ErrNotFound.
	RunJob(ctx context.Context, name string) error
}

// JobName is a configured job.
type JobName struct {
	Name string `json:"name"`
}

// JobQuery asks for one page of jobs.
type JobQuery struct {
	// Kind is job (configured), reminder, or "" for both: jobs first, in their order, then
	// reminders by name.
	Kind string `json:"kind,omitempty"`
	// Text must be in the name, the target or what the caller sees of the words; case does
	// not matter.
	Text string `json:"text,omitempty"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: a hundred.
	Limit int `json:"limit,omitempty"`
}

// JobLimited asks for one page of the outcomes of a job's due times; "" means all jobs.
type JobLimited struct {
	Job string `json:"job,omitempty"`
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 200; left out: a hundred.
	Limit int `json:"limit,omitempty"`
}

func (s *server) jobs(ctx context.Context, q JobQuery) (Page[Job], error) {
	if q.Kind != "" && q.Kind != "job" && q.Kind != "reminder" {
		return Page[Job]{}, refuse("kind", "kind is job or reminder")
	}
	list, err := s.seenJobs(ctx)
	if err != nil {
		return Page[Job]{}, err
	}
	number := map[string]int{}
	for i := range list {
		number[list[i].Name] = i
	}
	list = slices.DeleteFunc(list, func(j Job) bool {
		other := q.Kind == "job" && j.Reminder || q.Kind == "reminder" && !j.Reminder
		return other || !hasWords(q.Text, j.Name, j.Target, j.Text)
	})
	at := func(j Job) place {
		if j.Reminder {
			return place{ID: "1 " + j.Name}
		}
		return place{ID: fmt.Sprintf("0 %06d", number[j.Name])}
	}
	byID := func(a, b place) int { return strings.Compare(a.ID, b.ID) }
	page, err := pageAfter(list, at, byID, q.After, q.Limit)
	if err != nil {
		return page, err
	}
	return page, s.completeJobs(ctx, page.Data)
}

// hasWords reports whether text, whose case does not matter, is in one of these.
func hasWords(text string, in ...string) bool {
	text = strings.ToLower(text)
	return text == "" || slices.ContainsFunc(in, func(one string) bool { return strings.Contains(strings.ToLower(one), text) })
}

// seenJobs are the jobs that the caller sees, with the words of their own reminders alone.
func (s *server) seenJobs(ctx context.Context) (seen []Job, err error) {
	if s.Jobs == nil {
		return nil, nil
	}
	all, err := s.Jobs.Jobs(ctx)
	for _, j := range all {
		mine, err := s.ownReminder(ctx, j.Name)
		if err != nil {
			return nil, err
		}
		here := mine || caller(ctx).May(people.Operate)
		if !here {
			here, err = s.ownJob(ctx, j)
		}
		if err != nil {
			return nil, err
		}
		if !here {
			continue
		}
		j.Own = mine
		if !mine {
			j.Text = ""
		}
		seen = append(seen, j)
	}
	return seen, err
}

// completeJobs adds what became of jobs last, and what comes.
func (s *server) completeJobs(ctx context.Context, list []Job) error {
	var last []*Occurrence
	until := s.Now().Add(24 * time.Hour)
	for i := range list {
		j := &list[i]
		done, err := s.Store.Occurrences(ctx, j.Name, 1)
		if err != nil {
			return err
		}
		if len(done) > 0 {
			j.Last = new(occurrenceOf(done[0]))
			last = append(last, j.Last)
		}
		j.Upcoming, err = s.Jobs.Upcoming(ctx, *j, until)
		if err != nil {
			return err
		}
	}
	return s.markWaiting(ctx, last)
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
	own, err := s.seenJobs(ctx)
	if err != nil {
		return nil, err
	}
	for _, j := range own {
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
