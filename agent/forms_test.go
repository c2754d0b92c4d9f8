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

// TestCase18SectionsInAnyForm: a summary in sections is accepted however its headings
// are marked, and without any.
func TestCase18SectionsInAnyForm(t *testing.T) {
	c := keeping(8)
	c.Format = window.Sections
	for text, want := range map[string]string{
		"## Critical context\nAnn likes green tea.":                "## Critical context\nAnn likes green tea.",
		"**Next steps:**\n- Buy green tea.":                        "**Next steps:**\n- Buy green tea.",
		"1. Goal\nGreen tea.":                                      "1. Goal\nGreen tea.",
		"**Goal:** Green tea\n**Constraints:** N/A":                "**Goal:** Green tea\n**Constraints:** N/A",
		"Ann likes green tea.":                                     "Ann likes green tea.",
		"Yes.\n<summary>Ann likes green tea.</summary>\nSo be it.": "Ann likes green tea.",
		"## Tea\nAnn likes green tea.":                             "## Tea\nAnn likes green tea.",
		"## Goal\n\n## Progress\n":                                 "",
	} {
		m := newScript(t, say(text))
		s, err := newAgent(t, m, agent.Options{Compaction: c}).Summarize(t.Context(), sessions.History{Messages: talk(20)}, nil)
		if s.Text != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, recap.ErrBadSummary) {
			t.Errorf("Summarize() of %q = %q, %v, want %q", text, s.Text, err, want)
		}
		if n := len(m.requests()); (n == 1) != (want != "") || n > 2 {
			t.Errorf("%q: %d requests, want one more than the first if it is refused", text, n)
		}
	}
}

// TestCase29ModelWithASmallerWindow: a conversation that switches to a model with a
// window of 8,000 tokens is summarised before the first call, and from then on by the
// share of that window.
func TestCase29ModelWithASmallerWindow(t *testing.T) {
	small := newScript(t, say("Hi."))
	usual := newScript(t, say(theyTalked))
	a := newAgent(t, usual, agent.Options{
		ContextWindow: 128_000, Windows: map[string]int{"small": 8000},
		Models: func(name string) (agent.Model, error) { return named{small, name}, nil },
	})
	compactions := 0
	turn := compactable(200, &compactions) // 20,000 tokens
	run(t, a, turn)
	if req := usual.requests()[0]; compactions != 0 || len(req.Messages) != 201 {
		t.Fatalf("the usual model: %d summaries and %d messages, want none and all 201", compactions, len(req.Messages))
	}
	turn.History.Settings.Model = "small"
	run(t, a, turn)
	req := small.requests()[0]
	if compactions != 1 || len(req.Messages) != 5 {
		t.Errorf("the small model: %d summaries and %d messages in its first request, want 1 and 5", compactions, len(req.Messages))
	}

	h := sessions.History{Messages: long(30)[:30]}
	for i := range h.Messages {
		h.Messages[i].Content = strings.Repeat("word ", 220)
	}
	if a.Level(h) == recap.Due {
		t.Error("6,700 tokens are summarised for a window of 128,000")
	}
	h.Settings.Model = "small"
	if a.Level(h) != recap.Due {
		t.Error("6,700 tokens are not summarised for a window of 8,000")
	}
	if _, err := a.Summarize(t.Context(), h, nil); err != nil {
		t.Fatal(err)
	}
	if got := usual.requests()[1].MaxTokens; got != 2000 {
		t.Errorf("its summary may have %d tokens, want a quarter of the small window", got)
	}
}

// TestEstimatesAreCalibrated: every decision about the size of a history uses the
// tokens that the server counts.
func TestEstimatesAreCalibrated(t *testing.T) {
	var double agent.Calibration
	for range 40 {
		double.Observe("scripted", 20_000, 10_000)
	}
	if f := double.Factor("scripted"); f < 1.9 {
		t.Fatalf("Factor = %.2f, want near 2", f)
	}
	c := keeping(8)
	c.Trigger = window.Trigger{TokensPercent: 75}
	c.Keep = window.Keep{Unit: window.UnitTokens, N: 2000}

	t.Run("what is worth summarising", func(t *testing.T) {
		// The messages to summarise are 700 tokens as counted, 1,400 as the server
		// counts: only by the latter are they more than a tenth of the window.
		h := sessions.History{Messages: append(long(7), sessions.Message{Seq: 8, Role: sessions.RoleAssistant, Content: strings.Repeat("word ", 4000)})}
		for cal, want := range map[*agent.Calibration]bool{&double: true, {}: false} {
			a := newAgent(t, newScript(t, say("x")), agent.Options{ContextWindow: 10_000, Compaction: c}).Calibrated(cal)
			if got := a.Level(h) == recap.Due; got != want {
				t.Errorf("factor %.1f: NeedsSummary = %v, want %v", cal.Factor("scripted"), got, want)
			}
		}
	})
	t.Run("what is kept", func(t *testing.T) {
		kept := func(cal *agent.Calibration) int {
			h := sessions.History{Messages: long(60)}
			s, err := newAgent(t, newScript(t, say(theyTalked)), agent.Options{ContextWindow: 10_000, Compaction: c}).Calibrated(cal).Summarize(t.Context(), h, nil)
			if err != nil {
				t.Fatal(err)
			}
			return 60 - int(s.CoversSeq)
		}
		plain, twice := kept(&agent.Calibration{}), kept(&double)
		if twice > plain/2+2 || twice < plain/2-2 {
			t.Errorf("2,000 tokens are %d messages, and %d where each counts twice", plain, twice)
		}
	})
	t.Run("what is too long a summary", func(t *testing.T) {
		c := keeping(8)
		c.MaxTokens = 100
		text := "Of 10 and 11: " + strings.Repeat("word ", 150) // 300 as the server counts
		for cal, want := range map[*agent.Calibration]int{&double: 2, {}: 1} {
			m := newScript(t, say(text), say("short, of 10 and 11"))
			if _, err := newAgent(t, m, agent.Options{Compaction: c}).Calibrated(cal).Summarize(t.Context(), sessions.History{Messages: talk(60)}, nil); err != nil {
				t.Fatal(err)
			}
			if got := len(m.requests()); got != want {
				t.Errorf("factor %.1f: %d requests, want %d", cal.Factor("scripted"), got, want)
			}
		}
	})
	t.Run("what one request of the summariser takes", func(t *testing.T) {
		count := func(cal *agent.Calibration) int {
			requests := 0
			m := newScript(t, echo(t, 1<<30, &requests))
			if _, err := newAgent(t, m, agent.Options{ContextWindow: 8000}).Calibrated(cal).Summarize(t.Context(), sessions.History{Messages: long(100)}, nil); err != nil {
				t.Fatal(err)
			}
			return requests
		}
		if plain, twice := count(&agent.Calibration{}), count(&double); twice <= plain {
			t.Errorf("%d requests, and %d where each message counts twice, want more", plain, twice)
		}
	})
	t.Run("the summariser's own usage teaches too", func(t *testing.T) {
		var cal agent.Calibration
		m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
			resp := response(theyTalked, "stop")
			resp.Usage = &sessions.Usage{Input: 2 * (window.Count(r.Messages, nil) + window.EstimateText(r.System))}
			return resp, nil
		})
		if _, err := newAgent(t, m, agent.Options{}).Calibrated(&cal).Summarize(t.Context(), sessions.History{Messages: talk(60)}, nil); err != nil {
			t.Fatal(err)
		}
		if f := cal.Factor("scripted"); f <= 1 {
			t.Errorf("Factor = %.2f after a summary that took twice as much, want more than 1", f)
		}
	})
}

// TestCase26NoIdenticalRetry: if half of the room does not make the request smaller,
// it is not sent again.
func TestCase26NoIdenticalRetry(t *testing.T) {
	m := newScript(t, fail(modelError(agent.ErrorContext, 0)))
	_, err := newAgent(t, m, agent.Options{}).Summarize(t.Context(), sessions.History{Messages: talk(20)}, nil)
	var me *agent.ModelError
	if !errors.As(err, &me) || me.Kind != agent.ErrorContext {
		t.Errorf("Summarize() = %v, want the model's error", err)
	}
	// Only less room for the answer may still help.
	reqs := m.requests()
	for i := 1; i < len(reqs); i++ {
		if reqs[i].MaxTokens >= reqs[i-1].MaxTokens {
			t.Errorf("request %d leaves %d tokens for the answer, after one that left %d", i, reqs[i].MaxTokens, reqs[i-1].MaxTokens)
		}
	}
	if len(reqs) > 2 {
		t.Errorf("%d requests for a transcript of 12 short messages, want 2 at most", len(reqs))
	}
}

// TestCase24OversizedMessages: the summariser sees a marked excerpt of a message that
// takes more than half of the window, and the others whole. The original is not
// changed. The same holds for the request of a turn.
func TestCase24OversizedMessages(t *testing.T) {
	huge := "fact-1 " + strings.Repeat("word ", 5000) + " fact-2"
	h := sessions.History{Messages: talk(20)}
	h.Messages[3].Content = huge
	requests := 0
	m := newScript(t, echo(t, 8000, &requests))
	s, err := newAgent(t, m, agent.Options{ContextWindow: 8000}).Summarize(t.Context(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "summary", s.Text, "fact-1", "fact-2")
	text := show(m.requests()[0].Messages)
	contains(t, "request", text, fmt.Sprintf("of %d bytes left out here", len(huge)), "message-2\n", "message-4\n")
	if h.Messages[3].Content != huge {
		t.Error("the transcript's message was changed")
	}
	if strings.Contains(text, strings.Repeat("word ", 3000)) {
		t.Error("the message was shown whole")
	}
}

// TestCustomPrompt: the operator's prompt replaces the built-in instructions, but not
// what the format requires.
func TestCustomPrompt(t *testing.T) {
	for format, asks := range map[window.Format]string{
		window.Concise: "three or four plain", window.Sections: "## Critical context", window.JSON: `"key_facts"`,
	} {
		c := keeping(8)
		c.Format = format
		c.Prompt = "  Only write down prices.  "
		c.MaxChars = 700
		m := newScript(t, say("## Goal\nBees cost $129."))
		_, err := newAgent(t, m, agent.Options{System: "Be kind.", Compaction: c}).Summarize(t.Context(), sessions.History{Messages: talk(20)}, nil)
		if format == window.JSON != errors.Is(err, recap.ErrBadSummary) {
			t.Errorf("%s: Summarize() = %v", format, err)
		}
		system := m.requests()[0].System
		contains(t, "the summariser's prompt", system, asks, "at most 700 characters")
		if !strings.HasPrefix(system, "Only write down prices.\n\n") || strings.Contains(system, "You keep the memory") || strings.Contains(system, "Be kind.") {
			t.Errorf("%s: the prompt is %q, want the operator's in place of the built-in one", format, system)
		}
	}
}

// TestCase36OnlyInTheView: a long result is shortened in requests, and whole in what
// the turn stores.
func TestCase36OnlyInTheView(t *testing.T) {
	const bytes = 60_000
	big := strings.Repeat("0123456789", bytes/10)
	look := get(func(_ context.Context, c agent.Call) (string, error) { return string(c.Args) + big, nil })
	m := newScript(t, call(`a get {"n":1}`), call(`b get {"n":2}`), call(`c get {"n":3}`), call(`d get {"n":4}`), call(`e get {"n":5}`), say("Done."))
	a := newAgent(t, m, agent.Options{ContextWindow: 200_000}, look)
	turn := turnOf("look")
	res := run(t, a, turn)
	turn.History.Messages = res.Messages
	turn.ID = "t2"
	turn.Input = []sessions.Message{{Role: sessions.RoleUser, Content: "and now?"}}
	run(t, a, turn)
	for i, msg := range res.Messages {
		if msg.Role == sessions.RoleTool && len(msg.Content) < bytes {
			t.Errorf("message %d of the transcript has %d bytes, want all of them", i, len(msg.Content))
		}
	}
	reqs := m.requests()
	last := show(reqs[len(reqs)-1].Messages)
	if n := strings.Count(last, "to save room"); n != 3 {
		t.Errorf("%d results are shortened in the last request, want 3: those of the last three messages of the model stay, and one of them has no call", n)
	}
	contains(t, "the last request", last, "user: and now?")
}
