package app

import (
	"context"

	"dragoman/channels"
	"dragoman/internal/actions"
	"dragoman/internal/api"
	"dragoman/internal/people"
	"dragoman/internal/reminders"
)

// newReminders makes the book of what people asked to be reminded of.
func (d *Daemon) newReminders() *reminders.Book {
	return reminders.New(d.store, reminders.Options{
		Zone: d.zone, Approves: d.approves,
		Together: func(ctx context.Context, identity string) ([]string, error) { return d.people.Together(ctx, identity) },
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
}

// Jobs implements api.Scheduler.
func (j jobs) Jobs(ctx context.Context) ([]api.Job, error) {
	list, err := j.beats.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	all, err := j.book.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		job := api.Job{Name: e.Job, Schedule: e.Repeat, Target: e.Key.String(), Next: e.Due, Paused: e.Paused}
		last, err := j.store.Occurrences(ctx, e.Job, 1)
		if err != nil {
			return nil, err
		}
		if len(last) > 0 {
			job.Last = new(api.Occurrence(last[0]))
		}
		list = append(list, job)
	}
	return list, nil
}
