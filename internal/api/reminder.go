package api

import (
	"context"

	"dragoman/channels"
	"dragoman/sessions/erasure"
)

// When says when a reminder is due: exactly one of In, Every, and At or Repeat is given.
// With Repeat, At is the first time.
type When struct {
	// At is what the clocks in Zone show, like 2026-11-29T09:00.
	At string
	// In and Every are like 1h30m, from now on.
	In, Every string
	Repeat    *Repeat
	// Zone is an IANA name like Europe/Rome, which is kept as the caller's when they make a
	// reminder. "": the one that is kept, or that of the configuration.
	Zone string
}

// Repeat says when something repeats, in the words of a calendar.
type Repeat struct {
	Freq     string `json:"freq"` // daily, weekly, monthly or yearly
	Interval int    `json:"interval,omitempty"`
	// Days depend on Freq. Weekly: mo to su. Monthly and yearly: 15, -1 (the last), 2mo, -1fr.
	Days []string `json:"days,omitempty"`
	// Times are times of day, like 16:00.
	Times []string `json:"times,omitempty"`
	Until string   `json:"until,omitempty"` // the last day
	Count int      `json:"count,omitempty"`
}

// NewReminder is a reminder to be made: a Text, which is delivered as it is, or a Prompt,
// which is answered when it is due.
type NewReminder struct {
	// Key is the conversation of the caller that gets it; left out: their first room.
	Key    channels.Key `json:"key,omitzero"`
	Text   string       `json:"text,omitempty"`
	Prompt string       `json:"prompt,omitempty"`
	// At, In, Every, Repeat and Zone are those of a [When].
	At     string  `json:"at,omitempty"`
	In     string  `json:"in,omitempty"`
	Every  string  `json:"every,omitempty"`
	Repeat *Repeat `json:"repeat,omitempty"`
	Zone   string  `json:"zone,omitempty"`
}

// When is when it is due.
func (n NewReminder) When() When { return When{n.At, n.In, n.Every, n.Repeat, n.Zone} }

// ReminderChange changes a reminder; what is left out stays.
type ReminderChange struct {
	Name   string `json:"name"`
	Text   string `json:"text,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	// At, In, Every, Repeat and Zone are those of a [When].
	At     string  `json:"at,omitempty"`
	In     string  `json:"in,omitempty"`
	Every  string  `json:"every,omitempty"`
	Repeat *Repeat `json:"repeat,omitempty"`
	Zone   string  `json:"zone,omitempty"`
}

// When is when it is due from now on; zero: as before.
func (c ReminderChange) When() When { return When{c.At, c.In, c.Every, c.Repeat, c.Zone} }

// Reminders makes and changes reminders. Errors: sessions.ErrNotFound, and refusals with a
// sentence.
type Reminders interface {
	Remind(ctx context.Context, n NewReminder) (job string, err error)
	ChangeReminder(ctx context.Context, c ReminderChange) error
	CancelReminder(ctx context.Context, name string) error
	// RestoreReminder brings one back that was cancelled within the last hour.
	RestoreReminder(ctx context.Context, name string) error
}

func (n NewReminder) about(act *erasure.Act)    { act.Targets = []string{n.Key.String()} }
func (c ReminderChange) about(act *erasure.Act) { act.Name = c.Name }
