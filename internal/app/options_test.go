package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/tokens"
	"dragoman/agent/window"
	"dragoman/internal/app"
)

// everyKey sets each key that the agent is made with to what no default is.
const everyKey = `
model: {base_url: 'http://127.0.0.1:1/v1', name: main, context_window: 50000, max_tokens: 777, temperature: 0.5, retries: 6, vision: no,
  reasoning: high, text_tools: off,
  encoding: cl100k_base, others: [{name: small, context_window: 9000}, {name: plain}]}
agent: {system_prompt: "Speak like a pilot.", max_steps: 7, tool_timeout: 33s, time_zone: Asia/Kolkata}
prune: {soft_percent: 41, hard_percent: 61, head: 11, tail: 22, min_result: 4000, min_total: 9000, keep_assistants: 1, exempt: [web_fetch]}
summary: {preset: molf, keep: {n: 6}, max_tokens: 999, prompt: "Only prices.",
  format: json, user_prompt: "Now: ${sessionMessages}", schema: '{"type": "object"}', model: {name: small, context_window: 8000}}
`

// What the configuration says about models, prompts, summaries and results of
// tools is what the agent is made with.
func TestConfigurationReachesTheAgent(t *testing.T) {
	t.Parallel()
	d, err := app.Open(t.Context(), newPlace(t, everyKey).config(), app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := app.AgentOptions(d)
	if err != nil {
		t.Fatal(err)
	}
	half := float32(0.5)
	compaction := window.Presets["molf"]
	compaction.Keep.N = 6
	compaction.MaxTokens = 999
	compaction.Prompt = "Only prices."
	compaction.Format = window.JSON
	compaction.UserPrompt = "Now: ${sessionMessages}"
	compaction.Schema = `{"type": "object"}`
	zone, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Options{
		System: "Speak like a pilot.", Zone: zone, MaxSteps: 7, ContextWindow: 50000, Windows: map[string]int{"small": 9000},
		MaxTokens: 777, Temperature: &half, Effort: "high", TextTools: "off", ToolTimeout: 33 * time.Second, Tries: 7,
		Prune: window.Prune{
			SoftPercent: 41, HardPercent: 61, Head: 11, Tail: 22, MinResult: 4000, MinTotal: 9000, KeepAssistants: 1, Exempt: []string{"web_fetch"},
		},
		Compaction: compaction, SummarizerWindow: 8000,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(agent.Options{}, "Count", "Cannot", "Summarizer", "Models", "Personas", "Logger", "OnSilentCut", "UnmarkedThoughts", "OnUnmarkedThoughts"), cmp.Comparer(func(x, y *time.Location) bool { return x.String() == y.String() })); diff != "" {
		t.Errorf("the agent's options (-want +got):\n%s", diff)
	}
	if got.Cannot == nil {
		t.Error("the model is not told what it cannot do")
	}
	if got.Summarizer == nil || got.Summarizer.Name() != "small" {
		t.Errorf("summaries are written by %v, want small", got.Summarizer)
	}
	if got.Models == nil {
		t.Error("conversations can name no other model")
	} else if m, err := got.Models("plain"); err != nil || m.Name() != "plain" {
		t.Errorf("the model that a conversation names = %v, %v", m, err)
	}
	counter, err := tokens.Open("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	const text = "Donaudampfschifffahrtsgesellschaft, 4711 and antidisestablishmentarianism"
	if n := counter.Count(text); got.Count == nil || got.Count(text) != n || n == window.EstimateText(text) {
		t.Errorf("model.encoding is not what tokens are counted with: want %d, which is not the estimate %d", n, window.EstimateText(text))
	}
	if got.Logger == nil {
		t.Error("the agent has no logger")
	}
}

// The agent that answers was made with those options: another model writes the
// summaries, with the configured words, and the answers have the prompt.
func TestConfiguredSummariesAreWritten(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main", "small"}, Reply: func(req *agenttest.Request) agenttest.Reply {
		if req.Model == "small" {
			return agenttest.TextReply(`{"topic": "Counting"}`)
		}
		return nil
	}})
	r := newPlace(t, fmt.Sprintf(`
model: {base_url: '%s', name: main, vision: no}
agent: {system_prompt: "Speak like a pilot."}
summary: {preset: picoclaw, trigger: {messages: 3}, keep: {n: 1}, max_tokens: 999, prompt: "Only prices.", model: {name: small},
  format: json, user_prompt: "Since: ${sessionMessages} So far: ${previousSummary}", schema: '{"type": "object", "required": ["topic"]}'}
`, server.URL())).run()
	page := r.page("")
	for _, text := range []string{"one", "two", "three"} {
		r.ask(page, text)
	}
	of := func(model string) []*agenttest.Request {
		return slices.DeleteFunc(server.Requests(), func(req *agenttest.Request) bool { return req.Model != model })
	}
	r.until("the summary", func() bool { return strings.Contains(r.log.String(), "conversation summarised") })
	summary, answer := string(of("small")[0].Body), string(of("main")[0].Body)
	for _, want := range []string{"Only prices.", "999", "Since: ", "one", "So far: (There is none yet.)", `required\": [\"topic\"]`} {
		if !strings.Contains(summary, want) {
			t.Errorf("the request for a summary lacks %s: %s", want, summary)
		}
	}
	if !strings.Contains(answer, "Speak like a pilot.") {
		t.Errorf("the request for an answer lacks the prompt: %s", answer)
	}
	r.ask(page, "four")
	answers := of("main")
	if last := string(answers[len(answers)-1].Body); !strings.Contains(last, `topic\": \"Counting`) {
		t.Errorf("the request after the summary lacks what follows the schema: %s", last)
	}
}
