package gateway_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/gateway"
)

// A join moves a delivery to another conversation while it is being sent: the
// next claim waits for the outcome, and nothing is sent twice.
func TestJoinWhileSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			w.net.slow = func(context.Context) error {
				calls++
				if calls == 1 {
					time.Sleep(5 * time.Second)
				}
				return nil
			}
		})
		w.say("1", "hello")
		time.Sleep(time.Second)
		synctest.Wait()
		if err := w.in.(channels.Joiner).Join(t.Context(), channels.MustKey("net:1"), channels.MustKey("net:2")); err != nil {
			t.Fatal(err)
		}
		w.say("2", "and this")
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := w.seen.get("repeated"); n != 0 || calls != 2 {
			t.Errorf("%d messages went out again, and %d were sent, want 0 and 2: %q %q", n, calls, w.net.texts("1"), w.net.texts("2"))
		}
		if st, err := w.mem.Stats(t.Context()); err != nil || st.Unsent != 0 {
			t.Errorf("Stats = %+v, %v", st, err)
		}
	})
}
