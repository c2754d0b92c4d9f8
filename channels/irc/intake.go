package irc

import (
	"context"
	"log/slog"
	"sync"
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
	ended   chan struct{}
	once    sync.Once
	dropped int // only the loop counts
}

func newIntake(log *slog.Logger, in channels.Intake) *intake {
	return &intake{in: in, log: log, queue: make(chan channels.Inbound, intakeSize), ended: make(chan struct{})}
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

// finish says that no further message comes.
func (q *intake) finish() { q.once.Do(func() { close(q.ended) }) }

// run hands in until ctx has ended and finish was called. What waits then is
// tried for a last second.
func (q *intake) run(ctx context.Context) {
	for {
		select {
		case m := <-q.queue:
			if q.handIn(ctx, m) {
				continue
			}
			<-q.ended
			q.flush(ctx, m)
			return
		case <-q.ended:
			q.flush(ctx)
			return
		}
	}
}

func (q *intake) flush(ctx context.Context, rest ...channels.Inbound) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastChance)
	defer cancel()
	lost := 0
	for {
		var m channels.Inbound
		if len(rest) > 0 {
			m, rest = rest[0], nil
		} else {
			select {
			case m = <-q.queue:
			default:
				if lost > 0 {
					q.log.Error("messages lost at the end: the store refused them", "dropped", lost)
				}
				return
			}
		}
		if ctx.Err() != nil || !q.handIn(ctx, m) {
			lost++
		}
	}
}

// handIn repeats until m is stored or ctx ends.
func (q *intake) handIn(ctx context.Context, m channels.Inbound) bool {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := q.in.Accept(ctx, m)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		q.log.Warn("message not accepted; will try again", "key", m.Key.String(), "msg_id", m.ID, "err", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}
