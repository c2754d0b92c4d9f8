package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"

	"dragoman/sessions"
)

// maxGather bounds how many waiting messages one turn answers together.
const maxGather = 50

// handle works on one claimed key: it delivers what is due and runs turns until
// nothing is left to do. The store makes one call a key at a time.
func (g *Gateway) handle(ctx context.Context, c sessions.Claim) (err error) {
	defer recoverTo(&err, "work on "+c.Key.String())
	if g.opts.Partial && g.bindings[c.Key.Channel()] == nil {
		<-ctx.Done() // another process serves this channel
		return nil
	}
	if !g.busy.begin() {
		g.waitHandedOver(ctx) // draining
		return nil
	}
	more, err := g.work(ctx, c)
	g.busy.end()
	switch {
	case errors.Is(err, sessions.ErrFenced) || errors.Is(context.Cause(ctx), sessions.ErrFenced):
		return nil // the next claim continues from the store
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("gateway: %w", err)
	case more:
		g.waitHandedOver(ctx) // draining, and the key has work left
	}
	return nil
}

// work alternates deliveries and turns. While the gateway drains it delivers
// the answer of a turn that has ended and begins no other; more reports that
// the key may have work left.
func (g *Gateway) work(ctx context.Context, c sessions.Claim) (more bool, err error) {
	for {
		if err := g.deliver(ctx, c, func(left int) bool { return g.mayBeginTurn(ctx, c, left) }); err != nil {
			return false, err
		}
		if g.busy.closed() {
			return true, nil
		}
		p, err := g.pending(ctx, c)
		if err != nil {
			return false, err
		}
		if len(p.Messages) == 0 {
			return false, nil
		}
		if err := g.turnInSlot(ctx, c, p); err != nil {
			return false, err
		}
	}
}

// turnInSlot runs a turn when one of Options.MaxTurns slots is free. After a
// wait it reads the inbox again, because messages and edits may have come.
func (g *Gateway) turnInSlot(ctx context.Context, c sessions.Claim, p sessions.Pending) error {
	if !g.turns.TryAcquire(1) {
		if err := g.waitForSlot(ctx); err != nil {
			return err
		}
		var err error
		if p, err = g.pending(ctx, c); err != nil || len(p.Messages) == 0 {
			g.turns.Release(1)
			return err
		}
	}
	defer g.turns.Release(1)
	err := g.turn(ctx, c, p)
	if errors.Is(err, sessions.ErrConflict) {
		return nil // an edit came in between: the turn runs again on the new text
	}
	return err
}

// waitForSlot takes one of Options.MaxTurns slots when it is free.
func (g *Gateway) waitForSlot(ctx context.Context) error {
	g.slotWaits.Add(1)
	defer g.slotWaits.Add(-1)
	return g.turns.Acquire(ctx, 1)
}

// WaitingTurns is how many turns wait for one of Options.MaxTurns slots.
func (g *Gateway) WaitingTurns() int { return int(g.slotWaits.Load()) }

// pending reads the messages that c answers next. With Each an album counts as
// one message.
func (g *Gateway) pending(ctx context.Context, c sessions.Claim) (sessions.Pending, error) {
	p, err := g.store.Pending(ctx, c, maxGather)
	if err != nil {
		return p, fmt.Errorf("read the inbox of %s: %w", c.Key, err)
	}
	if g.opts.Queue == Collect && p.Turn == "" {
		p = g.onlyFirstAsker(c.Key, p)
	}
	if g.opts.Queue == Each && p.Turn == "" && len(p.Messages) > 1 {
		n, album := 1, p.Messages[0].Inbound.Album
		for album != "" && n < len(p.Messages) && p.Messages[n].Inbound.Album == album {
			n++
		}
		p.More += len(p.Messages) - n
		p.Messages = p.Messages[:n]
	}
	return p, nil
}

// recoverTo turns a panic into an error at *err, so that one worker's bug does
// not end the others. The stack names functions and lines, never chat text. The
// value may contain chat text, unless the runtime made it.
func recoverTo(err *error, what string) {
	if r := recover(); r != nil {
		value := fmt.Sprintf("%T", r)
		if e, ok := r.(runtime.Error); ok {
			value = e.Error()
		}
		*err = fmt.Errorf("gateway: %s panicked: %s\n%s", what, value, debug.Stack())
	}
}

// delay is the wait before retry n, counted from 0: base, doubled each time up
// to most, and up to a quarter more as jitter.
func delay(base, most time.Duration, n int) time.Duration {
	d := most
	if n < 30 && base<<n < most {
		d = base << n
	}
	return d + rand.N(d/4+1)
}

// sleep waits for d. It reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
