package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
)

// elsewherePause is for how long a node leaves a channel to another program
// that has taken its connection, about as long as a dead node keeps its leases.
const elsewherePause = 10 * time.Second

// errRetryNow ends a channel's Run, so that it is run again at once.
var errRetryNow = errors.New("gateway: the channel was asked to try at once")

// superviseChannel runs a channel again whenever it stops early: after a pause,
// or, if a person has to act first, when Revive is called.
func (g *Gateway) superviseChannel(ctx context.Context, b *binding) {
	log := g.opts.Logger.With("channel", b.Channel.Name())
	stops := 0 // in a row
	for ctx.Err() == nil {
		began := g.opts.Now()
		b.setStatus(began, channels.StateConnected, "") // a Reporter refines it, see currentStatus
		err := g.runChannel(ctx, b)
		if g.opts.Now().Sub(began) > time.Minute {
			stops = 0
		}
		var due <-chan time.Time
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errRetryNow):
			continue
		case errors.Is(err, channels.ErrElsewhere):
			due = time.After(elsewherePause)
			b.setStatus(g.opts.Now(), channels.StateDown, err.Error())
			log.Warn("channel let go: another program uses its connection", "err", err, "in", elsewherePause)
		case errors.Is(err, channels.ErrPermanent):
			b.setStatus(g.opts.Now(), channels.StateFailed, err.Error())
			log.Error("channel failed; someone must act", "err", err)
		default:
			d := delay(time.Second, time.Minute, stops)
			stops++
			due = time.After(d)
			b.setStatus(g.opts.Now(), channels.StateDown, fmt.Sprintf("stopped, starts again in %s", d.Round(time.Second)))
			log.Warn("channel stopped; starting it again", "err", err, "in", d)
		}
		select {
		case <-due:
		case <-b.revive:
		case <-ctx.Done():
			return
		}
	}
}

// runChannel runs a channel, under its lease if it has one. It turns a panic
// into an error, so that one bad adapter does not end the others.
func (g *Gateway) runChannel(ctx context.Context, b *binding) error {
	run := func(ctx context.Context) (err error) {
		defer recoverTo(&err, "channel "+b.Channel.Name())
		if _, able := b.Channel.(channels.Reviver); able {
			return b.Channel.Run(ctx, intake{g, b})
		}
		ctx, end := context.WithCancelCause(ctx)
		var watching sync.WaitGroup
		watching.Go(func() {
			select {
			case <-b.revive:
				end(errRetryNow)
			case <-ctx.Done():
			}
		})
		defer watching.Wait()
		defer end(nil)
		err = b.Channel.Run(ctx, intake{g, b})
		if context.Cause(ctx) == errRetryNow {
			return errRetryNow
		}
		return err
	}
	if b.Everywhere {
		return run(ctx)
	}
	return g.store.Hold(ctx, leaseOf(b.Channel.Name()), func(ctx context.Context) error {
		b.held.Store(true)
		defer b.held.Store(false)
		return run(ctx)
	})
}

func (b *binding) setStatus(now time.Time, s channels.State, detail string) {
	b.mu.Lock()
	b.status = channels.Status{State: s, Detail: detail, Since: now}
	b.mu.Unlock()
}

// currentStatus is the status of the channel on the node that runs it.
func (b *binding) currentStatus() channels.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.elsewhere() {
		if st, known := b.remote.lastState(); known || !b.status.Trouble() {
			return st
		}
		return b.status // why this node does not run it
	}
	r, ok := b.Channel.(channels.Reporter)
	if !ok {
		return b.status
	}
	own := r.Status()
	// The channel describes its failure in a sentence, which its error does not.
	if b.status.State == channels.StateConnected || b.status.State == channels.StateFailed && own.State == channels.StateFailed {
		return own
	}
	return b.status
}

// Revive asks every channel that does not work, on every node, to try at once,
// because an operator has fixed something.
func (g *Gateway) Revive() {
	g.reviveOwn()
	if g.opts.Peers == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stateCallLimit)
	defer cancel()
	if _, err := g.opts.Peers.Call(ctx, sessions.Peer{All: true}, callRevive, nil); err != nil {
		g.opts.Logger.Warn("cannot ask other nodes to try again", "err", err)
	}
}

func (g *Gateway) reviveOwn() {
	for _, b := range g.bindings {
		if b.elsewhere() {
			continue
		}
		if r, able := b.Channel.(channels.Reviver); able {
			r.Revive()
		}
		if b.currentStatus().Trouble() {
			signal(b.revive)
		}
	}
}

// reviveIfFailed is called after a delivery. A channel that had failed, because
// its network refused the bot, can run again.
func (b *binding) reviveIfFailed() {
	if !b.elsewhere() && b.currentStatus().State == channels.StateFailed {
		signal(b.revive)
	}
}
