package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// TestMaxMessagesTwice: if the first summary leaves too many messages, because
// another one was made before it, the second keeps none of the history.
func TestMaxMessagesTwice(t *testing.T) {
	m := newScript(t, say("ok"))
	a := newAgent(t, m, agent.Options{Compaction: windowed()}) // shows at most 20, keeps at most 10 in whole turns
	turn := turnOf("what now?")
	turn.History = sessions.History{Generation: "g", Messages: talk(40)}
	var keeps []string
	turn.Compact = func(_ context.Context, keep *window.Keep) (sessions.History, error) {
		keeps = append(keeps, fmt.Sprint(keep.Unit, " ", keep.N))
		h := turn.History
		left := 30 - 30*(len(keeps)-1)
		h.Messages = h.Messages[len(h.Messages)-left:]
		h.Summary = &sessions.Summary{Text: "They talked.", CoversSeq: 101, Generation: "g"}
		return h, nil
	}
	run(t, a, turn)
	want := []string{fmt.Sprint(window.UnitMessages, " 9"), fmt.Sprint(window.UnitMessages, " 0")}
	if !slices.Equal(keeps, want) {
		t.Errorf("summaries were asked to keep %q, want %q", keeps, want)
	}
}

// TestCutGroupAfterCompaction: a history that is loaded again in the middle of a turn
// may begin with results whose calls were not loaded. They count as left out, as at
// the beginning of a turn.
func TestCutGroupAfterCompaction(t *testing.T) {
	m := newScript(t, say("ok"))
	a := newAgent(t, m, agent.Options{Compaction: windowed()})
	turn := turnOf("what now?")
	turn.History = sessions.History{Generation: "g", Messages: talk(40)}
	turn.Compact = func(context.Context, *window.Keep) (sessions.History, error) {
		h := turn.History
		h.Omitted, h.Messages = 28, slices.Clone(h.Messages[28:])
		for i := range 2 {
			h.Messages[i].Role, h.Messages[i].ToolCallID = sessions.RoleTool, fmt.Sprint("call_", i)
		}
		return h, nil
	}
	res := runUnsummarised(t, a, turn)
	requests := m.requests()
	first := requests[len(requests)-1].Messages[0].Content
	if res.Unaccounted != 30 || !strings.Contains(first, "30 earlier messages") {
		t.Errorf("Unaccounted = %d, and the request begins with %q; want 30 earlier messages left out", res.Unaccounted, first)
	}
}
