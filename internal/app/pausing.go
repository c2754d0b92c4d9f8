package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"dragoman/internal/config"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// pausedKind is the kind of the notes of jobs that somebody paused. Their owner is the job's,
// and their name the kind, too.
const pausedKind = "job-paused"

// pausing is the data of such a note.
type pausing struct {
	By string    `json:"by,omitempty"`
	At time.Time `json:"at"`
}

// whyPaused is why something is paused that by paused, "" if nobody knows them.
func whyPaused(by string) string {
	if by == "" {
		return "it was paused"
	}
	return by + " paused it"
}

// paused returns why a configured job is not to run now; "" if it is.
func (b *beats) paused(ctx context.Context, job string) (why string, err error) {
	notes, err := b.store.Notes(ctx, sessions.NoteFilter{Kind: pausedKind, Owner: sessions.JobScope(job), Name: pausedKind})
	if err != nil || len(notes) == 0 {
		return "", err
	}
	var p pausing
	_ = json.Unmarshal(notes[0].Data, &p) // of a newer version: it is paused all the same
	return whyPaused(p.By), nil
}

// pause keeps a configured job from running, or lets it run again. Errors:
// sessions.ErrNotFound.
func (b *beats) pause(ctx context.Context, job string, on bool) error {
	if !slices.ContainsFunc(b.plan.Load().jobs, func(j config.Job) bool { return j.Name == job }) {
		return fmt.Errorf("app: pause the job %.80q: %w", job, sessions.ErrNotFound)
	}
	who, _ := people.From(ctx)
	data, err := json.Marshal(pausing{By: who.ID, At: time.Now()})
	if err != nil {
		return err
	}
	return b.store.ChangeNotes(ctx, pausedKind, sessions.JobScope(job), func([]sessions.Note) (put []sessions.Note, remove []string, err error) {
		if !on {
			return nil, []string{pausedKind}, nil
		}
		return []sessions.Note{{Name: pausedKind, Data: data}}, nil, nil
	})
}
