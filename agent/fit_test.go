package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// compactable is a turn whose history can be summarised.
func compactable(history int, compactions *int) agent.Turn {
	turn := turnOf("what now?")
	turn.History.Messages = long(history)
	turn.Compact = func(_ context.Context, _ *window.Keep) (sessions.History, error) {
		*compactions++
		h := sessions.History{Summary: &sessions.Summary{Text: "THE SUMMARY", CoversSeq: int64(history - 4)}}
		h.Messages = turn.History.Messages[history-4:]
		return h, nil
	}
	return turn
}

// oldResults returns a history with n tool results before the last three assistant
// messages.
func oldResults(n int) (msgs []sessions.Message) {
	for i := range n + 3 {
		id := "old" + strings.Repeat("x", i)
		msgs = append(msgs,
			sessions.Message{Seq: int64(2*i + 1), Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: id, Name: "get", Arguments: "{}"}}},
			sessions.Message{Seq: int64(2*i + 2), Role: sessions.RoleTool, ToolCallID: id, Content: strings.Repeat("a result ", 200)})
	}
	return msgs
}

func TestCase28ContextError(t *testing.T) {
	tooLong := fail(modelError(agent.ErrorContext, 0))
	const notice = "was left out here to save room"
	t.Run("case 28: prune, then compact, then an answer", func(t *testing.T) {
		compactions := 0
		turn := compactable(20, &compactions)
		turn.History.Messages = append(oldResults(5), turn.History.Messages...)
		m := newScript(t, tooLong, tooLong, say("Hi."))
		res := run(t, newAgent(t, m, agent.Options{}), turn)
		reqs := m.requests()
		if res.Text != "Hi." || len(reqs) != 3 || compactions != 1 {
			t.Fatalf("Text = %q after %d requests and %d summaries, want Hi., 3 and 1", res.Text, len(reqs), compactions)
		}
		if n := strings.Count(show(reqs[0].Messages), notice); n != 0 {
			t.Errorf("%d results were pruned in the first request, want none", n)
		}
		if n := strings.Count(show(reqs[1].Messages), notice); n == 0 {
			t.Error("no result was pruned after the refusal")
		}
		contains(t, "system prompt after the summary", reqs[2].System, "THE SUMMARY")
		if last := reqs[2].Messages[len(reqs[2].Messages)-1]; last.Content != "what now?" {
			t.Errorf("the last request ends with %.60q, want the question", last.Content)
		}
	})
	t.Run("case 28: a clear error", func(t *testing.T) {
		compactions := 0
		m := newScript(t, tooLong)
		_, err := newAgent(t, m, agent.Options{}).Run(t.Context(), compactable(20, &compactions))
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Kind != agent.ErrorContext || !strings.Contains(err.Error(), "does not fit") {
			t.Errorf("Run() = %v, want a clear error of kind context", err)
		}
		if n := len(m.requests()); compactions != 1 || n > 5 {
			t.Errorf("%d summaries and %d requests, want 1 and a handful", compactions, n)
		}
		reqs := m.requests()
		for i := 1; i < len(reqs); i++ {
			if window.Count(reqs[i].Messages, nil) >= window.Count(reqs[i-1].Messages, nil) {
				t.Errorf("request %d is no smaller than the one that was refused", i)
			}
		}
	})
	t.Run("case 28: the count begins anew after a success", func(t *testing.T) {
		m := newScript(t, tooLong, tooLong, call("c1 get {}"), tooLong, tooLong, say("Hi."))
		turn := turnOf("what now?")
		turn.History.Messages = long(100)
		big := get(func(context.Context, agent.Call) (string, error) { return strings.Repeat("result ", 3000), nil })
		if res := runUnsummarised(t, newAgent(t, m, agent.Options{}, big), turn); res.Text != "Hi." {
			t.Errorf("Text = %q, want Hi.", res.Text)
		}
	})
	t.Run("case 28: a rate limit is no reason", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			compactions := 0
			turn := compactable(20, &compactions)
			limit := &agent.ModelError{Kind: agent.ErrorTemporary, Status: 429, Err: errors.New("tokens per minute limit reached")}
			m := newScript(t, fail(limit), say("Hi."))
			run(t, newAgent(t, m, agent.Options{}), turn)
			if reqs := m.requests(); compactions != 0 || len(reqs) != 2 || wire(t, reqs[0]) != wire(t, reqs[1]) {
				t.Errorf("%d summaries, %d requests, want none and the same request twice", compactions, len(reqs))
			}
		})
	})
	t.Run("what was pruned stays so in the next turn", func(t *testing.T) {
		m := newScript(t, tooLong, say("Hi."), say("Ho."))
		a := newAgent(t, m, agent.Options{})
		turn := turnOf("what now?")
		turn.History.Messages = oldResults(5)
		run(t, a, turn)
		turn.ID = "t2"
		run(t, a, turn)
		reqs := m.requests()
		if got, want := show(reqs[2].Messages), show(reqs[1].Messages); got != want {
			t.Errorf("the next turn's request:\n%s\nwant it as after the refusal:\n%s", got, want)
		}
	})
}

// TestCase27Case29CompactsBeforeSending: a request that does not fit is summarised
// before it is sent, at the start of a turn and between its tool calls.
func TestCase27Case29CompactsBeforeSending(t *testing.T) {
	t.Run("case 29: a smaller window than before", func(t *testing.T) {
		compactions := 0
		m := newScript(t, say("Hi."))
		turn := compactable(200, &compactions) // 20,000 tokens
		run(t, newAgent(t, m, agent.Options{ContextWindow: 8000}), turn)
		req := m.requests()[0]
		if compactions != 1 || len(req.Messages) != 5 {
			t.Errorf("%d summaries, %d messages in the first request, want 1 and 5", compactions, len(req.Messages))
		}
		contains(t, "system prompt", req.System, "THE SUMMARY")
	})
	t.Run("case 27: in the middle of a tool loop", func(t *testing.T) {
		compactions := 0
		turn := compactable(40, &compactions) // 4,000 tokens
		var notes []string
		turn.Progress = func(p agent.Progress) { notes = append(notes, p.Note) }
		big := get(func(context.Context, agent.Call) (string, error) { return strings.Repeat("result ", 2000), nil })
		m := newScript(t, call(`c1 get {"n":1}`), call(`c2 get {"n":2}`), say("Done."))
		res := run(t, newAgent(t, m, agent.Options{ContextWindow: 8000}, big), turn)
		if compactions != 1 || res.Text != "Done." || !strings.Contains(strings.Join(notes, "|"), "Organizing the conversation…") {
			t.Errorf("%d summaries, Text = %q, notes %q; want 1, Done. and a note about it", compactions, res.Text, notes)
		}
		for i, req := range m.requests() {
			if n := window.Count(req.Messages, nil); n > 8000 {
				t.Errorf("request %d takes about %d tokens of 8000", i, n)
			}
			if !strings.Contains(show(req.Messages), "user: what now?") {
				t.Errorf("request %d lacks the question", i)
			}
		}
	})
	t.Run("case 31: nothing to summarise", func(t *testing.T) {
		m := newScript(t, say("Hi."))
		turn := turnOf("what now?")
		turn.History.Messages = []sessions.Message{{Seq: 1, Role: sessions.RoleUser, Content: strings.Repeat("word ", 20_000)}}
		asked := 0
		turn.Compact = func(_ context.Context, _ *window.Keep) (sessions.History, error) {
			asked++
			return sessions.History{}, recap.ErrNothingToSummarize
		}
		run(t, newAgent(t, m, agent.Options{ContextWindow: 8000}), turn)
		req := m.requests()[0]
		if n := window.Count(req.Messages, nil); asked != 0 || n > 8000 || len(req.Messages) == 0 {
			t.Errorf("asked %d times, then %d messages of %d tokens; want never and a view that fits", asked, len(req.Messages), n)
		}
	})
}

// TestCase13SixtyCalls: a turn of 60 calls outgrows the window. Its older groups are
// dropped whole, the question is kept, each request is valid (the script checks that)
// and fits, and dropped calls are listed in short.
func TestCase13SixtyCalls(t *testing.T) {
	const size, calls = 8000, 60
	words := strings.Repeat("result ", 200)
	big := get(func(_ context.Context, c agent.Call) (string, error) { return "shelf " + string(c.Args) + words, nil })
	var replies []reply
	for i := range calls {
		replies = append(replies, call(fmt.Sprintf(`call_0 get {"n":%d}`, i)))
	}
	m := newScript(t, append(replies, say("Done."))...)
	res := run(t, newAgent(t, m, agent.Options{ContextWindow: size, MaxSteps: calls + 5}, big), turnOf("what now?"))
	reqs := m.requests()
	if res.Text != "Done." || len(reqs) != calls+1 || len(res.Messages) != 2*calls+2 {
		t.Fatalf("Text = %q after %d requests, %d messages; want Done., %d and all of them", res.Text, len(reqs), len(res.Messages), calls+1)
	}
	trimmed := 0
	for i, req := range reqs {
		if n := window.Count(req.Messages, nil); n > size*9/10 {
			t.Errorf("request %d takes about %d tokens of %d", i, n, size)
		}
		text := show(req.Messages)
		if !strings.HasPrefix(req.Messages[0].Content, "what now?") || strings.Contains(text, "(no result") {
			t.Errorf("request %d lacks the question, or has a call without its result", i)
		}
		whole := (len(req.Messages) - 1) / 2 // groups
		if whole < i {
			trimmed++
			want := fmt.Sprintf("[%d earlier messages of this turn are left out here", 2*(i-whole))
			if !strings.HasPrefix(req.Messages[0].Content, "what now?\n\n"+want) {
				t.Errorf("request %d shows %d of %d calls, and then %q, want %s", i, whole, i, req.Messages[0].Content, want)
			}
		}
		for n := range i {
			how := fmt.Sprintf(`- get {"n":%d}: shelf {"n":%[1]d`, n)
			if n >= i-whole {
				how = fmt.Sprintf(`get {"n":%d}]`, n)
			}
			if !strings.Contains(text, how) {
				t.Errorf("request %d lacks %s", i, how)
			}
		}
	}
	if trimmed < calls/2 {
		t.Errorf("%d requests were trimmed, want many", trimmed)
	}
}

// TestCalibration: a server that counts twice as many tokens gets half as much text.
func TestCalibration(t *testing.T) {
	var c agent.Calibration
	counting := func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		resp := response("ok", "stop")
		resp.Usage = &sessions.Usage{Input: 2 * (window.Count(r.Messages, nil) + window.EstimateText(r.System))}
		resp.Message.Usage = nil
		return resp, nil
	}
	m := newScript(t, counting)
	a := newAgent(t, m, agent.Options{ContextWindow: 8000}).Calibrated(&c)
	for range 20 {
		turn := turnOf("and now?")
		turn.History.Messages = long(100)
		runUnsummarised(t, a, turn)
	}
	if f := c.Factor("scripted"); f < 1.8 || f > 2 {
		t.Errorf("Factor = %.2f, want near 2", f)
	}
	if f := c.Factor("another"); f != 1 {
		t.Errorf("Factor of an unknown model = %.2f, want 1", f)
	}
	reqs := m.requests()
	if n := 2 * window.Count(reqs[len(reqs)-1].Messages, nil); n > 8000 {
		t.Errorf("the last request takes %d of 8000 tokens as the server counts", n)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				c.Observe("scripted", 3000, 2000)
				_ = c.Factor("scripted")
			}
		})
	}
	wg.Wait()
}

// TestCase15LateResult: a result of a finished turn, or of a call that a summary
// covers, answers no call of this turn, even with the same id. It is left out, and
// the log says so without showing it.
func TestCase15LateResult(t *testing.T) {
	for name, history := range map[string]sessions.History{
		"after its turn was cancelled": {Messages: []sessions.Message{
			{Seq: 1, Role: sessions.RoleUser, Content: "first", Turn: "t0"},
			{Seq: 2, Role: sessions.RoleAssistant, Content: "(stopped)", Turn: "t0"},
			{Seq: 3, Role: sessions.RoleTool, ToolCallID: "call_0", Content: "LATE", Turn: "t0"},
		}},
		"after a compaction": {
			Summary: &sessions.Summary{Text: "They looked.", CoversSeq: 2},
			Messages: []sessions.Message{
				{Seq: 3, Role: sessions.RoleTool, ToolCallID: "call_0", Content: "LATE", Turn: "t0"},
				{Seq: 4, Role: sessions.RoleAssistant, Content: "I looked.", Turn: "t0"},
			},
		},
	} {
		t.Run("case 15: "+name, func(t *testing.T) {
			m := newScript(t, call("call_0 get {}"), say("Done."))
			turn := turnOf("go on")
			turn.History = history
			run(t, newAgent(t, m, agent.Options{}, newCounter("get")), turn)
			for i, req := range m.requests() {
				if strings.Contains(show(req.Messages), "LATE") {
					t.Errorf("request %d has the result of another turn", i)
				}
			}
		})
	}
}

// TestCase14PrunedAndFitted: a request is still valid after pruning and fitting.
func TestCase14PrunedAndFitted(t *testing.T) {
	big := get(func(context.Context, agent.Call) (string, error) { return strings.Repeat("0123456789", 6000), nil })
	var replies []reply
	for i := range 8 {
		replies = append(replies, call(`c get {"n":`+string(rune('0'+i))+`}`))
	}
	m := newScript(t, append(replies, say("Done."))...)
	turn := turnOf("go")
	turn.History.Messages = append(oldResults(3), long(20)...)
	run(t, newAgent(t, m, agent.Options{ContextWindow: 128_000}, big), turn)
	pruned := 0
	for i, req := range m.requests() {
		if err := window.Validate(req.Messages); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
		pruned += strings.Count(show(req.Messages), "to save room")
	}
	if pruned == 0 {
		t.Error("nothing was pruned, so the test proves nothing")
	}
}
