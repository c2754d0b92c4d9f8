package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// TestCase30KeepIsTooLargeForTheWindow: if the messages to keep do not fit, fewer are
// kept. Otherwise each turn would leave out messages without a summary, and summarise
// little, for ever.
func TestCase30KeepIsTooLargeForTheWindow(t *testing.T) {
	for _, size := range []int{8192, 16384} {
		for _, name := range window.PresetNames() {
			t.Run(fmt.Sprint(name, " in ", size), func(t *testing.T) {
				t.Parallel()
				c := window.Presets[name]
				long := strings.Repeat("word ", size/8)
				m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
					last := r.Messages[len(r.Messages)-1].Content
					if len(r.Tools) == 0 && strings.Contains(last, "<transcript>") {
						return response(echoed(last, c, r.MaxTokens), "stop"), nil
					}
					return response("I see. "+long, "stop"), nil
				})
				a := newAgent(t, m, agent.Options{ContextWindow: size, Compaction: c})
				talk := chat{t: t, a: a, h: sessions.History{Generation: "20260301_001"}}
				for i := range 30 {
					res := talk.say(fmt.Sprintf("message-%d. %s. %s", i, fact(i), long))
					if res.Unaccounted > 0 {
						t.Errorf("turn %d lacks %d messages", i, res.Unaccounted)
					}
				}
				if n := len(talk.summaries); n == 0 || n > 20 {
					t.Errorf("%d summaries in 30 turns, want some and not one for each", n)
				}
				t.Logf("%d summaries", len(talk.summaries))
			})
		}
	}
}

// TestCase30TheTurnNeedsTheRoom: the history gets the room that the turn leaves: a
// summary before the turn's first call keeps less.
func TestCase30TheTurnNeedsTheRoom(t *testing.T) {
	for _, name := range window.PresetNames() {
		c := window.Presets[name]
		m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
			last := r.Messages[len(r.Messages)-1].Content
			if len(r.Tools) == 0 && strings.Contains(last, "<transcript>") {
				return response(echoed(last, c, r.MaxTokens), "stop"), nil
			}
			return response("I see.", "stop"), nil
		})
		talk := chat{t: t, a: newAgent(t, m, agent.Options{ContextWindow: 8192, Compaction: c}), h: sessions.History{Generation: "20260301_001"}}
		for i := range 4 {
			talk.h.Messages = append(talk.h.Messages, sessions.Message{Seq: int64(i + 1), Role: sessions.RoleUser, Content: fact(i) + strings.Repeat(" word", 1000)})
		}
		talk.seq = 4
		if res := talk.say("What of this? " + strings.Repeat("word ", 5200)); res.Unaccounted > 0 || len(talk.summaries) == 0 {
			t.Errorf("%s: the turn lacks %d messages after %d summaries", name, res.Unaccounted, len(talk.summaries))
		}
	}
}

// TestHugeCallInATurn: arguments that fill the window are replaced by a notice in the
// next request, and the conversation stays.
func TestHugeCallInATurn(t *testing.T) {
	for name, test := range map[string]struct {
		arguments, result string
	}{
		"arguments": {strings.Repeat("page ", 80_000), "written"},
		"result":    {"a page", strings.Repeat("page ", 80_000)},
	} {
		t.Run(name, func(t *testing.T) {
			write := tool{agent.Spec{Name: "write"}, func(context.Context, agent.Call) (string, error) { return test.result, nil }}
			m := newScript(t, call(fmt.Sprintf(`c1 write {"text":%q}`, test.arguments)), say("Done."))
			turn := turnOf("Write it down.")
			turn.History = sessions.History{Generation: "g", Messages: talk(118)}
			turn.Compact = func(context.Context, *window.Keep) (sessions.History, error) {
				t.Error("a summary was asked for")
				return turn.History, recap.ErrNothingToSummarize
			}
			run(t, newAgent(t, m, agent.Options{ContextWindow: 32_768}, write), turn)
			req := m.requests()[1]
			if n := window.Count(req.Messages, nil); len(req.Messages) != 121 || n > 32_768 {
				t.Errorf("the second request has %d messages of %d tokens, want all 121 in 32,768", len(req.Messages), n)
			}
		})
	}
}
