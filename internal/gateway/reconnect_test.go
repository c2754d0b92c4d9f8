package gateway_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
)

// reporting is a network that reports its status.
type reporting struct {
	*network
	down atomic.Bool
}

func (r *reporting) Status() channels.Status {
	if r.down.Load() {
		return channels.Status{State: channels.StateDown}
	}
	return channels.Status{State: channels.StateConnected}
}

// Deliveries that failed without a connection are sent when there is one,
// however long their pauses have grown.
func TestConnectedMakesDue(t *testing.T) {
	for name, cause := range map[string]error{
		"not sent": &channels.NotSent{Err: errors.New("not connected")},
		"cut off":  errors.New("the connection was lost"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var net *reporting
				w := start(t, func(w *world, b *gateway.Binding, _ *gateway.Options) {
					net = &reporting{network: w.net}
					b.Channel = net
				})
				net.down.Store(true)
				w.net.failWith(func(channels.Outbound) error { return cause })
				for range 3 { // one outage after the other
					w.say("1", "hello")
					w.say("2", "hello")
					time.Sleep(10*time.Minute + 100*time.Millisecond)
					before := len(w.net.texts("1")) + len(w.net.texts("2"))
					w.net.failWith(nil)
					net.down.Store(false)
					time.Sleep(3 * time.Second)
					if got := len(w.net.texts("1")) + len(w.net.texts("2")) - before; got != 2 {
						t.Errorf("3 seconds after the connection was back %d of 2 answers are delivered", got)
					}
					net.down.Store(true)
					w.net.failWith(func(channels.Outbound) error { return cause })
				}
			})
		})
	}
}
