package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/people"
	"dragoman/sessions"
)

// What is known about a person is in the prompt of their private chat, beside
// the channel's part, and in no group's. If it cannot be read, the message
// waits.
func TestPromptOfAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		w := start(t, func(_ *world, b *gateway.Binding, o *gateway.Options) {
			b.Groups, b.System = people.All, func(string, bool) string { return "channel" }
			o.Known = func(_ context.Context, k channels.Key, p channels.Person, _ string) (string, []sessions.Origin, error) {
				if broken {
					broken = false
					return "", nil, errors.New("the store is broken")
				}
				return "about " + p.ID(), []sessions.Origin{"web"}, nil
			}
		})
		w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) {
			return strings.TrimSpace(turn.System + "|" + turn.Known), nil
		}
		w.say("1", "hello")
		w.expect("1")
		time.Sleep(time.Minute)
		w.expect("1", "channel|about 1")
		asked := w.agent.asked()
		if got := asked[len(asked)-1].KnownOrigins; !slices.Equal(got, []sessions.Origin{"web"}) {
			t.Errorf("the prompt's origins are %v, want those of the facts", got)
		}
		m := w.message("2", "hello")
		m.Private, m.Addressed = false, true
		if err := w.in.Accept(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		w.expect("2", "channel|")
	})
}
