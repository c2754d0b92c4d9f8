package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// Callers check what people type, to answer in words. These guards are for the store
// itself, whoever calls it: what it refuses to restore it also refuses to store, and an
// empty key never means all conversations where one is asked for.

var (
	errNoKey = errors.New("no key")
	errNoJob = errors.New("no job")
	// errNoScope: an empty scope would mean the facts of all.
	errNoScope = errors.New("no scope")
)

// hasKey refuses an empty key.
func hasKey(keys ...channels.Key) error {
	if slices.ContainsFunc(keys, channels.Key.IsZero) {
		return errNoKey
	}
	return nil
}

// hasJob refuses an empty name of a job, which would mean any job.
func hasJob(job string) error {
	if job == "" {
		return errNoJob
	}
	return nil
}

// inOrder refuses times that end before they begin. A zero time is no bound.
func inOrder(from, to time.Time) error {
	if !from.IsZero() && !to.IsZero() && to.Before(from) {
		return fmt.Errorf("the times begin at %s and end before, at %s", from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	return nil
}

// known refuses a value that is none of those that the types of package sessions name.
func known[T ~string](what string, v T, all ...T) error {
	if slices.Contains(all, v) {
		return nil
	}
	return fmt.Errorf("unknown %s %q", what, v)
}

func knownSource(s sessions.Source) error {
	return known("source", s, "", sessions.SourceChat, sessions.SourceHeartbeat, sessions.SourceNotice)
}

func knownStep(k sessions.StepKind) error {
	return known("kind of step", k, sessions.StepModel, sessions.StepToolStart, sessions.StepToolDone, sessions.StepToolAsk, sessions.StepSteer, sessions.StepPreview, sessions.StepNote,
		sessions.StepParked, sessions.StepResumed, sessions.StepCut)
}

// knownOutcome is about an occurrence that has ended. "fired" is set by Fire alone.
func knownOutcome(outcome string) error {
	return known("outcome", outcome, "ran", "silent", "failed", "skipped", "missed")
}
