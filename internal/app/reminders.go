package app

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/internal/reminders"
	"dragoman/internal/respond"
	"dragoman/sessions"
)

// newReminders makes the book of what people asked to be reminded of.
func (d *Daemon) newReminders() *reminders.Book {
	return reminders.New(d.store, reminders.Options{
		Zone: d.zone, Approves: d.approves,
		Together: func(ctx context.Context, identity string) ([]string, error) { return d.people.Together(ctx, identity) },
		Spell:    func(k channels.Key, text string) string { return d.gateway.SpellCommands(k, text) },
	})
}

// approves reports whether somebody decides for others in shared chats. If the store does
// not say who they are, they do not.
func (d *Daemon) approves(ctx context.Context, k channels.Key, who channels.Person) bool {
	w := actions.Who{Channel: k.Channel(), IDs: who.IDs, Name: who.Name}
	person, err := d.people.Resolve(ctx, w.Channel, w.Vouched())
	if err != nil {
		d.log.Warn("it is not known who changes reminders, so they change only their own", "key", k.String(), "err", err)
		return false
	}
	w.Operator = person == people.OperatorID || who.ID() == people.OperatorID
	return d.book.Approves(w)
}

// runReminders fires what is due until ctx ends.
func (d *Daemon) runReminders(ctx context.Context) {
	r := reminders.NewRunner(d.reminders, d.store, d.gateway, reminders.RunnerOptions{
		Refused: d.refusedReminder, Logger: d.log,
		Count: func(outcome string) { d.metrics.Heartbeats("reminder", outcome, 1) },
	})
	_ = r.Run(ctx) // it only ends with its context
}

// refusedReminder returns why a reminder of the author of m is paused; "" if it is not.
func (d *Daemon) refusedReminder(ctx context.Context, m channels.Inbound) (string, error) {
	name := m.Key.Channel()
	if _, served := d.gateway.Channels()[name]; !served {
		return "no channel is called " + name, nil
	}
	if m.Sender.ID() == people.OperatorID {
		return "", nil
	}
	if !m.Private && d.gate.Policy(name).Groups == people.Off {
		return "nothing is answered in groups there", nil
	}
	verdict, err := d.gate.Sender(ctx, m)
	if err != nil {
		return "", err
	}
	if verdict != people.Welcome {
		return "who asked for it may no longer talk there", nil
	}
	return "", nil
}

// jobs are what the API lists: the configured jobs, and reminders.
type jobs struct {
	*beats
	book *reminders.Book
	d    *Daemon
}

// Jobs implements api.Scheduler.
func (j jobs) Jobs(ctx context.Context) ([]api.Job, error) {
	list, err := j.beats.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	all, err := j.book.All(ctx)
	for _, e := range all {
		list = append(list, api.Job{
			Name: e.Job, Schedule: e.Repeat, Target: e.Key.String(), Next: e.Due, Paused: e.Paused, Reminder: true, Text: e.Text, Prompt: e.Prompt,
		})
	}
	return list, err
}

// mostUpcoming is how many due times of a job are listed: one each quarter of an hour of a day.
const mostUpcoming = 96

// Upcoming implements api.Scheduler.
func (j jobs) Upcoming(ctx context.Context, job api.Job, until time.Time) ([]time.Time, error) {
	switch {
	case job.Paused != "":
		return nil, nil
	case job.Reminder:
		return j.book.Upcoming(ctx, job.Name, until, mostUpcoming)
	}
	return j.plan.Load().Upcoming(job.Name, job.Next, until, mostUpcoming), nil
}

// PauseJob implements api.Scheduler.
func (j jobs) PauseJob(ctx context.Context, name string, on bool) error {
	who, _ := people.From(ctx)
	switch {
	case sessions.JobsOwner(name) == "":
		return j.pause(ctx, name, on)
	case on:
		return refusalOfReminder(j.book.PauseNamed(ctx, name, whyPaused(who.ID)))
	}
	return refusalOfReminder(j.book.ResumeNamed(ctx, name))
}

// Remind implements api.Reminders.
func (j jobs) Remind(ctx context.Context, n api.NewReminder) (job string, err error) {
	a, err := j.asker(ctx, n.Key)
	if err != nil {
		return "", err
	}
	job, err = j.book.Add(ctx, a, orderOf(n.Text, n.Prompt, n.When()))
	return job, refusalOfReminder(err)
}

// ChangeReminder implements api.Reminders.
func (j jobs) ChangeReminder(ctx context.Context, c api.ReminderChange) error {
	return refusalOfReminder(j.book.ChangeNamed(ctx, c.Name, orderOf(c.Text, c.Prompt, c.When())))
}

// CancelReminder implements api.Reminders.
func (j jobs) CancelReminder(ctx context.Context, name string) error {
	return j.book.CancelNamed(ctx, name)
}

// RestoreReminder implements api.Reminders.
func (j jobs) RestoreReminder(ctx context.Context, name string) error {
	return refusalOfReminder(j.book.RestoreNamed(ctx, name))
}

// asker is the caller of ctx as somebody who asks in k, a conversation of theirs.
func (j jobs) asker(ctx context.Context, k channels.Key) (reminders.Asker, error) {
	p, _ := people.From(ctx)
	a := reminders.Asker{Key: k, Person: channels.Person{Name: p.Name}, Private: true}
	if slices.Contains(j.d.people.Rooms(), k.Channel()) {
		a.Person.IDs = []string{people.RoomAuthor(p)}
		return a, nil
	}
	mine, err := j.d.reads.Mine(ctx, p)
	if err != nil {
		return a, err
	}
	for _, one := range mine {
		id, here := strings.CutPrefix(one, k.Channel()+":")
		if here {
			a.Person.IDs = append(a.Person.IDs, id)
		}
	}
	sight, err := j.d.reads.Of(ctx, p, k)
	a.Private = !sight.Group
	if err == nil && len(a.Person.IDs) == 0 {
		err = &respond.Refusal{Status: http.StatusUnprocessableEntity, Param: "key", Sentence: "Nobody knows who you are on that network. Write to it there first."}
	}
	return a, err
}
