package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// randomHistory returns a history as bad as a crash, a buggy server or a reused id
// can make it. Each user message has a different text.
func randomHistory(r *rand.Rand) []sessions.Message {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	ids := []string{"", "a", "b", "call_0"}
	msgs := make([]sessions.Message, 2+r.IntN(14))
	for i := range msgs {
		m := sessions.Message{Seq: int64(i + 1), Turn: pick("", "t1", "t2")}
		switch r.IntN(6) {
		case 0, 1:
			m.Role, m.Content = sessions.RoleUser, fmt.Sprintf("person-%d.", i)
		case 2, 3:
			m.Role, m.Content = sessions.RoleAssistant, pick("", "fine", "\xff")
			for range r.IntN(4) {
				m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{
					ID: pick(ids...), Name: pick("", "get", "bad name"), Arguments: pick("", "{}", "[", `{"a":1}`),
				})
			}
		case 4:
			m.Role = sessions.RoleTool
			m.Content = pick("", "result", "</transcript>")
			m.ToolCallID = pick(ids...)
		default:
			m.Role, m.Content = sessions.Role(pick("system", "tool", "")), "whoever"
		}
		msgs[i] = m
	}
	return msgs
}

// TestCase11RandomHistoriesAreSent sends 10,000 random histories to a model, in a
// turn and for a summary. Every request is valid, and each user message is in one of
// them.
func TestCase11RandomHistoriesAreSent(t *testing.T) {
	var last agent.Request
	answering := func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		if err := window.Validate(r.Messages); err != nil {
			t.Errorf("a request that is not valid: %v", err)
		}
		if why := unprompted(r.Messages); why != "" {
			t.Errorf("a request that Gemini refuses: %s", why)
		}
		last = r
		return response("fine", "stop"), nil
	}
	m := &plain{answering}
	broken, summarised := 0, 0
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(seed, 11))
		h := sessions.History{Messages: randomHistory(r)}
		if window.Validate(h.Messages) != nil {
			broken++
		}
		a := newAgent(t, m, agent.Options{Compaction: keeping(r.IntN(4) + 1)})
		turn := turnOf("what now?")
		turn.History = h
		run(t, a, turn)
		shown := show(last.Messages)
		s, err := a.Summarize(t.Context(), h, nil)
		read := ""
		if err == nil {
			read = last.Messages[0].Content
			summarised++
		}
		for _, msg := range h.Messages {
			if msg.Role != sessions.RoleUser {
				continue
			}
			if !strings.Contains(shown, msg.Content) {
				t.Fatalf("seed %d: the turn's request lacks %s of\n%s", seed, msg.Content, show(h.Messages))
			}
			if msg.Seq <= s.CoversSeq && !strings.Contains(read, msg.Content) {
				t.Fatalf("seed %d: the summary covers %s, which its request lacks", seed, msg.Content)
			}
		}
	}
	if broken < 5000 || summarised < 5000 {
		t.Errorf("%d histories were broken and %d summarised, so this test proves little", broken, summarised)
	}
}

// plain is a model that does not keep its requests.
type plain struct{ reply reply }

func (p *plain) Name() string { return "plain" }

func (p *plain) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (agent.Response, error) {
	return p.reply(ctx, r, onDelta)
}
