package agent_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/window"
	"dragoman/internal/testkit"
	"dragoman/sessions"
)

// looped is the result of a turn of many tool calls.
type looped struct {
	requests []agent.Request
	shares   []float64 // for each request, the share of its bytes that begins the next one
	cuts     int       // requests that do not begin with the whole one before
	tokens   int       // mean of all requests
}

// loopOf runs one turn of this many steps in a window that is full when it begins.
// Each call and result take about result tokens. Unless summaries is set, nothing can
// be summarised, so the view has to be cut. count counts tokens.
func loopOf(t *testing.T, s setting, steps, result int, summaries bool, count func(string) int) looped {
	t.Helper()
	text := strings.Repeat("shelf row label count note ", result/6)
	look := tool{agent.Spec{Name: "look"}, func(_ context.Context, c agent.Call) (string, error) {
		return string(c.Args) + " " + text, nil
	}}
	n := 0
	m := newScript(t, func(context.Context, agent.Request, func(agent.Delta)) (agent.Response, error) {
		n++
		if n < steps {
			return response("", "tool_calls", sessions.ToolCall{ID: "call_0", Name: "look", Arguments: fmt.Sprintf(`{"at":%d}`, n)}), nil
		}
		return response("Nothing new.", "stop"), nil
	})
	c := window.Presets[window.DefaultPreset]
	if !summaries {
		c.When = window.WhenOff
	}
	a := newAgent(t, m, agent.Options{System: strings.Repeat("Be kind. ", s.prompt/3), ContextWindow: s.window, Compaction: c, MaxSteps: steps + 1, Count: count}, look)
	turn := turnOf("Please look at every place and tell me what you find there.")
	for i := 0; window.Count(turn.History.Messages, nil) < s.window; i++ {
		role := sessions.RoleUser
		if i%2 == 1 {
			role = sessions.RoleAssistant
		}
		turn.History.Messages = append(turn.History.Messages, sessions.Message{
			Seq: int64(i + 1), Role: role, Content: fmt.Sprintf("Message %d. ", i) + strings.Repeat("It is as we said before. ", 20),
		})
	}
	turn.History.FirstSeq = 1
	turn.Compact = func(_ context.Context, keep *window.Keep) (sessions.History, error) {
		h := turn.History
		first := window.CutAt(h.Messages, *keep)
		h.Summary = &sessions.Summary{Text: strings.Repeat("It is as we said. ", 100), CoversSeq: int64(first)}
		h.Messages = h.Messages[first:]
		return h, nil
	}
	if summaries {
		run(t, a, turn)
	} else {
		runUnsummarised(t, a, turn)
	}
	r := looped{requests: m.requests()}
	if len(r.requests) != steps {
		t.Fatalf("%d requests, want %d", len(r.requests), steps)
	}
	for i, q := range r.requests {
		r.tokens += (window.Count(q.Messages, nil) + window.EstimateText(q.System)) / steps
		if i > 0 {
			before, now := wire(t, r.requests[i-1]), wire(t, q)
			same := common(before, now)
			r.shares = append(r.shares, 100*float64(same)/float64(len(before)))
			if same < len(before) {
				r.cuts++
			}
		}
	}
	return r
}

// TestLoopMeasured runs a turn of 60 tool calls in a full window and writes how much
// its requests share into docs/internals/performance.md. The cut moves only when
// there is no more room, so most requests begin with the whole one before.
func TestLoopMeasured(t *testing.T) {
	var b strings.Builder
	b.WriteString("| window | prompt | a call takes | history | shared, mean | median | cuts | tokens per request |\n|---|---|---|---|---|---|---|---|\n")
	for i, s := range []setting{bare, bare, usual, usual} {
		for _, result := range []int{500, 1000} {
			history := []string{"cut", "summarised"}[i%2]
			r := loopOf(t, s, 60, result, i%2 == 1, nil)
			slices.Sort(r.shares)
			mean, median := r.mean(), r.shares[len(r.shares)/2]
			if mean < 83 || median < 100 {
				t.Errorf("in %+v, with %d tokens a call, requests share %.1f %% (median %.1f %%), want at least 83 %% (100 %%)", s, result, mean, median)
			}
			fmt.Fprintf(&b, "| %d | %d | %d | %s | %.1f %% | %.1f %% | %d | %d |\n", s.window, s.prompt, result, history, mean, median, r.cuts, r.tokens)
		}
	}
	publish(t, "loop", b.String())
}

func (r *looped) mean() (percent float64) {
	for _, share := range r.shares {
		percent += share / float64(len(r.shares))
	}
	return percent
}

// publish compares a measured table with the one in docs/internals/performance.md, or
// writes it there.
func publish(t *testing.T, section, table string) {
	t.Helper()
	const path = "../docs/internals/performance.md"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := testkit.ReplaceSection(string(old), section, table)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table)
	if want == string(old) {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Errorf("%s is out of date: run UPDATE=1 go test ./agent -run Measured", path)
	} else if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLoopWithTokenizer: the cut stays as long if tokens are counted with a
// tokenizer, which counts more than the estimate for some results.
func TestLoopWithTokenizer(t *testing.T) {
	count := func(s string) int {
		return window.EstimateText(s) * (5 + len(s)%3) / 4
	}
	r := loopOf(t, bare, 60, 500, false, count)
	if mean := r.mean(); mean < 85 || r.cuts > 9 {
		t.Errorf("requests share %.1f %% and are cut %d times, want at least 85 %% and at most 9 times", mean, r.cuts)
	}
	for i, q := range r.requests {
		if n := window.Count(q.Messages, count) + count(q.System); n > bare.window {
			t.Errorf("request %d takes %d tokens, as they are counted, of %d", i, n, bare.window)
		}
	}
}
