package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

// strict is a server whose model takes fewer tokens than the configuration says. It
// counts what it refuses.
type strict struct {
	takes, refused int
}

func (s *strict) answer(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
	if window.Count(r.Messages, nil)+window.EstimateText(r.System) > s.takes {
		s.refused++
		return agent.Response{}, modelError(agent.ErrorContext, 0)
	}
	return response("## Goal\n"+theyTalked, "stop"), nil
}

// following runs n turns, each in a separate chat with a long history, and returns
// how many requests the server refused in each.
func (s *strict) following(t *testing.T, a *agent.Agent, n int) (refused []int) {
	t.Helper()
	for i := range n {
		before := s.refused
		turn := turnOf("And now?")
		turn.ID, turn.Key = fmt.Sprint("t", i), channels.MustKey(fmt.Sprint("web:", i))
		turn.History = sessions.History{Generation: "20260301_001", Messages: long(200)}
		runUnsummarised(t, a, turn)
		refused = append(refused, s.refused-before)
	}
	return refused
}

// without is a compaction that never happens, so that views have to be cut.
func without() window.Compaction {
	c := keeping(8)
	c.When = window.WhenOff
	return c
}

// TestRefusedLengthIsRemembered: a size that the server refused in one conversation
// is not sent in the next turn of any other, until an hour has passed.
func TestRefusedLengthIsRemembered(t *testing.T) {
	now := t0
	s := &strict{takes: 2000}
	m := newScript(t, s.answer)
	a := newAgent(t, m, agent.Options{ContextWindow: 8000, Compaction: without(), Now: func() time.Time { return now }})
	got := s.following(t, a, 4)
	if got[0] == 0 || got[1]+got[2]+got[3] != 0 {
		t.Errorf("refused requests in each turn = %v, want some in the first only", got)
	}
	last := m.requests()[len(m.requests())-1]
	if size := window.Count(last.Messages, nil); size < 1000 {
		t.Errorf("requests take %d tokens now, want most of 2000", size)
	}
	now = now.Add(61 * time.Minute)
	got = s.following(t, a, 2)
	if got[0] == 0 || got[1] != 0 {
		t.Errorf("refused requests an hour later = %v, want some in the first turn only", got)
	}
	// Another agent's requests are not shorter.
	other := newAgent(t, newScript(t, s.answer), agent.Options{ContextWindow: 8000, Compaction: without()})
	got = s.following(t, other, 1)
	if got[0] == 0 {
		t.Error("an agent without a refusal has a learned window")
	}
}

// A size that the server accepted is never held to be too long, even if it refused a
// little more. If the prompt fills most of a small window, little of the conversation
// would be shown, and longer messages would get no answer.
func TestAcceptedSizeIsNotTooLong(t *testing.T) {
	prompt := strings.Repeat("Be kind. ", 900)
	s := &strict{takes: window.EstimateText(prompt) + 500}
	m := newScript(t, s.answer)
	a := newAgent(t, m, agent.Options{System: prompt, ContextWindow: s.takes + 200, MaxTokens: 10, Compaction: without()})
	if refused := s.following(t, a, 4); refused[0] == 0 || refused[3] != 0 {
		t.Errorf("refused requests in each turn = %v, want some in the first and none in the last", refused)
	}
	if size := window.Count(m.requests()[len(m.requests())-1].Messages, nil); size < 260 {
		t.Errorf("the last request shows %d tokens of the conversation, want 260 of 500 at least", size)
	}
	long := strings.Repeat("And now? ", 205)
	if _, err := a.Run(t.Context(), turnOf(long)); err != nil {
		t.Errorf("Run of a message of %d tokens: %v, want an answer: the server takes it", window.EstimateText(long), err)
	}
}

// A short request that is refused as too long was refused for another reason, and
// must not make every conversation shorter.
func TestRefusalOfAShortRequestTeachesNothing(t *testing.T) {
	s := &strict{takes: 0}
	m := newScript(t, s.answer)
	a := newAgent(t, m, agent.Options{ContextWindow: 8000, Compaction: without()})
	if _, err := a.Run(t.Context(), turnOf("hi")); err == nil || s.refused == 0 {
		t.Fatalf("Run = %v with %d refused requests, want an error", err, s.refused)
	}
	s.takes = 1 << 20
	s.following(t, a, 1)
	if size := window.Count(m.requests()[len(m.requests())-1].Messages, nil); size < 4000 {
		t.Errorf("the next request takes %d tokens, want as many as fit into 8000", size)
	}
}

// TestLearnedLengthStartsSummaries: triggers use the learned window, so that the next
// turn need not wait for a summary.
func TestLearnedLengthStartsSummaries(t *testing.T) {
	s := &strict{takes: 3000}
	c := keeping(4)
	c.Trigger.Messages = 0
	a := newAgent(t, newScript(t, s.answer), agent.Options{ContextWindow: 12_000, Compaction: c})
	h := sessions.History{Messages: long(200)}
	for window.Count(h.Messages, nil) > 4000 {
		h.Messages = h.Messages[1:]
	}
	if a.Level(h) == recap.Due {
		t.Fatal("NeedsSummary() = true before anything is known of the window")
	}
	s.following(t, a, 1)
	if s.refused == 0 {
		t.Fatal("nothing was refused, so this test proves nothing")
	}
	if a.Level(h) != recap.Due {
		t.Error("NeedsSummary() = false, although the server does not take that much")
	}
}

// TestSummariserLearnsLengths: a second summary does not begin with a size that was
// refused for the first.
func TestSummariserLearnsLengths(t *testing.T) {
	s := &strict{takes: 3000}
	m := newScript(t, s.answer)
	a := newAgent(t, m, agent.Options{ContextWindow: 8000, Compaction: keeping(4)})
	h := sessions.History{Messages: talk(60)}
	for i := range h.Messages {
		h.Messages[i].Content += strings.Repeat(" word", 120)
	}
	for i, want := range []bool{true, false} {
		before := s.refused
		if _, err := a.Summarize(t.Context(), h, nil); err != nil {
			t.Fatalf("summary %d: %v", i, err)
		}
		if got := s.refused > before; got != want {
			t.Errorf("summary %d: %d requests were refused, want some: %v", i, s.refused-before, want)
		}
	}
}
