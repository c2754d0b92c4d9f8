package irc

import (
	"context"
	"log/slog"
	"time"

	"dragoman/channels"
)

// intakeSize is how many messages may wait for the store. It takes a chatty
// network with a store that is down for minutes to fill it.
const intakeSize = 1024

// lastChance is what waiting messages get when Run ends.
const lastChance = time.Second

// intake hands messages in, one after the other, so that the loop, which must
// answer the server's PINGs, never waits for a disk.
type intake struct {
	in      channels.Intake
	log     *slog.Logger
	queue   chan channels.Inbound
	dropped int // only the loop counts
}

// put never blocks. When the queue is full the message is lost, which is said
// as an error, because IRC has nothing to hold it back with.
func (q *intake) put(m channels.Inbound) {
	select {
	case q.queue <- m:
	default:
		q.dropped++
		q.log.Error("message dropped: the store refused it for too long", "key", m.Key.String(), "dropped", q.dropped)
	}
}

// run hands in until the queue is closed. When ctx ends, what waits is lost.
func (q *intake) run(ctx context.Context) {
	lost := 0
	for m := range q.queue {
		if !q.handIn(ctx, m) {
			lost++
		}
	}
	if lost > 0 {
		q.log.Error("messages lost at the end: the store refused them", "dropped", lost)
	}
}

// handIn repeats until m is stored or ctx ends.
func (q *intake) handIn(ctx context.Context, m channels.Inbound) bool {
	for tries := (channels.Backoff{Least: 50 * time.Millisecond, Most: 5 * time.Second}); ctx.Err() == nil; {
		err := q.in.Accept(ctx, m)
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			q.log.Warn("message not accepted; will try again", "key", m.Key.String(), "msg_id", m.ID, "err", err)
			channels.Sleep(ctx, tries.Next())
		}
	}
	return false
}
