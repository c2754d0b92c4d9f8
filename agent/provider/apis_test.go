package provider_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"dragoman/agent"
	"dragoman/agent/agenttest/providers"
	"dragoman/agent/provider"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// talk is a conversation. Its messages pass through a store before every
// request.
type talk struct {
	t *testing.T
	m *provider.Model
	r agent.Request
}

func (k *talk) say(text string) {
	k.r.Messages = append(k.r.Messages, sessions.Message{Role: sessions.RoleUser, Content: text})
}

// step makes one request, runs its calls, and returns the text.
func (k *talk) step(calls int) string {
	k.t.Helper()
	data, err := json.MarshalIndent(k.r.Messages, "", "  ")
	if err != nil {
		k.t.Fatal(err)
	}
	k.r.Messages = nil
	if err := json.Unmarshal(data, &k.r.Messages); err != nil {
		k.t.Fatal(err)
	}
	resp, text, _, err := complete(k.t, k.m, k.r)
	if err != nil {
		k.t.Fatalf("request with %d messages: %v", len(k.r.Messages), err)
	}
	m := resp.Message
	if len(m.ToolCalls) != calls || text != m.Content || (resp.Finish == "tool_calls") != (calls > 0) {
		k.t.Fatalf("response = %+v, want %d calls; streamed %q", resp, calls, text)
	}
	if calls > 0 && m.Attached == nil {
		k.t.Error("the message with calls has no attached data")
	}
	k.r.Messages = append(k.r.Messages, m)
	for i, c := range m.ToolCalls {
		k.r.Messages = append(k.r.Messages, sessions.Message{Role: sessions.RoleTool, ToolCallID: c.ID, Content: fmt.Sprintf("%s %d", c.Name, i)})
	}
	return text
}

// A turn of two tool steps, one with parallel calls, works on the APIs that
// want their thoughts back, with a restart before each request.
func TestOtherAPIs(t *testing.T) {
	for _, p := range []providers.Provider{providers.GPT56(), providers.GPT6Astra(), providers.Claude()} {
		api := wire.APIResponses
		if p.Name == "Claude" {
			api = wire.APIMessages
		}
		t.Run(p.Name, func(t *testing.T) {
			s := providers.Serve(t, p)
			k := &talk{t: t, m: model(t, s.URL(), func(o *provider.Options) {
				o.API = api
				o.Name = p.Model
				o.APIKey = providers.Key
				o.Body = map[string]json.RawMessage{"service_tier": json.RawMessage(`"auto"`)}
			})}
			k.r = agent.Request{System: "Be kind.", Key: "c1", Tools: []agent.Spec{{Name: "list"}, {Name: "time"}}}
			k.say("hello")
			if got := k.step(0); got != "heard: hello" {
				t.Errorf("answer = %q", got)
			}
			k.say("look\ncall time {\"zone\":\"UTC\"}\ncall time & list")
			k.step(1)
			k.step(2)
			if got, want := k.step(0), "heard: look -> time 0 & list 1"; got != want {
				t.Errorf("answer = %q, want %q", got, want)
			}
			k.say("bye")
			k.step(0)

			// A summary would remove the beginning.
			k.r.Messages = k.r.Messages[2:]
			k.say("again\ncall list")
			k.step(1)
			k.step(0)

			// An answer of another server in the middle of a turn. Its call is unlike
			// those of this server, which would want its thoughts back.
			k.r.Effort = "high"
			k.say("other")
			k.r.Messages = append(
				k.r.Messages, sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "functions.time:0", Name: "time", Arguments: `{"zone":"Mars"}`}}},
				sessions.Message{Role: sessions.RoleTool, ToolCallID: "functions.time:0", Content: "noon", Failed: true},
			)
			if got, want := k.step(0), "heard: other -> noon"; got != want {
				t.Errorf("answer = %q, want %q", got, want)
			}
			if refused := s.Refused(); len(refused) > 0 {
				t.Errorf("the server refused %q", refused)
			}
			for _, r := range s.Requests() {
				if path := (map[string]string{wire.APIResponses: "/responses", wire.APIMessages: "/messages"})[api]; r.Path != path {
					t.Errorf("request to %s", r.Path)
				}
				if got := string(r.Fields["service_tier"]); got != `"auto"` {
					t.Errorf("the configured field is %q", got)
				}
			}
		})
	}
}
