package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"dragoman/internal/people"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// remind makes a reminder of the caller, in a conversation of theirs.
func (s *server) remind(ctx context.Context, n NewReminder) (Job, error) {
	if s.Reminders == nil {
		return Job{}, ErrNoDaemon
	}
	if n.Key.IsZero() {
		me, err := s.me(ctx, None{})
		if err != nil {
			return Job{}, err
		}
		n.Key = me.Home
	}
	sight, err := s.read(ctx, n.Key)
	if err != nil {
		return Job{}, err
	}
	if !sight.Own {
		return Job{}, refuse("key", "reminders are for conversations of yours")
	}
	name, err := s.Reminders.Remind(ctx, n)
	if err != nil {
		return Job{}, err
	}
	return s.oneJob(ctx, name)
}

// oneJob is a job that the caller sees.
func (s *server) oneJob(ctx context.Context, name string) (Job, error) {
	all, err := s.seenJobs(ctx)
	if err != nil {
		return Job{}, err
	}
	at := slices.IndexFunc(all, func(j Job) bool { return j.Name == name })
	if at < 0 {
		return Job{}, fmt.Errorf("api: job %s: %w", name, sessions.ErrNotFound)
	}
	one := all[at : at+1]
	err = s.completeJobs(ctx, one)
	return one[0], err
}

// mayChangeJob refuses those who may not change a job: a reminder is its maker's, and what
// others made or is configured needs the scope operate. Own reports whether it is theirs.
func (s *server) mayChangeJob(ctx context.Context, name string) (own bool, err error) {
	if s.Jobs == nil || s.Reminders == nil {
		return false, ErrNoDaemon
	}
	own, err = s.ownReminder(ctx, name)
	if own || err != nil || caller(ctx).May(people.Operate) {
		return own, err
	}
	_, err = s.oneJob(ctx, name)
	if err != nil {
		return false, err
	}
	return false, &respond.Refusal{
		Status: http.StatusForbidden, Code: respond.CodeScope,
		Sentence: "This needs the scope " + string(people.Operate) + ", because it is not a reminder of yours.",
	}
}

func (s *server) changeReminder(ctx context.Context, c ReminderChange) (Job, error) {
	own, err := s.mayChangeJob(ctx, c.Name)
	if err != nil {
		return Job{}, err
	}
	if !own && c.Text+c.Prompt != "" {
		return Job{}, refuse("text", "only its maker may change what a reminder says; when it is due can be changed")
	}
	err = s.Reminders.ChangeReminder(ctx, c)
	if err != nil {
		return Job{}, err
	}
	return s.oneJob(ctx, c.Name)
}

func (s *server) cancelReminder(ctx context.Context, j JobName) error {
	_, err := s.mayChangeJob(ctx, j.Name)
	if err != nil {
		return err
	}
	return s.Reminders.CancelReminder(ctx, j.Name)
}

// restoreReminder is for who cancelled one, which is in no list.
func (s *server) restoreReminder(ctx context.Context, j JobName) (Job, error) {
	_, err := s.mayChangeJob(ctx, j.Name)
	if err != nil {
		return Job{}, err
	}
	err = s.Reminders.RestoreReminder(ctx, j.Name)
	if err != nil {
		return Job{}, err
	}
	return s.oneJob(ctx, j.Name)
}

// pauseJob makes the verb that pauses jobs, or resumes them.
func pauseJob(on bool) func(*server, context.Context, JobName) error {
	return func(s *server, ctx context.Context, j JobName) error {
		_, err := s.mayChangeJob(ctx, j.Name)
		if err != nil {
			return err
		}
		return s.Jobs.PauseJob(ctx, j.Name, on)
	}
}
