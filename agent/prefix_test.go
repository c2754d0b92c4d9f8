package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/channels"
	"dragoman/sessions"
)

// wire writes a request as a server sees it: a change in one part makes a provider's
// cache miss for everything after it.
func wire(t *testing.T, r agent.Request) string {
	t.Helper()
	var b strings.Builder
	write := func(v any) {
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(j)
	}
	write(r.Tools)
	write(r.System)
	for _, m := range r.Messages {
		write([]any{m.Role, m.Content, m.ToolCalls, m.ToolCallID})
	}
	return b.String()
}

func common(a, b string) int {
	if a == b {
		return len(a)
	}
	const many = 512 // compared at once, so that the race detector does not slow it down
	n := 0
	for n+many <= min(len(a), len(b)) && a[n:n+many] == b[n:n+many] {
		n += many
	}
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// TestSharedPrefix measures how much of each request is, byte for byte, the beginning
// of the next, over 50 turns with tools: with room for everything, and in a window
// that is soon too small. Messages have time stamps.
func TestSharedPrefix(t *testing.T) {
	for _, test := range []struct {
		name   string
		window int
		least  float64
		cuts   bool
	}{
		{"roomy", 128_000, 1, false},
		{"full", 3_000, 0.95, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := 0
			m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
				if last := r.Messages[len(r.Messages)-1]; last.Role == sessions.RoleUser || strings.HasSuffix(last.Content, `"n":1}`) {
					id++
					n := 1
					if last.Role == sessions.RoleTool {
						n = 2
					}
					// Ids that repeat in every turn are the hard case.
					return response("", "tool_calls", sessions.ToolCall{ID: "call_0", Name: "look", Arguments: fmt.Sprintf(`{"at":%d,"n":%d}`, id, n)}), nil
				}
				return response("I looked, and there was nothing new to be seen there.", "stop"), nil
			})
			tools := []agent.Tool{newCounter("write"), newCounter("look"), newCounter("read")}
			a := newAgent(t, m, agent.Options{System: strings.Repeat("Be kind. ", 50), ContextWindow: test.window, Zone: time.FixedZone("", 3600)}, tools...)
			take := run
			if test.cuts {
				take = runUnsummarised
			}
			var history []sessions.Message
			for i := range 50 {
				turn := turnOf(fmt.Sprintf("Please look again, for the %d. time.", i))
				turn.ID = fmt.Sprint("turn-", i)
				turn.Input[0].At = t0.Add(time.Duration(i) * time.Hour)
				turn.History.Messages = history
				history = append(history, take(t, a, turn).Messages...)
			}
			reqs := m.requests()
			if len(reqs) != 150 {
				t.Fatalf("%d requests, want 150", len(reqs))
			}
			if first := wire(t, reqs[149]); strings.Contains(first, "earlier messages of this conversation are left out") != test.cuts {
				t.Errorf("the last request leaves messages out: %t, want %t", !test.cuts, test.cuts)
			}
			shared, total := 0, 0
			for i := 1; i < len(reqs); i++ {
				before, now := wire(t, reqs[i-1]), wire(t, reqs[i])
				shared += common(before, now)
				total += len(before)
			}
			ratio := float64(shared) / float64(total)
			t.Logf("%d requests, %d bytes, %.2f %% of each are the beginning of the next", len(reqs), total, 100*ratio)
			if ratio < test.least {
				t.Errorf("shared prefix = %.4f, want at least %.3f", ratio, test.least)
			}
		})
	}
}

// Acceptance case 34: without new facts, the beginning does not change.
func TestCase34IdlePrefix(t *testing.T) {
	m := newScript(t, say("ok"))
	a := newAgent(t, m, agent.Options{System: "x"}, newCounter("b"), newCounter("a"))
	turn := turnOf("one")
	turn.History = sessions.History{Summary: &sessions.Summary{Text: "s"}, Messages: long(10)}
	run(t, a, turn)
	turn.Person, turn.ID = channels.Person{Name: "Bob"}, "t2"
	turn.Input = []sessions.Message{{Role: sessions.RoleUser, Content: "two", At: t0.AddDate(1, 0, 0)}}
	run(t, a, turn)
	first, second := m.requests()[0], m.requests()[1]
	if diff := cmp.Diff(first.System, second.System); diff != "" {
		t.Errorf("system prompts differ:\n%s", diff)
	}
	first.Messages, second.Messages = first.Messages[:10], second.Messages[:10]
	if wire(t, first) != wire(t, second) {
		t.Error("the requests differ before the new message")
	}
}
