package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/anthropic"
	"dragoman/agent/window"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

var here = sessions.Provenance{API: wire.APIMessages, Host: "api.example.com", Model: "claude-opus-5"}

// body returns the body of the request in.
func body(t *testing.T, in *wire.Input) string {
	t.Helper()
	if in.To.Model == "" {
		in.To = here
	}
	parts, err := anthropic.Messages{}.Encode(in)
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	out := string(bytes.Join(parts, nil))
	if !json.Valid([]byte(out)) {
		t.Fatalf("the body is not JSON: %s", out)
	}
	return out
}

// fields returns the decoded body.
func fields(t *testing.T, in *wire.Input) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body(t, in)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func equal(t *testing.T, got any, want string) {
	t.Helper()
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// decoded returns the response to in that events add up to, and what was
// streamed.
func decoded(t *testing.T, in *wire.Input, events ...string) (out agent.Response, text, thoughts string) {
	t.Helper()
	if in.To.Model == "" {
		in.To = here
	}
	a := anthropic.Messages{}.Decode(in, func(d agent.Delta) {
		text += d.Text
		thoughts += d.Reasoning
	})
	for _, e := range events {
		data := []byte(e)
		if _, err := a.Add("", data); err != nil {
			t.Fatalf("Add(%s): %v", e, err)
		}
		clear(data) // Add may use it only during the call
	}
	if err := a.Check(); err != nil || !a.Finished() {
		t.Fatalf("Check() = %v, Finished() = %v", err, a.Finished())
	}
	a.Fill(&out)
	return out, text, thoughts
}

func user(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Content: text}
}

func result(id, text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Content: text}
}

func TestRequest(t *testing.T) {
	in := &wire.Input{
		Request: &agent.Request{
			System: "Be kind.",
			Messages: window.Alternate(window.Repair([]sessions.Message{
				{Role: sessions.RoleAssistant, Content: "Hello!"},
				user("Hm."), user("What is this?"),
				{Role: sessions.RoleAssistant, Content: "Let me look.", Model: "m", ToolCalls: []sessions.ToolCall{
					{ID: "abcdefgh1", Name: "clock", Arguments: `{"zone":"UTC"}`}, {ID: "b:0", Name: "note", Arguments: "half {"},
				}},
				{Role: sessions.RoleTool, ToolCallID: "b:0", Content: "It failed.", Failed: true},
				user("Quick!"), result("abcdefgh1", ""),
				{Role: sessions.RoleAssistant},
				user(" "),
			}), "m"),
			Tools: []agent.Spec{{Name: "clock", Description: "Tells the time.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}, {Name: "note", Parameters: json.RawMessage(`{"type":"object"}`)}},
		},
		Pictures: func(m *sessions.Message) []wire.Picture {
			if !strings.HasSuffix(m.Content, "What is this?") {
				return nil
			}
			return []wire.Picture{{MediaType: "image/png", Data: []byte{1, 2}}}
		},
	}
	got := fields(t, in)
	foreign := got["messages"].([]any)[4].(map[string]any)["content"].([]any)[1].(map[string]any)["tool_use_id"].(string)
	equal(t, got, strings.ReplaceAll(`{
		"model": "claude-opus-5", "stream": true, "max_tokens": 8192,
		"system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
		"tools": [
			{"name": "clock", "description": "Tells the time.", "input_schema": {"type": "object", "properties": {}}},
			{"name": "note", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
		],
		"messages": [
			{"role": "user", "content": [{"type": "text", "text": "[The conversation goes on here.]"}]},
			{"role": "assistant", "content": [{"type": "text", "text": "Hello!"}]},
			{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQI="}}, {"type": "text", "text": "Hm.\n\nWhat is this?"}]},
			{"role": "assistant", "content": [
				{"type": "text", "text": "Let me look."},
				{"type": "tool_use", "id": "abcdefgh1", "name": "clock", "input": {"zone": "UTC"}},
				{"type": "tool_use", "id": "ID", "name": "note", "input": {"invalid_arguments": "half {"}}
			]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "abcdefgh1", "content": "(no output)"},
				{"type": "tool_result", "tool_use_id": "ID", "content": "It failed.", "is_error": true}
			]},
			{"role": "assistant", "content": [{"type": "text", "text": "(I have the results.)", "cache_control": {"type": "ephemeral"}}]},
			{"role": "user", "content": [{"type": "text", "text": "Quick!\n\n(empty message)"}]}
		]}`, `"ID"`, fmt.Sprintf("%q", foreign)))
	if strings.Contains(foreign, ":") {
		t.Errorf("a foreign id is sent as %q", foreign)
	}
}

// There are at most four cache marks, and in a turn the newest results have
// one.
func TestMarks(t *testing.T) {
	in := &wire.Input{Request: &agent.Request{
		System: "s", Tools: []agent.Spec{{Name: "t", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Messages: []sessions.Message{
			user("1"),
			{Role: sessions.RoleAssistant, Content: "2"},
			user("3"),
			{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "t"}, {ID: "b", Name: "t"}}},
			result("a", "x"), result("b", "y"),
		},
	}}
	got := body(t, in)
	if n := strings.Count(got, "cache_control"); n != 4 {
		t.Errorf("%d marks, want 4: %s", n, got)
	}
	for _, marked := range []string{`"text":"s"`, `"text":"2"`, `"content":"y"`, `"name":"t","input_schema":{"type":"object"}`} {
		if !strings.Contains(got, marked+`,"cache_control"`) {
			t.Errorf("%s is not marked: %s", marked, got)
		}
	}
}

// The API refuses a request without tools if the history has calls. So their
// tools are declared, and none may be called.
func TestPastTools(t *testing.T) {
	in := &wire.Input{Request: &agent.Request{Tools: []agent.Spec{{Name: "t"}}, Messages: []sessions.Message{user("1")}}, Traits: wire.Traits{NoTools: true}}
	if got := fields(t, in); got["tools"] != nil || got["tool_choice"] != nil {
		t.Errorf("without tools: %v", got)
	}
	call := []sessions.ToolCall{{ID: "a", Name: "old"}, {ID: "b", Name: "old"}}
	in.Request.Messages = append(in.Request.Messages, sessions.Message{Role: sessions.RoleAssistant, ToolCalls: call}, result("a", "x"), result("b", "y"))
	got := fields(t, in)
	equal(t, got["tools"], `[{"name":"old","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]`)
	equal(t, got["tool_choice"], `{"type":"none"}`)
}

func TestEffort(t *testing.T) {
	half := float32(1.5)
	for _, test := range []struct {
		model, effort string
		max           int
		want          string // thinking, output_config, temperature, max_tokens
	}{
		{"claude-3-haiku-20240307", "high", 0, `null null 1 32000`},
		{"claude-3-5-sonnet-latest", "", 0, `null null 1 32000`},
		{"claude-3-7-sonnet-20250219", "high", 0, `{"budget_tokens":16000,"type":"enabled"} null null 32000`},
		{"claude-opus-4-20250514", "low", 0, `{"budget_tokens":2048,"type":"enabled"} null null 32000`},
		{"anthropic/claude-sonnet-4.5", "none", 0, `null null 1 32000`},
		{"claude-haiku-4-5-20251001", "max", 3000, `{"budget_tokens":1500,"type":"enabled"} null null 3000`},
		{"claude-haiku-4-5-20251001", "max", 2000, `null null 1 2000`},
		{"claude-sonnet-4-6", "xhigh", 0, `{"type":"adaptive"} {"effort":"high"} null 32000`},
		{"claude-sonnet-4-6", "none", 0, `{"type":"disabled"} null 1 32000`},
		{"claude-opus-4-7", "", 0, `null null null 32000`},
		{"claude-opus-5", "minimal", 0, `{"display":"summarized","type":"adaptive"} {"effort":"low"} null 32000`},
		{"claude-opus-5", "none", 0, `{"type":"disabled"} null null 32000`},
		{"claude-sonnet-5-5", "none", 0, `{"type":"between_tools"} null null 32000`},
		{"claude-opus-5-5", "none", 0, `null {"effort":"low"} null 32000`},
		{"claude-fable-5-1", "none", 0, `null {"effort":"low"} null 32000`},
		{"claude-mythos-preview", "max", 0, `{"display":"summarized","type":"adaptive"} {"effort":"max"} null 32000`},
		{"deepseek-chat", "medium", 0, `{"budget_tokens":8192,"type":"enabled"} null null 32000`},
	} {
		in := &wire.Input{Request: &agent.Request{Effort: test.effort, MaxTokens: test.max, Temperature: &half}, Traits: wire.Traits{NeedsMaxTokens: 32000}, To: sessions.Provenance{Model: test.model}}
		got := fields(t, in)
		var list []string
		for _, name := range []string{"thinking", "output_config", "temperature", "max_tokens"} {
			data, _ := json.Marshal(got[name])
			list = append(list, string(data))
		}
		if got := strings.Join(list, " "); got != test.want {
			t.Errorf("%s, effort %q, at most %d: %s, want %s", test.model, test.effort, test.max, got, test.want)
		}
	}
}

func TestTraits(t *testing.T) {
	cold := float32(0)
	in := &wire.Input{
		Request: &agent.Request{Temperature: &cold, Effort: "max", Format: json.RawMessage(`{"type":"object"}`), Messages: []sessions.Message{user("1")}},
		Traits:  wire.Traits{NoTemperature: true, NeedsMaxTokens: 500, JSONSchema: true, Efforts: []string{"low", "high"}},
	}
	equal(t, fields(t, in), `{"model":"claude-opus-5","stream":true,"max_tokens":500,"thinking":{"type":"adaptive","display":"summarized"},
		"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}},
		"messages":[{"role":"user","content":[{"type":"text","text":"1"}]}]}`)
	in.Request.Effort = "none"
	equal(t, fields(t, in)["thinking"], `{"type":"disabled"}`)
}

func TestFailures(t *testing.T) {
	for name, test := range map[string]struct{ event, want string }{
		"error":         {`{"type":"error","error":{"type":"overloaded_error","message":"Later."}}`, `{"type":"overloaded_error","message":"Later."}`},
		"error, odd":    {`{"type":"error","error":"x"}`, `{"type":"error","error":"x"}`},
		"garbage":       {`{"type":"message_stop"`, ""},
		"no block":      {`{"type":"content_block_start","index":0}`, ""},
		"an odd block":  {`{"type":"content_block_start","content_block":{"type":7}}`, ""},
		"an odd delta":  {`{"type":"content_block_delta","delta":7}`, ""},
		"an odd number": {`{"type":"content_block_delta","index":"x","delta":{}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := anthropic.Messages{}.Decode(&wire.Input{Request: &agent.Request{}}, nil)
			_, err := a.Add("", []byte(test.event))
			var failure *wire.StreamError
			errors.As(err, &failure)
			switch {
			case err == nil, a.Finished(), a.Check() == nil:
				t.Errorf("Add = %v, Finished() = %v", err, a.Finished())
			case failure == nil && test.want != "", failure != nil && string(failure.Data) != test.want:
				t.Errorf("Add = %v %+v, want %s", err, failure, test.want)
			}
		})
	}
}
