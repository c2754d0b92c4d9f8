package reminders

import (
	"context"

	"dragoman/agent"
	"dragoman/heartbeat"
	"dragoman/sessions"
)

// The methods of this file are those of agent/tools.Reminders and of
// internal/gateway.Reminders.

// askerOf is who makes the call c, by way of a model.
func askerOf(c agent.Call) Asker {
	return Asker{Key: c.Key, Person: c.Person, Private: c.Private, Taint: c.Taint, Model: true}
}

// Schedule is Make for a model.
func (b *Book) Schedule(ctx context.Context, c agent.Call, o heartbeat.Order) (said string, err error) {
	return b.Make(ctx, askerOf(c), o)
}

// ListJobs is List for a model. It marks the call with whose words the list has.
func (b *Book) ListJobs(ctx context.Context, c agent.Call) (said string, err error) {
	a := askerOf(c)
	list, err := b.visible(ctx, a, readAll)
	if err != nil {
		return "", err
	}
	for _, r := range list {
		mark(c, r)
	}
	return b.lines(ctx, a, list), nil
}

// ChangeJob is Change for a model.
func (b *Book) ChangeJob(ctx context.Context, c agent.Call, id string, o heartbeat.Order) (said string, err error) {
	return b.Change(ctx, askerOf(c), id, o)
}

// CancelJob is Cancel for a model. The result has the words of what was cancelled.
func (b *Book) CancelJob(ctx context.Context, c agent.Call, id string) (said string, err error) {
	a := askerOf(c)
	found, err := b.find(ctx, a, id)
	if err != nil {
		return "", err
	}
	mark(c, found)
	return b.Cancel(ctx, a, id)
}

// RestoreJob is Restore for a person's command.
func (b *Book) RestoreJob(ctx context.Context, c agent.Call, id string) (said string, err error) {
	return b.Restore(ctx, askerOf(c), id)
}

// mark says whose words the words of r are.
func mark(c agent.Call, r reminder) {
	c.Mark(r.Origins...)
	if !r.Maker.Is(c.Person) {
		c.Mark(sessions.OriginOthers)
	}
}

// SnoozeJob is Snooze for a person's command.
func (b *Book) SnoozeJob(ctx context.Context, c agent.Call, id, until string) (said string, err error) {
	a := askerOf(c)
	a.Model = false
	return b.Snooze(ctx, a, id, until)
}

// MaySnooze is CanSnooze for a person's words.
func (b *Book) MaySnooze(ctx context.Context, c agent.Call) (bool, error) {
	return b.CanSnooze(ctx, askerOf(c))
}

// Mine are the accounts of whoever calls, that under which they call first.
func (b *Book) Mine(ctx context.Context, c agent.Call) (owners []string, err error) {
	return b.owners(ctx, askerOf(c))
}

// KeepZone is SetZone for a person's command.
func (b *Book) KeepZone(ctx context.Context, c agent.Call, name string) (said string, err error) {
	a := askerOf(c)
	zone, moved, err := b.SetZone(ctx, a, name)
	if err != nil {
		return "", err
	}
	return "From now on I take the times that you say as those of " + zone.String() + "." + b.sayMoved(ctx, a, moved, ""), nil
}
