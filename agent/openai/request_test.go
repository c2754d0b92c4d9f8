package openai_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/window"
	"dragoman/agent/wire"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// inTurn returns msgs in the form that requests have: see [agent.Request].
func inTurn(msgs ...sessions.Message) []sessions.Message {
	return window.Alternate(window.Repair(msgs), "m")
}

func TestRequestBody(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	zero := float32(0)
	for _, name := range []string{"fake", "gpt-5-local", "gpt-6-sol", "o3", "text-davinci-003", `odd "name"`} {
		m := model(t, s.URL(), func(in *wire.Input) { in.To.Model = name })
		_, _, _, err := complete(t, m, agent.Request{
			System: "Be brief.",
			Messages: inTurn(
				sessions.Message{Role: sessions.RoleUser, Content: "hi", Name: "Ann Lee"},
				sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "abcdefgh1", Name: "time"}, {ID: "abcdefgh2", Name: "time", Arguments: "{half"}}, Model: "m"},
				sessions.Message{Role: sessions.RoleTool, ToolCallID: "abcdefgh1"},
				sessions.Message{Role: sessions.RoleTool, ToolCallID: "abcdefgh2", Content: "bad \xff"},
				sessions.Message{Role: sessions.RoleUser},
			),
			Tools:     []agent.Spec{{Name: "time", Description: "The time.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}, {Name: "zone", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"}}}`)}},
			MaxTokens: 100, Temperature: &zero,
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		requests := s.Requests()
		var got any
		if err := json.Unmarshal(requests[len(requests)-1].Body, &got); err != nil {
			t.Fatal(err)
		}
		quoted, _ := json.Marshal(name)
		var want any
		if err := json.Unmarshal([]byte(`{"model":`+string(quoted)+`,"messages":[
			{"role":"system","content":"Be brief."},
			{"role":"user","content":"hi"},
			{"role":"assistant","tool_calls":[
				{"id":"abcdefgh1","type":"function","function":{"name":"time","arguments":"{}"}},
				{"id":"abcdefgh2","type":"function","function":{"name":"time","arguments":"{\"invalid_arguments\":\"{half\"}"}}]},
			{"role":"tool","tool_call_id":"abcdefgh1","content":"(no output)"},
			{"role":"tool","tool_call_id":"abcdefgh2","content":"bad �"},
			{"role":"assistant","content":"(I have the results.)"},
			{"role":"user","content":"(empty message)"}],
			"tools":[
				{"type":"function","function":{"name":"time","description":"The time.","parameters":{"type":"object","properties":{}}}},
				{"type":"function","function":{"name":"zone","parameters":{"type":"object","properties":{"z":{"type":"string"}}}}}],
			"max_tokens":100,"temperature":0.0001,"stream":true,"stream_options":{"include_usage":true}}`), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("body for %s (-want +got):\n%s", name, diff)
		}
	}
}

// The encoded tools are reused, but never for other tools.
func TestToolsThatChange(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	schema := []byte(`{"type":"object","title":"a"}`)
	r := ask("hi")
	r.Tools = []agent.Spec{{Name: "x", Description: "one", Parameters: schema}}
	again := r
	described := r
	described.Tools = []agent.Spec{{Name: "x", Description: "two", Parameters: schema}}
	more := r
	more.Tools = append(slices.Clone(r.Tools), agent.Spec{Name: "y", Parameters: json.RawMessage(`{"type":"object"}`)})
	for i, step := range []struct {
		r    agent.Request
		want string
	}{
		{r, `[{"function":{"name":"x","description":"one","parameters":{"type":"object","title":"a"}},"type":"function"}]`},
		{again, `[{"function":{"name":"x","description":"one","parameters":{"type":"object","title":"a"}},"type":"function"}]`},
		{described, `[{"function":{"name":"x","description":"two","parameters":{"type":"object","title":"a"}},"type":"function"}]`},
		{ask("no tools"), ``},
		{more, `[{"function":{"name":"x","description":"one","parameters":{"type":"object","title":"a"}},"type":"function"},{"function":{"name":"y","parameters":{"type":"object"}},"type":"function"}]`},
		{r, `[{"function":{"name":"x","description":"one","parameters":{"type":"object","title":"b"}},"type":"function"}]`},
	} {
		if i == 5 {
			copy(schema, `{"type":"object","title":"b"}`) // its owner changes it
		}
		if _, _, _, err := complete(t, m, step.r); err != nil {
			t.Fatal(err)
		}
		requests := s.Requests()
		var got struct {
			Tools json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(requests[len(requests)-1].Body, &got); err != nil || string(got.Tools) != step.want {
			t.Errorf("request %d has the tools %s, %v, want %s", i, got.Tools, err, step.want)
		}
	}
}

func TestRequestThatCannotBeEncoded(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	r := ask("hi")
	r.Tools = []agent.Spec{{Name: "broken", Parameters: json.RawMessage(`{"type":`)}}
	_, _, _, err := complete(t, model(t, s.URL()), r)
	var me *agent.ModelError
	if !errors.As(err, &me) || me.Kind != agent.ErrorInvalid || s.Count() != 0 {
		t.Errorf("broken schema: %v after %d requests, want invalid", err, s.Count())
	}
}
