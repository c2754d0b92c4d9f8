package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
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

// TestRateComesBack: over the limit, one message more is allowed after a share of a minute,
// and asking too early costs nothing.
func TestRateComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.RatePerMinute = 2 })
		given := func() error {
			_, err := w.gw.Given(t.Context(), agent.Turn{
				ID: "t", Key: channels.MustKey("api:operator"), Person: channels.Person{IDs: []string{"operator"}},
				Input: []sessions.Message{{Role: sessions.RoleUser, Content: "hello"}}, Given: &agent.Given{},
			})
			return err
		}
		var refused *gateway.RefusedError
		for n, want := range []bool{false, false, true, true} {
			is := errors.As(given(), &refused)
			if is != want {
				t.Errorf("request %d is refused: %v, want %v", n, is, want)
			}
		}
		if refused == nil || !refused.Later || refused.After != 30*time.Second {
			t.Fatalf("the refusal is %+v, want one for 30 s", refused)
		}
		time.Sleep(refused.After)
		if errors.As(given(), &refused) {
			t.Error("the request is refused half a minute later")
		}
	})
}
