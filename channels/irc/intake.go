package irc

import (
	"context"
	"log/slog"
	"time"

	"dragoman/channels"
)

// intakeCapacity is how many messages may wait for the store. Only a busy network
// and a store that is down for minutes fill it.
const intakeCapacity = 1024

// drainTime is how long queued messages may still be stored after Run's context ends.
const drainTime = time.Second

// intake hands messages to the gateway, one after the other, so that the loop,
// which must answer the server's PINGs, never waits for a disk.
type intake struct {
	in      channels.Intake
	log     *slog.Logger
	queue   chan channels.Inbound
	dropped int // only the loop counts
}

// put never blocks. When the queue is full it drops m and logs an error, because
// IRC cannot be told to wait.
func (q *intake) put(m channels.Inbound) {
	select {
	case q.queue <- m:
	default:
		q.dropped++
		q.log.Error("message dropped: the store refused it for too long", "key", m.Key.String(), "dropped", q.dropped)
	}
}

// run works until the queue is closed. Messages still queued when ctx ends are lost.
func (q *intake) run(ctx context.Context) {
	lost := 0
	for m := range q.queue {
		if !q.acceptWithRetry(ctx, m) {
			lost++
		}
	}
	if lost > 0 {
		q.log.Error("messages lost at shutdown: the store refused them", "dropped", lost)
	}
}

func (q *intake) acceptWithRetry(ctx context.Context, m channels.Inbound) bool {
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
