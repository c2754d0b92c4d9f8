package gateway_test

import (
	"context"
	"testing"
	"testing/synctest"

	"dragoman/internal/gateway"
)

// A channel that each node runs needs no lease.
func TestEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
			b.Everywhere = true
			held := make(chan struct{})
			go func() { // as another node would
				_ = w.store.Hold(t.Context(), "channel:net", func(ctx context.Context) error { close(held); <-ctx.Done(); return nil })
			}()
			<-held
		})
		w.say("1", "hello")
		w.expect("1", "echo hello")
	})
}
