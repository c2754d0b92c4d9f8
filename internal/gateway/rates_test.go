package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/channels"
	"dragoman/internal/gateway"
)

// TestRateOfNobody: people for whom the network does not vouch share one limit
// in each chat.
func TestRateOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, b *gateway.Binding, o *gateway.Options) { o.RatePerMinute, b.Allow = 2, []string{"*"} })
		write := func(chat, name string) {
			m := w.message(chat, "hello")
			m.Sender = channels.Person{Name: name}
			if err := w.in.Accept(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			write("1", "Group")
			write("1", "Another name is nobody else")
		}
		write("2", "Group")
		w.say("3", "hello")
		synctest.Wait()
		for chat, want := range map[string]bool{"1": true, "2": false, "3": false} {
			refused := strings.Contains(strings.Join(w.net.texts(chat), "\n"), "more than 2 messages in a minute")
			if refused != want {
				t.Errorf("chat %s was refused for its rate: %v, want %v; it got %q", chat, refused, want, w.net.texts(chat))
			}
		}
	})
}
