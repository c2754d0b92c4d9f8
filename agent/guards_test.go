package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// TestOrganizingNoteEnds: the note that a summary is being written is gone before the
// model's first word, whether there is a summary or not.
func TestOrganizingNoteEnds(t *testing.T) {
	for name, fails := range map[string]bool{"made": false, "failed": true} {
		t.Run(name, func(t *testing.T) {
			compactions := 0
			turn := compactable(200, &compactions)
			if made := turn.Compact; fails {
				turn.Compact = func(ctx context.Context, keep *window.Keep) (sessions.History, error) {
					_, err := made(ctx, keep)
					return sessions.History{}, errors.Join(err, recap.ErrBadSummary)
				}
			}
			var shown []agent.Progress
			turn.Progress = func(p agent.Progress) { shown = append(shown, p) }
			m := newScript(t, func(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) {
				if len(shown) < 2 || shown[len(shown)-1].Note != "" {
					t.Errorf("when the model is asked people were shown %+v, want a note and its end", shown)
				}
				return response("Hi.", "stop"), nil
			})
			answers := run
			if fails {
				answers = runUnsummarised
			}
			answers(t, newAgent(t, m, agent.Options{ContextWindow: 8000}), turn)
			if compactions != 1 || !strings.Contains(fmt.Sprint(shown), "Organizing the conversation…") {
				t.Errorf("%d summaries, and people were shown %+v", compactions, shown)
			}
		})
	}
}

// TestSummaryTemperature: a request for a summary has the temperature of the
// compaction, even 0, or the agent's if that has none.
func TestSummaryTemperature(t *testing.T) {
	zero, answers := 0.0, float32(0.9)
	for name, test := range map[string]struct {
		c    window.Compaction
		want float32
	}{
		"picoclaw": {window.Presets["picoclaw"], 0.3},
		"0":        {window.Compaction{Temperature: &zero}, 0},
		"none":     {window.Compaction{}, answers},
	} {
		c := keeping(4)
		c.Temperature = test.c.Temperature
		m := newScript(t, say(theyTalked))
		if _, err := newAgent(t, m, agent.Options{Compaction: c, Temperature: &answers}).Summarize(t.Context(), sessions.History{Messages: talk(20)}, nil); err != nil {
			t.Fatalf("%s: Summarize() = %v", name, err)
		}
		if got := m.requests()[0].Temperature; got == nil || *got != test.want {
			t.Errorf("%s: the request's temperature is %v, want %v", name, got, test.want)
		}
	}
}

// TestSummaryOfUnseenMessages: if messages are out of order, the last summarised one
// may have a higher seq than messages that the summary never saw. Such a summary is
// rejected, because they would be lost.
func TestSummaryOfUnseenMessages(t *testing.T) {
	h := sessions.History{Messages: talk(20)}
	h.Messages[11].Seq = h.Messages[14].Seq
	s, err := newAgent(t, newScript(t, say("They talked.")), agent.Options{Compaction: keeping(8)}).Summarize(t.Context(), h, nil)
	if !errors.Is(err, recap.ErrUnseen) || !strings.Contains(err.Error(), ": 3 of those up to 114") || s.Text != "" {
		t.Errorf("Summarize() = %q, %v; want ErrUnseen about 3 messages", s.Text, err)
	}
}

// TestSummaryOfAnEndlessHistory: one summary takes a limited number of calls, however
// long the history is. It covers the oldest part, and the next summaries cover what
// follows, until nothing is left.
func TestSummaryOfAnEndlessHistory(t *testing.T) {
	m := newScript(t, say(theyTalked))
	a := newAgent(t, m, agent.Options{Compaction: keeping(8), ContextWindow: 4096})
	h := sessions.History{Messages: talk(1500)}
	for i := range h.Messages {
		h.Messages[i].Content += strings.Repeat(" word", 100)
	}
	last := h.Messages[len(h.Messages)-9].Seq
	for summaries, asked := 1, 0; ; summaries++ {
		s, err := a.Summarize(t.Context(), h, nil)
		if err != nil {
			t.Fatalf("summary %d: %v", summaries, err)
		}
		calls := len(m.requests()) - asked
		asked += calls
		if calls > 40 {
			t.Fatalf("summary %d took %d calls, want about 32 at most", summaries, calls)
		}
		if s.CoversSeq == last {
			if summaries < 2 {
				t.Errorf("one summary of %d calls was enough, so this test proves nothing", calls)
			}
			return
		}
		n := int(s.CoversSeq - h.Messages[0].Seq + 1)
		if calls < 20 || n < 100 {
			t.Fatalf("summary %d covers %d messages after %d calls, and there were more", summaries, n, calls)
		}
		h.Summary, h.Messages = &s, h.Messages[n:]
	}
}

// TestFewOldMessagesStartNoSummary: no summary is started, even beyond the trigger, if
// it could cover only a handful of messages because one tool group keeps all others.
func TestFewOldMessagesStartNoSummary(t *testing.T) {
	for old, want := range map[int]bool{1: false, 9: false, 10: true} {
		msgs := talk(old)
		group := sessions.Message{Role: sessions.RoleAssistant, Seq: 1000}
		var results []sessions.Message
		for i := range 40 {
			id := fmt.Sprint("c", i)
			group.ToolCalls = append(group.ToolCalls, sessions.ToolCall{ID: id, Name: "get", Arguments: "{}"})
			results = append(results, sessions.Message{Role: sessions.RoleTool, Seq: int64(1001 + i), ToolCallID: id, Content: "so"})
		}
		msgs = append(append(msgs, group), results...)
		a := newAgent(t, newScript(t, say("x")), agent.Options{Compaction: keeping(12)})
		if got := a.Level(sessions.History{Messages: msgs}) == recap.Due; got != want {
			t.Errorf("NeedsSummary() = %v with %d messages that a summary could cover, want %v", got, old, want)
		}
	}
}
