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

// While a network refuses the bot, answers wait; once it takes one again, the
// channel is run again by itself.
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

// A channel that failed rests until an operator says that something was mended.
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
