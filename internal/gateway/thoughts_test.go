package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
)

// thinking thinks for four seconds, a thought each 100 ms, and then answers.
func thinking(ctx context.Context, turn agent.Turn) (string, error) {
	for i := range 40 {
		if turn.Thoughts != nil {
			turn.Thoughts(fmt.Sprintf("thought %d. ", i))
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "answer", ctx.Err()
}

func TestThoughtsAreShownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.net.thinks = true
		w.agent.run = thinking
		w.say("1", "think")
		time.Sleep(time.Minute)
		w.expect("1", "answer")
		w.net.mu.Lock()
		defer w.net.mu.Unlock()
		var all strings.Builder
		for _, p := range w.net.previews {
			if p.Text != "" || p.Thoughts == "" {
				t.Errorf("preview = %+v, want thoughts alone", p)
			}
			all.WriteString(p.Thoughts)
		}
		if got := all.String(); !strings.HasPrefix(got, "thought 0. thought 1. ") || strings.Count(got, "thought 9. ") != 1 || len(w.net.previews) < 3 {
			t.Errorf("%d previews show %q, want each thought once", len(w.net.previews), got)
		}
	})
}

// Thoughts that no preview could show yet are bounded.
func TestThoughtsThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.net.thinks = true
		w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) {
			for range 1000 {
				turn.Thoughts(strings.Repeat("x", 1000))
			}
			turn.Thoughts("the last")
			time.Sleep(5 * time.Second)
			return "answer", nil
		}
		w.say("1", "think")
		time.Sleep(time.Minute)
		w.net.mu.Lock()
		defer w.net.mu.Unlock()
		if got := w.net.previews[0].Thoughts; len(got) != channels.MostThoughts || !strings.HasSuffix(got, "xthe last") {
			t.Errorf("the first preview has %d bytes of thoughts, want the last %d", len(got), channels.MostThoughts)
		}
	})
}

func TestOtherChannelsGetNoThoughts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.agent.run = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Thoughts != nil {
				t.Error("the agent is asked for thoughts that the channel does not show")
			}
			return thinking(ctx, turn)
		}
		w.say("1", "think")
		time.Sleep(time.Minute)
		w.expect("1", "answer")
		if n := len(w.net.previews); n > 0 {
			t.Errorf("%d previews of an answer without text, want none", n)
		}
	})
}
