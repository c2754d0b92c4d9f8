package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// windowed is a compaction that never summarises in the background, so that turns
// have to.
func windowed() window.Compaction {
	c := keeping(10)
	c.Trigger, c.Keep.MaxMessages = window.Trigger{TokensPercent: 99}, 20
	return c
}

// TestMaxMessages: no request shows more than 20 messages, even in turns with tools,
// and a summary covers all others.
func TestMaxMessages(t *testing.T) {
	var asked, requests []agent.Request
	m := newScript(t, echoing(windowed(), &asked, &requests))
	talk := chat{t: t, a: newAgent(t, m, agent.Options{Compaction: windowed()}, newCounter("look")), h: sessions.History{Generation: "g", FirstSeq: 1}}
	for i := range 40 {
		talk.say("Look again. " + fact(i))
	}
	most := 0
	for i, r := range requests {
		most = max(most, len(r.Messages))
		if len(r.Messages) > 20 {
			t.Errorf("request %d shows %d messages", i, len(r.Messages))
		}
	}
	if most < 18 || talk.unaccounted != 0 || len(talk.summaries) < 10 {
		t.Errorf("at most %d messages are shown, %d lost, %d summaries; want nearly 20, none and many", most, talk.unaccounted, len(talk.summaries))
	}
	contains(t, "the last summary", talk.summaries[len(talk.summaries)-1].Text, fact(0), fact(30))
}

// TestMaxMessagesInALongTurn: only as much history is kept as the running turn leaves
// room for, even if a summary usually keeps more.
func TestMaxMessagesInALongTurn(t *testing.T) {
	var asked, requests []agent.Request
	talkative := echoing(windowed(), &asked, &requests)
	steps := 0
	m := newScript(t, func(ctx context.Context, r agent.Request, show func(agent.Delta)) (agent.Response, error) {
		res, err := talkative(ctx, r, show)
		if last := r.Messages[len(r.Messages)-1]; steps > 0 && last.Role == sessions.RoleTool {
			steps--
			return response("", "tool_calls", sessions.ToolCall{ID: "call_0", Name: "look", Arguments: fmt.Sprintf(`{"at":%d}`, 100+steps)}), nil
		}
		return res, err
	})
	talk := chat{t: t, a: newAgent(t, m, agent.Options{Compaction: windowed()}, newCounter("look")), h: sessions.History{Generation: "g", FirstSeq: 1}}
	for i := range 4 {
		talk.say("Look. " + fact(i))
	}
	steps = 6
	before := len(requests)
	talk.say("Look often.")
	most := 0
	for _, r := range requests[before:] {
		most = max(most, len(slices.DeleteFunc(slices.Clone(r.Messages), func(m sessions.Message) bool { return m.Synthetic })))
	}
	if most > 20 || most < 16 || talk.unaccounted != 0 {
		t.Errorf("the turn shows %d messages at most, and %d are lost; want up to 20 and none", most, talk.unaccounted)
	}
}

// TestMaxMessagesBackground: the summary is made before a turn has to wait for it.
func TestMaxMessagesBackground(t *testing.T) {
	a := newAgent(t, newScript(t, say("x")), agent.Options{Compaction: windowed()})
	turns := func(n, each int) (h sessions.History) {
		for i := range n * each {
			role := sessions.RoleUser
			if i%each > 0 {
				role = sessions.RoleAssistant
			}
			h.Messages = append(h.Messages, sessions.Message{Seq: int64(i + 1), Role: role, Content: "word", Turn: fmt.Sprint(i / each)})
		}
		return h
	}
	for _, test := range []struct {
		turns, each int
		want        bool
	}{{9, 2, false}, {10, 2, true}, {4, 4, false}, {5, 4, true}, {3, 6, true}} {
		if got := a.Level(turns(test.turns, test.each)) == recap.Due; got != test.want {
			t.Errorf("NeedsSummary() after %d turns of %d messages = %v, want %v", test.turns, test.each, got, test.want)
		}
	}
}

// TestMaxMessagesFarBelowTheTrigger: how much a summary must free depends on the
// limit of messages. Otherwise a limit far below the trigger would make people wait.
func TestMaxMessagesFarBelowTheTrigger(t *testing.T) {
	c := window.Presets[window.DefaultPreset] // more than 80 messages, 12 stay
	c.Keep.MaxMessages = 20
	a := newAgent(t, newScript(t, say("x")), agent.Options{Compaction: c})
	for n, want := range map[int]bool{18: false, 20: true} {
		if got := a.Level(sessions.History{Messages: talk(n)}) == recap.Due; got != want {
			t.Errorf("NeedsSummary() after %d messages of 20 = %v, want %v", n, got, want)
		}
	}
}

// TestMaxMessagesWithoutSummary: if summaries fail, or are paused after a failure,
// the view is cut and says so, at the same place for many requests. Only the failure
// itself is a warning, not every turn after it.
func TestMaxMessagesWithoutSummary(t *testing.T) {
	for _, cause := range []error{recap.ErrBadSummary, recap.ErrPaused} {
		m := newScript(t, say("ok"))
		var log strings.Builder
		a := newAgent(t, m, agent.Options{Compaction: windowed(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		turn := turnOf("what now?")
		turn.History.Messages = long(40)
		tried := 0
		turn.Compact = func(_ context.Context, _ *window.Keep) (sessions.History, error) {
			tried++
			return sessions.History{}, fmt.Errorf("no: %w", cause)
		}
		for range 5 {
			res := runUnsummarised(t, a, turn)
			if n := len(turn.History.Messages); res.Unaccounted != 30 {
				t.Errorf("Unaccounted = %d of %d", res.Unaccounted, n)
			}
			turn.History.Messages = append(turn.History.Messages, sessions.Message{Seq: 1000, Role: sessions.RoleUser, Content: "more"})
		}
		first := make(map[string]bool)
		for _, r := range m.requests() {
			first[r.Messages[0].Content] = true
			if len(r.Messages) > 21 || !strings.Contains(r.Messages[0].Content, "30 earlier messages") {
				t.Errorf("%d messages, the first is %q", len(r.Messages), r.Messages[0].Content)
			}
		}
		if tried != 5 || len(first) != 1 {
			t.Errorf("%d summaries tried in 5 turns, %d beginnings; want one each and one", tried, len(first))
		}
		if warned := strings.Contains(log.String(), "WARN"); warned != errors.Is(cause, recap.ErrBadSummary) {
			t.Errorf("after %v the log says %q", cause, log.String())
		}
	}
}

// TestFailedCallsAreLeftOut: failed calls of a finished turn are not shown again,
// from the next turn on and in the same way in all that follow. The text beside them
// stays, and so do calls beside them that did not fail.
func TestFailedCallsAreLeftOut(t *testing.T) {
	look := tool{agent.Spec{Name: "look"}, func(_ context.Context, c agent.Call) (string, error) {
		if strings.Contains(string(c.Args), "bad") {
			return "", errors.New("no such shelf")
		}
		return "a shelf", nil
	}}
	for name, drops := range map[string]bool{"sentinel": true, "dragoman": false} {
		both := answer(response("Let me see.", "tool_calls", parseCalls([]string{`a look {"at":"bad"}`, `b look {"at":"good"}`})...))
		alone := answer(response("And there?", "tool_calls", parseCalls([]string{`c look {"at":"bad2"}`})...))
		m := newScript(t, both, alone, call(`d look {"at":"bad3"}`), say("Found it."), say("ok"))
		talk := chat{t: t, a: newAgent(t, m, agent.Options{Prune: window.PrunePresets[name]}, look), h: sessions.History{Generation: "g", FirstSeq: 1}}
		talk.say("Look.")
		talk.say("And now?")
		talk.say("And then?")
		reqs := m.requests()
		running := show(reqs[3].Messages)
		contains(t, "the running turn", running, "no such shelf", "bad3")
		const want = "user: Look.\nassistant: Let me see. [b look {\"at\":\"good\"}]\ntool(b): a shelf\nassistant: And there?\n\nFound it.\nuser: And now?\n"
		second, third := show(reqs[4].Messages), show(reqs[5].Messages)
		if (second == want) != drops || !strings.HasPrefix(third, second) {
			t.Errorf("%s: the next turns are shown\n%sand\n%s", name, second, third)
		}
		if n := len(talk.all); n != 13 || talk.unaccounted != 0 {
			t.Errorf("the transcript has %d messages, %d unaccounted for; want all 13 and none", n, talk.unaccounted)
		}
	}
}

// TestPrunedResultsTakeLittle: triggers count what is shown, after pruning.
func TestPrunedResultsTakeLittle(t *testing.T) {
	c := keeping(4)
	c.Trigger = window.Trigger{TokensPercent: 60}
	h := sessions.History{Messages: append(oldResults(8), long(6)...)}
	for i := range h.Messages {
		h.Messages[i].Seq = int64(i + 1)
		if h.Messages[i].Role == sessions.RoleTool {
			h.Messages[i].Content = strings.Repeat("shelf row ", 2000)
		}
	}
	for off, want := range map[bool]bool{true: true, false: false} {
		p := window.DefaultPrune()
		p.Off = off
		a := newAgent(t, newScript(t, say("x")), agent.Options{Compaction: c, Prune: p, ContextWindow: 50_000})
		if got := a.Level(h) == recap.Due; got != want {
			t.Errorf("pruning off: %v, NeedsSummary() = %v, want %v", off, got, want)
		}
	}
}
