package gateway_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
)

// refusedOnce is a channel whose server refuses the first login.
type refusedOnce struct {
	*network
	runs atomic.Int32
}

func (c *refusedOnce) Run(ctx context.Context, in channels.Intake) error {
	if c.runs.Add(1) == 1 {
		c.intake <- in // for the world, which waits for it
		return fmt.Errorf("net: no such account: %w", channels.ErrPermanent)
	}
	return c.network.Run(ctx, in)
}

// While a network refuses the bot, answers wait. Once it accepts one again, the
// channel is run again.
func TestRefusedBotHoldsItsOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *refusedOnce
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
			c = &refusedOnce{network: w.net}
			b.Channel = c
			w.net.failWith(func(channels.Outbound) error {
				return &channels.NotSent{Err: fmt.Errorf("net: the token is refused")}
			})
		})
		w.say("1", "hello")
		time.Sleep(time.Hour)
		if got := w.seen.get("delivered net dead"); got != 0 {
			t.Errorf("%d answers are dead, want them to wait", got)
		}
		w.net.failWith(nil)
		time.Sleep(time.Minute)
		w.expect("1", "echo hello")
		if got := w.gw.Channels()["net"].State; got != channels.StateConnected {
			t.Errorf("the channel is %s, want it to run again", got)
		}
	})
}

// pausing is a channel that makes an attempt an hour and works from the third one on.
type pausing struct {
	*network
	attempts atomic.Int32
	state    atomic.Value
}

func (c *pausing) Status() channels.Status {
	return channels.Status{State: c.state.Load().(channels.State)}
}

func (c *pausing) Run(ctx context.Context, in channels.Intake) error {
	if c.attempts.Load() == 0 {
		c.intake <- in // for the world, which waits for it
	}
	for c.attempts.Add(1) < 3 {
		c.state.Store(channels.StateDown)
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
			return nil
		}
	}
	c.state.Store(channels.StateConnected)
	return c.network.Run(ctx, in)
}

// A channel that waits for its next attempt makes it when Revive is called; one
// that works is left alone.
func TestReviveWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &pausing{}
		c.state.Store(channels.StateConnecting)
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
			c.network = w.net
			b.Channel = c
		})
		for attempt := int32(1); attempt <= 3; attempt++ {
			synctest.Wait()
			if got := c.attempts.Load(); got != attempt {
				t.Errorf("%d attempts, want %d", got, attempt)
			}
			w.gw.Revive()
		}
		time.Sleep(time.Minute)
		if got := c.attempts.Load(); got != 3 {
			t.Errorf("%d attempts, want 3: it worked", got)
		}
		w.say("1", "hello")
		time.Sleep(time.Minute)
		w.expect("1", "echo hello")
	})
}

// stopping is a channel whose Run ends at once the first times.
type stopping struct {
	*network
	runs atomic.Int32
}

func (c *stopping) Run(ctx context.Context, in channels.Intake) error {
	switch n := c.runs.Add(1); {
	case n == 1:
		c.intake <- in
		fallthrough
	case n < 20:
		return fmt.Errorf("net: the server is away")
	}
	return c.network.Run(ctx, in)
}

// Revive also ends the pause after which a stopped channel is run again.
func TestReviveAfterItStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &stopping{}
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
			c.network = w.net
			b.Channel = c
		})
		time.Sleep(5 * time.Minute)
		before := c.runs.Load()
		w.gw.Revive()
		synctest.Wait()
		if got := c.runs.Load(); got != before+1 {
			t.Errorf("it ran %d times after Revive and %d before, want one more at once", got, before)
		}
	})
}

// A failed channel rests until Revive is called.
func TestRevive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *refusedOnce
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
			c = &refusedOnce{network: w.net}
			b.Channel = c
		})
		time.Sleep(time.Hour)
		if got := w.gw.Channels()["net"].State; got != channels.StateFailed || c.runs.Load() != 1 {
			t.Errorf("after an hour the channel is %s and ran %d times, want failed after one", got, c.runs.Load())
		}
		w.gw.Revive()
		time.Sleep(time.Second)
		w.say("1", "hello")
		time.Sleep(time.Minute)
		w.expect("1", "echo hello")
	})
}
