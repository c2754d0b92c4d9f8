package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/sessions"
)

// Whoever converses sees the answer grow, and their program's instructions are part of
// the turn's prompt, not of the conversation.
func TestConverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, _ *gateway.Options) {
			w.agent.run = func(_ context.Context, turn agent.Turn) (string, error) {
				turn.Progress(agent.Progress{Text: "half"})
				return "half and half", nil
			}
		})
		k := channels.MustKey("net:42")
		var seen []string
		got, err := w.gw.Converse(t.Context(), gateway.Question{
			Key: k, ID: "q1", Text: "hello", Instructions: "Speak French.", Show: func(p agent.Progress) { seen = append(seen, p.Text) },
		})
		if err != nil || got.Text != "half and half" || got.Turn == "" {
			t.Errorf("Converse = %+v, %v", got, err)
		}
		synctest.Wait()
		if strings.Join(seen, ",") != "half" {
			t.Errorf("seen: %q", seen)
		}
		turn := w.agent.turns[0]
		if !strings.Contains(turn.System, "Speak French.") || turn.Input[0].Content != "hello" || turn.Input[0].Via != channels.ViaAPI {
			t.Errorf("prompt %q, input %+v", turn.System, turn.Input[0])
		}
	})
}

// A given turn takes a slot, and none begins while the gateway stops.
func TestGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
			o.MaxTurns = 1
			w.agent.run = func(ctx context.Context, _ agent.Turn) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}
			w.agent.audit = nil
		})
		ctx, hangUp := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := w.gw.Given(ctx, agent.Turn{ID: "given"})
				ended <- err
			}()
		}
		synctest.Wait()
		if n := len(w.agent.asked()); n != 1 {
			t.Errorf("%d turns run, want the one that has the slot", n)
		}
		hangUp()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Given = %v, want its context's end", err)
			}
		}
		w.close()
		if _, err := w.gw.Given(t.Context(), agent.Turn{}); !errors.Is(err, gateway.ErrStopping) {
			t.Errorf("Given of a gateway that stops = %v", err)
		}
		if list, err := w.mem.Find(t.Context(), sessions.Query{Limit: 1}); err != nil || len(list) != 0 {
			t.Errorf("conversations %v, %v, want none", list, err)
		}
	})
}
