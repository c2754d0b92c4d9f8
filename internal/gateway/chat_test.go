package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
)

// allowUpTo lets the people 0 to n-1 talk.
func allowUpTo(n int) change {
	return func(_ *world, b *gateway.Binding, _ *gateway.Options) {
		b.Allow = nil
		for i := range n {
			b.Allow = append(b.Allow, fmt.Sprint(i))
		}
	}
}

// A conversation in which nothing happens any more needs no memory, however its turns ended.
func TestQuietChatsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, allowUpTo(40))
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			switch inputs(turn) {
			case "fail":
				return "", &agent.ModelError{Kind: agent.ErrorContext, Err: errors.New("too long")}
			case "later":
				if time.Until(turn.Until) > 9*time.Minute {
					return "", &agent.ModelError{Kind: agent.ErrorTemporary, Cause: agent.CauseUnreachable, Err: errors.New("away")}
				}
			case "long":
				time.Sleep(time.Minute)
				return strings.Repeat("a line\n", 5000), ctx.Err()
			}
			return "well", nil
		}
		for i := range 40 {
			w.say(fmt.Sprint(i), []string{"answer", "fail", "later", "long"}[i%4])
		}
		time.Sleep(30 * time.Second)
		for i := 3; i < 40; i += 8 {
			w.say(fmt.Sprint(i), "/stop")
		}
		if gateway.Chats(w.gw) == 0 {
			t.Error("nothing is known while turns run")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := gateway.Chats(w.gw); n != 0 {
			t.Errorf("%d chats are remembered after an hour of silence, want none", n)
		}
	})
}

// Refusals are remembered, but not everybody's for ever.
func TestRefusalsAreBounded(t *testing.T) {
	var keys []channels.Key
	for i := range gateway.MaxChatsKept + 500 {
		k, err := channels.NewKey("net", fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	remembered := gateway.Refused(keys)
	if most := slices.Max(remembered); most != gateway.MaxChatsKept {
		t.Errorf("at most %d refusals were remembered, want %d", most, gateway.MaxChatsKept)
	}
	if last := remembered[len(remembered)-1]; last != 500 {
		t.Errorf("%d refusals are remembered at the end, want the last 500", last)
	}
}
