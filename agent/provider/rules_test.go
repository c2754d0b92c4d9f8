package provider_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/agenttest/providers"
	"dragoman/agent/provider"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// clock is a tool that always answers "noon".
type clock struct{}

func (clock) Spec() agent.Spec { return agent.Spec{Name: "time", Effect: agent.EffectRead} }

func (clock) Run(context.Context, agent.Call) (string, error) { return "noon", nil }

// strange returns traits that hold only the API.
func strange(_, _, api string) wire.Traits { return wire.Traits{API: api} }

// foreign is a turn of another model, with calls.
var foreign = []sessions.Message{
	{Role: sessions.RoleUser, Content: "earlier"},
	{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "abcdefgh1", Name: "time", Arguments: `{"zone":"CET"}`}}, Attached: &sessions.Attached{
		By: sessions.Provenance{API: wire.APIChat, Host: "elsewhere", Model: "other"}, Data: json.RawMessage(`{"reasoning_content":"SECRET"}`),
	}},
	{Role: sessions.RoleTool, ToolCallID: "abcdefgh1", Name: "time", Content: "noon"},
	{Role: sessions.RoleAssistant, Content: "It is noon."},
}

// Requests keep each provider's rules: with the table at once, and without it
// after the provider's refusals. A second turn of two tool calls, after a turn
// of another model, then needs no refusal.
func TestProvidersRules(t *testing.T) {
	warm := float32(0.3)
	for _, p := range providers.All() {
		for name, traits := range map[string]func(base, model, api string) wire.Traits{"known": nil, "learned": strange} {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				s := providers.Serve(t, p)
				o := provider.Options{Options: wire.Options{BaseURL: s.URL(), APIKey: providers.Key}, Name: p.Model, Traits: traits}
				if strings.HasPrefix(p.Name, "Claude") {
					o.API = wire.APIMessages
				}
				m, err := provider.New(o)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				run := func() agent.Result {
					t.Helper()
					a, err := agent.New(m, []agent.Tool{clock{}}, agent.Options{System: "You help.", Temperature: &warm, MaxTokens: 500, Tries: 1})
					if err != nil {
						t.Fatal(err)
					}
					res, err := a.Run(t.Context(), agent.Turn{
						ID: "t", History: sessions.History{Messages: foreign},
						Input: []sessions.Message{{Role: sessions.RoleUser, Content: "please\ncall time\ncall time {\"zone\":\"UTC\"}"}},
					})
					if err != nil {
						t.Fatalf("Run: %v; refused with %q; learned %v", err, s.Refused(), m.Learned())
					}
					return res
				}
				want := "heard: please"
				if !p.NoTools {
					want += " -> noon"
				}
				if got := run().Text; got != want {
					t.Fatalf("answer = %q, want %q", got, want)
				}
				before := len(s.Refused())
				if got := run().Text; got != want || len(s.Refused()) != before {
					t.Errorf("the second answer is %q, refused with %q", got, s.Refused()[before:])
				}
				for _, r := range s.Requests() {
					if strings.Contains(string(r.Body), "SECRET") {
						t.Errorf("data that another provider attached is sent: %s", r.Body)
					}
				}
				t.Logf("refused %d times, learned %v", before, whats(m.Learned()))
			})
		}
	}
}

func whats(list []provider.Learned) (out []string) {
	for _, l := range list {
		out = append(out, l.What)
	}
	slices.Sort(out)
	return out
}
