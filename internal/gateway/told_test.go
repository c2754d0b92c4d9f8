package gateway_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/internal/gateway"
	"dragoman/internal/stream"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// audience is whoever listens, or does not.
type audience struct {
	mu      sync.Mutex
	watched bool
	told    []string
}

func (a *audience) Publish(e stream.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e.Event {
	case stream.TurnBegun, stream.Text, stream.Thought, stream.ToolBegun, stream.ToolEnded:
		told := string(e.Event) + " " + e.Text + e.Tool + " " + e.Call + " " + e.Why
		if e.Offset > 0 {
			told += fmt.Sprintf("at %d", e.Offset)
		}
		a.told = append(a.told, told)
	}
}

func (a *audience) Watched(channels.Key, stream.Name) bool { return a.watched }

// A listener reads a turn while it runs: each piece of text once, and which tools ran.
func TestListenersReadARunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &audience{watched: true}
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Events = heard })
		run := func(ctx context.Context, turn agent.Turn) (string, error) {
			turn.Progress(agent.Progress{Text: "Let me 😀"})
			turn.Progress(agent.Progress{Text: "Let me 😀 look."})
			if _, text := w.gw.Saying(turn.Key); text != "Let me 😀 look." {
				t.Errorf("Saying = %q, want what was published", text)
			}
			// The model reached it by another tool.
			asked := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "c1", Name: "caller"}}}
			for _, s := range []sessions.Step{
				{Kind: sessions.StepModel, Message: &asked, At: time.Now()},
				{Kind: sessions.StepToolStart, CallID: "c1", Tool: "time", At: time.Now()},
				{Kind: sessions.StepToolDone, CallID: "c1", Message: &sessions.Message{Role: sessions.RoleTool, Name: "time", ToolCallID: "c1"}, At: time.Now()},
			} {
				if err := turn.Record(ctx, s); err != nil {
					return "", err
				}
			}
			turn.Progress(agent.Progress{Text: "Let me 😀 look.", Note: "time …"})
			turn.Progress(agent.Progress{Text: "It is noon."})
			turn.Progress(agent.Progress{Text: "It is noon. So"})
			return "It is noon.", nil
		}
		w.agent.run = run
		said := w.say("1", "what time is it")
		synctest.Wait()
		want := []string{
			"turn_begun   ", "text Let me 😀  ", "text  look.  at 9", "tool_begun time c1 ", "tool_ended time c1 ", "text It is noon.  anew", "text  So  at 11",
		}
		if diff := cmp.Diff(want, heard.told); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if turn, text := w.gw.Saying(said.Key); turn+text != "" {
			t.Errorf("Saying after the turn = %q, %q", turn, text)
		}
		heard.told, heard.watched = nil, false
		w.say("1", "and now")
		synctest.Wait()
		if diff := cmp.Diff([]string{"turn_begun   "}, heard.told); diff != "" {
			t.Errorf("events while nobody listens (-want +got):\n%s", diff)
		}
	})
}
