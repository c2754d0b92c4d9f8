package app

import (
	"context"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/admission"
	"dragoman/internal/people"
	"dragoman/internal/usage"
	"dragoman/sessions"
)

// countTurn is what the commit of a turn adds to the sums of usage.
func (d *Daemon) countTurn(t admission.Turn, messages []sessions.Message) []sessions.Count {
	return usage.Turn{Person: t.Owner, Job: t.Job, Chat: t.Key, At: t.At.In(d.zone), Aside: t.ID == "", Messages: messages}.Counts()
}

// countGiven adds what a turn without a conversation used, for whoever asked. It is lost
// if the process dies before: there is no commit of the turn itself.
func (d *Daemon) countGiven(ctx context.Context, t agent.Turn, messages []sessions.Message) {
	who, _ := people.From(ctx)
	counts := usage.Turn{Person: who.ID, Chat: channels.Key{}, At: time.Now().In(d.zone), Messages: messages}.Counts()
	counts = append(counts, d.gateway.GivenCounts(ctx, t, messages)...)
	if err := d.store.Count(context.WithoutCancel(ctx), counts...); err != nil {
		d.log.Warn("what a turn used was not counted", "err", err)
	}
	d.turnEnded() // now it is counted
}
