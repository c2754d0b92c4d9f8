package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/recap"
	"dragoman/channels"
	"dragoman/sessions"
)

// able is a model with abilities.
type able struct {
	*script
	abilities agent.Abilities
}

func (m *able) Abilities() agent.Abilities { return m.abilities }

// described is a tool whose description takes about this many tokens.
func described(name string, keep, tokens int) agent.Tool {
	c := newCounter(name)
	c.spec.Description, c.spec.Keep = strings.Repeat("word ", tokens), keep
	c.spec.Finds = name == "search_history"
	return c
}

func names(specs []agent.Spec) string {
	var list []string
	for _, s := range specs {
		list = append(list, s.Name)
	}
	return strings.Join(list, " ")
}

// TestToolsInSmallWindows: without room for all tools the least needed are dropped,
// and the prompt of a model that gets none mentions none.
func TestToolsInSmallWindows(t *testing.T) {
	all := []agent.Tool{
		described("time", 50, 50), described("write_file", -50, 300), described("read_file", -30, 300), described("web_fetch", -20, 300),
		described("search_history", 40, 200), described("mcp_tool", 0, 300),
	}
	const prompt, toolless = "Use tools.", "Be kind."
	for _, test := range []struct {
		name  string
		model agent.Abilities
		opts  agent.Options
		want  string
	}{
		{"a large one", agent.Abilities{}, agent.Options{ContextWindow: 8000}, "mcp_tool read_file search_history time web_fetch write_file"},
		{"2048", agent.Abilities{}, agent.Options{ContextWindow: 2048}, "mcp_tool search_history time web_fetch"},
		{"1024", agent.Abilities{}, agent.Options{ContextWindow: 1024}, "search_history time"},
		{"400", agent.Abilities{}, agent.Options{ContextWindow: 400}, "time"},
		{"a server that takes less than is configured", agent.Abilities{Window: 1024}, agent.Options{ContextWindow: 8000}, "search_history time"},
		{"a server that says how much", agent.Abilities{Window: 1024}, agent.Options{}, "search_history time"},
		{"a model without tools", agent.Abilities{NoTools: true}, agent.Options{ContextWindow: 8000}, ""},
	} {
		m := &able{newScript(t, say("ok")), test.model}
		test.opts.System, test.opts.Toolless = prompt, toolless
		a := newAgent(t, m, test.opts, all...)
		turn := turnOf("hi")
		turn.History = sessions.History{Messages: long(4), Omitted: 5}
		runUnsummarised(t, a, turn)
		r := m.requests()[0]
		if got := names(r.Tools); got != test.want {
			t.Errorf("%s: the tools are %q, want %q", test.name, got, test.want)
		}
		if promises := strings.HasPrefix(r.System, prompt); promises != (test.want != "") || !promises && !strings.Contains(r.System, toolless) {
			t.Errorf("%s: the prompt is %q", test.name, r.System)
		}
		if hints := strings.Contains(r.Messages[0].Content, "search_history"); hints != strings.Contains(test.want, "search_history") {
			t.Errorf("%s: the view begins with %q", test.name, r.Messages[0].Content)
		}
	}
}

// TestAbilitiesOf: the abilities of a wrapped model are found.
func TestAbilitiesOf(t *testing.T) {
	want := agent.Abilities{NoTools: true, Window: 7}
	m := &able{newScript(t, say("ok")), want}
	if got := agent.AbilitiesOf(wrapped{m}); got != want {
		t.Errorf("AbilitiesOf = %+v, want %+v", got, want)
	}
	if got := agent.AbilitiesOf(m.script); got != (agent.Abilities{}) {
		t.Errorf("AbilitiesOf a model that says nothing = %+v", got)
	}
}

type wrapped struct{ agent.Model }

func (w wrapped) Unwrap() agent.Model { return w.Model }

// TestSilentCut: a server that truncates long requests without an error is noticed by
// its token counts. From then on requests fit.
func TestSilentCut(t *testing.T) {
	const real = 4056
	m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
		n := 0
		for _, msg := range r.Messages {
			n += len(msg.Content)/5 + 4
		}
		resp := response("I see.", "stop")
		resp.Usage = &sessions.Usage{Input: min(n, real), Output: 5}
		return resp, nil
	})
	var told []int
	a := newAgent(t, m, agent.Options{ContextWindow: 32768, OnSilentCut: func(_ string, window int) { told = append(told, window) }})
	var history []sessions.Message
	for i := range 12 {
		turn := turnOf(strings.Repeat("word ", 800))
		turn.ID = strings.Repeat("t", i+1)
		turn.History.Messages = history
		history = append(history, runUnsummarised(t, a, turn).Messages...)
	}
	if len(told) != 1 || told[0] < 3000 || told[0] > real+100 {
		t.Fatalf("OnSilentCut got %v, want one window of about %d", told, real)
	}
	reqs := m.requests()
	size := 0
	for _, msg := range reqs[len(reqs)-1].Messages {
		size += len(msg.Content)/5 + 4
	}
	if size > real {
		t.Errorf("the last request has %d tokens, and its server reads %d", size, real)
	}
	if a.Level(sessions.History{Messages: history}) != recap.Due {
		t.Error("no summary is wanted")
	}
}

// TestNoSilentCut: a server that caches, counts little, or gets the same request
// again is not taken to truncate.
func TestNoSilentCut(t *testing.T) {
	for name, count := range map[string]func(n int) int{
		"counts half":     func(n int) int { return n / 2 },
		"counts nothing":  func(int) int { return 0 },
		"counts in steps": func(n int) int { return n / 500 * 500 },
	} {
		m := newScript(t, func(_ context.Context, r agent.Request, _ func(agent.Delta)) (agent.Response, error) {
			n := 0
			for _, msg := range r.Messages {
				n += len(msg.Content) / 5
			}
			resp := response("I see.", "stop")
			resp.Usage = &sessions.Usage{Input: count(n), Output: 5}
			return resp, nil
		})
		a := newAgent(t, m, agent.Options{ContextWindow: 128_000, OnSilentCut: func(string, int) { t.Errorf("%s: a cut is reported", name) }})
		var history []sessions.Message
		for i := range 20 {
			turn := turnOf(strings.Repeat("word ", 300))
			turn.ID = strings.Repeat("t", i+1)
			turn.History.Messages = history
			history = append(history, runUnsummarised(t, a, turn).Messages...)
		}
	}
}

// TestPausesHoldForTheModel: a pause that a server asked of one conversation holds for
// the others, and no call waits longer than it may.
func TestPausesHoldForTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newScript(t, fail(modelError(agent.ErrorTemporary, time.Minute)), say("ok"))
		a := newAgent(t, m, agent.Options{})
		if _, err := a.Run(t.Context(), turnOf("one")); err == nil {
			t.Fatal("a pause of a minute was waited for")
		}
		other := turnOf("two")
		other.Key = channels.MustKey("cli:other")
		began := time.Now()
		_, err := a.Run(t.Context(), other)
		var me *agent.ModelError
		if !errors.As(err, &me) || me.After != time.Minute || len(m.requests()) != 1 || time.Since(began) > 0 {
			t.Errorf("another conversation: %v after %d requests and %v", err, len(m.requests()), time.Since(began))
		}
		time.Sleep(50 * time.Second)
		if res, err := a.Run(t.Context(), other); err != nil || res.Text != "ok" || time.Since(began) != time.Minute {
			t.Errorf("near its end: %q, %v after %v; want ok when the pause is over", res.Text, err, time.Since(began))
		}
	})
	// A pause of a day is shortened: the model is called again after a minute.
	synctest.Test(t, func(t *testing.T) {
		m := newScript(t, fail(modelError(agent.ErrorTemporary, 24*time.Hour)), say("ok"))
		a := newAgent(t, m, agent.Options{})
		if _, err := a.Run(t.Context(), turnOf("one")); err == nil {
			t.Fatal("a pause of a day was waited for")
		}
		time.Sleep(time.Minute)
		if res, err := a.Run(t.Context(), turnOf("one")); err != nil || res.Text != "ok" {
			t.Errorf("after a minute: %q, %v; want ok", res.Text, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := newScript(t, fail(modelError(agent.ErrorTemporary, 8*time.Second)))
		began := time.Now()
		_, err := newAgent(t, m, agent.Options{Tries: 10}).Run(t.Context(), turnOf("one"))
		if took := time.Since(began); err == nil || took > 20*time.Second {
			t.Errorf("Run() = %v after %v, want an error within 20s", err, took)
		}
	})
}
