package gateway

import (
	"context"
	"errors"
	"fmt"

	"dragoman/sessions"
)

// gatherMost bounds how many waiting messages one turn answers together.
const gatherMost = 50

// handle works on one claimed key: it delivers what is due and runs turns
// until nothing is left to do. The store calls it, one call a key at a time.
func (g *Gateway) handle(ctx context.Context, c sessions.Claim) (err error) {
	defer recoverTo(&err, "work on "+c.Key.String())
	if g.opts.Partial && g.bindings[c.Key.Channel()] == nil {
		<-ctx.Done() // not ours
		return nil
	}
	if !g.busy.begin() {
		g.handedOver(ctx) // draining
		return nil
	}
	again, err := g.work(ctx, c)
	g.busy.end()
	switch {
	case errors.Is(err, sessions.ErrFenced) || errors.Is(context.Cause(ctx), sessions.ErrFenced):
		return nil // somebody else goes on from what the store says
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("gateway: %w", err)
	case again:
		g.handedOver(ctx) // draining, and the key has work left
	}
	return nil
}

// work alternates deliveries and turns. It stops early, reporting true, when
// the gateway drains: a turn that has ended is delivered, but none is begun.
func (g *Gateway) work(ctx context.Context, c sessions.Claim) (again bool, err error) {
	for {
		if err := g.deliver(ctx, c, func(left int) bool { return g.mayBegin(ctx, c, left) }); err != nil {
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
// wait it reads the inbox again: more may have come, and edits.
func (g *Gateway) turnInSlot(ctx context.Context, c sessions.Claim, p sessions.Pending) error {
	if !g.turns.TryAcquire(1) {
		if err := g.turns.Acquire(ctx, 1); err != nil {
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
		return nil // an edit came in between: the turn is run again, on the new text
	}
	return err
}
