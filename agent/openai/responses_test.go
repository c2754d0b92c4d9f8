package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/openai"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

var responsesServer = sessions.Provenance{API: wire.APIResponses, Host: "api.example.com", Model: "gpt-5.6"}

// responsesBody returns the body of the request in.
func responsesBody(t *testing.T, in *wire.Input) string {
	t.Helper()
	if in.To.Model == "" {
		in.To = responsesServer
	}
	parts, err := openai.Responses{}.Encode(in)
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	body := string(bytes.Join(parts, nil))
	if !json.Valid([]byte(body)) {
		t.Fatalf("the body is not JSON: %s", body)
	}
	return body
}

// equalJSON compares two JSON texts by value.
func equalJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := errors.Join(json.Unmarshal([]byte(got), &g), json.Unmarshal([]byte(want), &w)); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// decoded returns the response that events add up to, one JSON object each, and
// what was streamed.
func decoded(t *testing.T, c wire.Codec, to sessions.Provenance, events ...string) (out agent.Response, text, thoughts string) {
	t.Helper()
	a := c.Decode(&wire.Input{Request: &agent.Request{}, To: to}, func(d agent.Delta) {
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
	if !a.Finished() {
		t.Error("Finished() = false at the end")
	}
	if err := a.Check(); err != nil {
		t.Fatalf("Check: %v", err)
	}
	a.Fill(&out)
	return out, text, thoughts
}

func TestResponsesRequest(t *testing.T) {
	warm := float32(0)
	in := &wire.Input{
		Request: &agent.Request{
			System: "Be kind.",
			Messages: inTurn(
				sessions.Message{Role: sessions.RoleUser, Content: "What is <this>?"},
				sessions.Message{Role: sessions.RoleAssistant, Content: "Let me look.", Model: "m", ToolCalls: []sessions.ToolCall{
					{ID: "abcdefgh1", Name: "clock", Arguments: `{"zone":"UTC"}`}, {ID: "functions.note:0", Name: "note", Arguments: "half {"},
				}},
				sessions.Message{Role: sessions.RoleTool, ToolCallID: "functions.note:0", Content: "", Failed: true},
				sessions.Message{Role: sessions.RoleTool, ToolCallID: "abcdefgh1", Content: "noon"},
				sessions.Message{Role: sessions.RoleAssistant},
				sessions.Message{Role: sessions.RoleUser},
			),
			Tools:     []agent.Spec{{Name: "clock", Description: "Tells the time.", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "note", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}},
			MaxTokens: 3, Temperature: &warm, Effort: "minimal", Key: "k1", Format: json.RawMessage(`{"type":"object"}`),
		},
		Traits:   wire.Traits{JSONSchema: true, Efforts: []string{"none", "low", "high"}},
		Pictures: func(m *sessions.Message) []wire.Picture { return pictureIf(m.Content == "What is <this>?") },
	}
	body := responsesBody(t, in)
	var ids struct {
		Input []struct {
			CallID string `json:"call_id"`
		} `json:"input"`
	}
	if err := json.Unmarshal([]byte(body), &ids); err != nil {
		t.Fatal(err)
	}
	second := ids.Input[3].CallID
	if second == "functions.note:0" || len(second) > 64 || second != ids.Input[5].CallID {
		t.Errorf("a foreign id is sent as %q and its result as %q", second, ids.Input[5].CallID)
	}
	equalJSON(t, strings.ReplaceAll(body, second, "ID"), `{
		"model": "gpt-5.6", "stream": true, "store": false, "prompt_cache_key": "k1",
		"include": ["reasoning.encrypted_content"], "instructions": "Be kind.",
		"max_output_tokens": 16, "temperature": 0, "reasoning": {"effort": "low"},
		"text": {"format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}},
		"tools": [
			{"type": "function", "name": "clock", "description": "Tells the time.", "parameters": {"type": "object"}, "strict": false},
			{"type": "function", "name": "note", "parameters": {"type": "object", "properties": {}}, "strict": false}
		],
		"input": [
			{"type": "message", "role": "user", "content": [
				{"type": "input_text", "text": "What is <this>?"}, {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AQI="}
			]},
			{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
			{"type": "function_call", "call_id": "abcdefgh1", "name": "clock", "arguments": "{\"zone\":\"UTC\"}"},
			{"type": "function_call", "call_id": "ID", "name": "note", "arguments": "{\"invalid_arguments\":\"half {\"}"},
			{"type": "function_call_output", "call_id": "abcdefgh1", "output": "noon"},
			{"type": "function_call_output", "call_id": "ID", "output": "(no output)"},
			{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "(I have the results.)"}]},
			{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "(empty message)"}]}
		]}`)
}

func pictureIf(any bool) []wire.Picture {
	if !any {
		return nil
	}
	return []wire.Picture{{MediaType: "image/png", Data: []byte{1, 2}}}
}

func TestResponsesTraits(t *testing.T) {
	half := float32(0.5)
	in := &wire.Input{
		Request: &agent.Request{Tools: []agent.Spec{{Name: "clock"}}, Temperature: &half, Format: json.RawMessage(`{}`)},
		Traits:  wire.Traits{NoTools: true, NoTemperature: true, NeedsMaxTokens: 900},
		To:      sessions.Provenance{Model: "openai/gpt-4.1-mini"},
	}
	equalJSON(t, responsesBody(t, in), `{"model":"openai/gpt-4.1-mini","input":[],"stream":true,"store":false,"max_output_tokens":900}`)
}

// Attached data with spaces, escapes and unknown fields.
const (
	responsesThought = `{"id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"a <b> \u00e9"}],"encrypted_content":"gAAA+/=","new":[1e2]}`
	responsesSecond  = `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"second"}`
)

var responsesTurn = []string{
	`{"type":"response.created","sequence_number":0,"response":{"id":"r","status":"in_progress","output":[]}}`,
	`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
	`{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_1","summary_index":0,"delta":"a <b> é"}`,
	`{"type":"response.output_item.done","output_index":0,"item":` + responsesThought + `}`,
	`{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[],"phase":"commentary"}}`,
	`{"type":"response.output_text.delta","output_index":1,"content_index":0,"item_id":"msg_1","delta":"Let me ","logprobs":[]}`,
	`{"type":"response.output_text.delta","output_index":1,"content_index":0,"item_id":"msg_1","delta":"look.","obfuscation":"xx"}`,
	`{"type":"response.output_text.done","output_index":1,"content_index":0,"item_id":"msg_1","text":"Let me look."}`,
	`{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Let me look.","annotations":[]}]}}`,
	`{"type":"response.output_item.done","output_index":2,"item":` + responsesSecond + `}`,
	`{"type":"response.output_item.added","output_index":3,"item":{"id":"fc_1","type":"function_call","call_id":"call_a","name":"clock","arguments":""}}`,
	`{"type":"response.function_call_arguments.delta","output_index":3,"item_id":"fc_1","delta":"{\"zone\":"}`,
	`{"type":"response.output_item.added","output_index":4,"item":{"id":"fc_2","type":"function_call","call_id":"call_b","name":"note","arguments":""}}`,
	`{"type":"response.function_call_arguments.delta","output_index":3,"item_id":"fc_1","delta":"\"UTC\"}"}`,
	`{"type":"response.function_call_arguments.done","output_index":4,"item_id":"fc_2","arguments":"{\"text\":\"x\"}"}`,
	`{"type":"response.brand_new","output_index":[],"delta":{"x":1}}`,
	`{"type":"response.output_item.done","output_index":3,"item":{"id":"fc_1","type":"function_call","call_id":"call_a","name":"clock","arguments":"{\"zone\":\"UTC\"}","status":"completed"}}`,
	`{"type":"response.output_item.done","output_index":4,"item":{"id":"fc_2","type":"function_call","call_id":"call_b","name":"note","arguments":"{\"text\":\"x\"}","status":"completed"}}`,
	`{"type":"response.completed","response":{"id":"r","model":"gpt-6-astra-2026-08-01","status":"completed","error":null,"output":[],"usage":{"input_tokens":90,"input_tokens_details":{"cached_tokens":64},"output_tokens":12,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":102,"cost":0.5}}}`,
}

func TestResponsesTurn(t *testing.T) {
	resp, text, thoughts := decoded(t, openai.Responses{}, responsesServer, responsesTurn...)
	want := agent.Response{Model: "gpt-6-astra-2026-08-01", Finish: "tool_calls", Thought: true, Usage: &sessions.Usage{Input: 90, Output: 12, Cached: 64, Cost: 0.5}}
	want.Message = sessions.Message{
		Role: sessions.RoleAssistant, Model: "gpt-5.6", Content: "Let me look.", Usage: want.Usage,
		ToolCalls: []sessions.ToolCall{{ID: "call_a", Name: "clock", Arguments: `{"zone":"UTC"}`}, {ID: "call_b", Name: "note", Arguments: `{"text":"x"}`}},
		Attached:  resp.Message.Attached,
	}
	if diff := cmp.Diff(want, resp); diff != "" {
		t.Errorf("the response (-want +got):\n%s", diff)
	}
	if text != "Let me look." || thoughts != "a <b> é" {
		t.Errorf("streamed %q and the thoughts %q", text, thoughts)
	}
}

// Attached data goes back in its place and byte for byte, even from a store
// that writes JSON anew.
func TestResponsesRoundTrip(t *testing.T) {
	resp, _, _ := decoded(t, openai.Responses{}, responsesServer, responsesTurn...)
	m := stored(t, resp.Message)
	input := func(in *wire.Input) string {
		in.Request = &agent.Request{Messages: []sessions.Message{m}}
		_, rest, _ := strings.Cut(responsesBody(t, in), `"input":`)
		items, _, _ := strings.Cut(rest, `,"model":`)
		return items
	}
	const (
		said  = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look."}]}`
		staff = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me look."}],"phase":"commentary"}`
		calls = `{"type":"function_call","call_id":"call_a","name":"clock","arguments":"{\"zone\":\"UTC\"}"},{"type":"function_call","call_id":"call_b","name":"note","arguments":"{\"text\":\"x\"}"}`
	)
	if got, want := input(&wire.Input{}), "["+responsesThought+","+staff+","+responsesSecond+","+calls+"]"; got != want {
		t.Errorf("sent to the same server\n%s\nwant\n%s", got, want)
	}
	other := responsesServer
	other.Model = "gpt-6"
	for name, in := range map[string]*wire.Input{"another model": {To: other}, "OmitAttached": {OmitAttached: true}} {
		if got, want := input(in), "["+said+","+calls+"]"; got != want {
			t.Errorf("%s: sent\n%s\nwant\n%s", name, got, want)
		}
	}
	// All of a message is sent, even if it was changed since.
	m.Content, m.ToolCalls = "Changed.", m.ToolCalls[1:]
	if got := input(&wire.Input{}); !strings.Contains(got, `"text":"Changed."`) || strings.Contains(got, "call_a") || !strings.Contains(got, "call_b") {
		t.Errorf("sent for a changed message: %s", got)
	}
	// The API refuses reasoning that nothing follows.
	m.Content, m.ToolCalls = "Changed.", nil
	if got := input(&wire.Input{}); strings.Contains(got, "rs_2") || !strings.Contains(got, "rs_1") {
		t.Errorf("sent for a message without its calls: %s", got)
	}
}

// stored returns m as read back from a store that indents JSON.
func stored(t *testing.T, m sessions.Message) (out sessions.Message) {
	t.Helper()
	data, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const wholeResponse = `{"id":"r","object":"response","status":"completed","error":null,"output":[` + responsesThought + `,
	{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello!"}]},
	{"type":"function_call","call_id":"c","name":"clock","arguments":"{}"}],"usage":{"input_tokens":3,"output_tokens":2}}`

// Servers may leave out events or repeat them.
func TestResponsesOddServers(t *testing.T) {
	for name, events := range map[string][]string{
		"only the end":  {`{"type":"response.completed","response":` + wholeResponse + `}`},
		"not streaming": {wholeResponse},
		"no deltas": {
			`{"type":"response.output_item.done","output_index":0,"item":` + responsesThought + `}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"Hello!"}]}}`,
			`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"f","call_id":"c","name":"clock","arguments":"{}"}}`,
			`{"type":"response.completed","response":{"usage":{"input_tokens":3,"output_tokens":2}}}`,
		},
		"no items until the end": {
			`{"type":"response.output_text.delta","item_id":"m","output_index":1,"delta":"Hel"}`,
			`{"type":"response.completed","response":` + wholeResponse + `}`,
		},
		"no index, an id for each event": {
			`{"type":"response.output_item.added","item":{"type":"reasoning","id":"a"}}`,
			`{"type":"response.output_item.done","item":` + responsesThought + `}`,
			`{"type":"response.output_item.added","item":{"type":"message","id":"b"}}`,
			`{"type":"response.output_text.delta","item_id":"c","delta":"Hello!"}`,
			`{"type":"response.output_item.done","item":{"type":"message","id":"d","content":[{"type":"output_text","text":"Hello!"}]}}`,
			`{"type":"response.output_item.added","item":{"type":"function_call","id":"e","call_id":"c","name":"clock"}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"g","delta":"{}"}`,
			`{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":3,"output_tokens":2}}}`,
		},
		"everything twice": twice(
			`{"type":"response.output_item.done","output_index":0,"item":`+responsesThought+`}`,
			`{"type":"response.output_text.done","output_index":1,"item_id":"m","text":"Hello!"}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"Hello!"}]}}`,
			`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"f","call_id":"c","name":"clock","arguments":"{}"}}`,
			`{"type":"response.completed","response":`+wholeResponse+`}`,
		),
	} {
		t.Run(name, func(t *testing.T) {
			resp, text, thoughts := decoded(t, openai.Responses{}, responsesServer, events...)
			m := resp.Message
			if m.Content != "Hello!" || text != "Hello!" || thoughts != "a <b> é" {
				t.Errorf("content %q, shown %q, thoughts %q", m.Content, text, thoughts)
			}
			if want := []sessions.ToolCall{{ID: "c", Name: "clock", Arguments: "{}"}}; !cmp.Equal(m.ToolCalls, want) {
				t.Errorf("calls = %v, want %v", m.ToolCalls, want)
			}
			if layout := wire.ReadLayout(&m, responsesServer); layout == nil || len(layout.Parts) != 3 || layout.Parts[0].Raw != responsesThought {
				t.Errorf("layout = %+v", layout)
			}
			if resp.Usage == nil || resp.Usage.Input != 3 {
				t.Errorf("usage = %v", resp.Usage)
			}
		})
	}
}

func twice(events ...string) (out []string) {
	for _, e := range events {
		out = append(out, e, e)
	}
	return out
}

func TestResponsesEnds(t *testing.T) {
	const said = `{"type":"response.output_text.delta","output_index":0,"delta":"So"}`
	for name, test := range map[string]struct {
		events []string
		want   agent.Response
	}{
		"cut by length": {
			[]string{said, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`},
			agent.Response{Finish: "length", Message: sessions.Message{Content: "So"}},
		},
		"cut in a call": {
			[]string{`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"clock"}}`, `{"type":"response.incomplete","response":{}}`},
			agent.Response{Finish: "length", Message: sessions.Message{ToolCalls: []sessions.ToolCall{{ID: "c", Name: "clock", Arguments: "{}"}}}},
		},
		"filtered": {
			[]string{`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`},
			agent.Response{Finish: "content_filter"},
		},
		"refused": {
			[]string{
				`{"type":"response.refusal.delta","output_index":0,"delta":"I will"}`, `{"type":"response.refusal.delta","output_index":0,"delta":" not."}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"refusal","refusal":"I will not."}]}}`,
				`{"type":"response.completed","response":{"status":"completed"}}`,
			},
			agent.Response{Finish: "stop", Refused: true, Message: sessions.Message{Content: "I will not."}},
		},
		"two messages": {
			[]string{said, `{"type":"response.output_text.delta","output_index":1,"delta":"Done."}`, `{"type":"response.completed","response":{}}`},
			agent.Response{Finish: "stop", Message: sessions.Message{Content: "So\n\nDone."}},
		},
		"only thoughts": {
			[]string{`{"type":"response.completed","response":{"output":[],"usage":{"input_tokens":1,"output_tokens":9,"output_tokens_details":{"reasoning_tokens":9}}}}`},
			agent.Response{Finish: "stop", Thought: true, Usage: &sessions.Usage{Input: 1, Output: 9}},
		},
		"nothing": {[]string{`{"type":"response.completed","response":{"usage":{"input_tokens":-1}}}`}, agent.Response{Finish: "stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			resp, shown, _ := decoded(t, openai.Responses{}, responsesServer, test.events...)
			test.want.Message.Role = sessions.RoleAssistant
			test.want.Message.Model = "gpt-5.6"
			test.want.Message.Usage = test.want.Usage
			if diff := cmp.Diff(test.want, resp); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if shown != resp.Message.Content {
				t.Errorf("streamed %q, kept %q", shown, resp.Message.Content)
			}
		})
	}
}

func TestResponsesFailures(t *testing.T) {
	for name, test := range map[string]struct{ event, want string }{
		"failed":           {`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Oh."}}}`, `{"code":"server_error","message":"Oh."}`},
		"failed, no cause": {`{"type":"response.failed","response":{}}`, `{"message":"the response failed"}`},
		"error":            {`{"type":"error","code":"rate_limit_exceeded","message":"Slowly."}`, `{"type":"error","code":"rate_limit_exceeded","message":"Slowly."}`},
		"garbage":          {`{"type":"response.completed"`, ""},
		"no item":          {`{"type":"response.output_item.done"}`, ""},
		"an odd message":   {`{"type":"response.output_item.done","item":{"type":"message","content":7}}`, ""},
		"no response":      {`{"type":"response.completed"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := openai.Responses{}.Decode(&wire.Input{Request: &agent.Request{}}, nil)
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

// A stream that is cut anywhere before its last event is an error. Only events
// with a piece of the answer are progress.
func TestResponsesCut(t *testing.T) {
	a := openai.Responses{}.Decode(&wire.Input{Request: &agent.Request{}}, nil)
	for i, e := range responsesTurn[:len(responsesTurn)-1] {
		progress, err := a.Add("", []byte(e))
		if err != nil || a.Finished() || a.Check() == nil {
			t.Fatalf("after event %d: %v, Finished() = %v, Check() = %v", i, err, a.Finished(), a.Check())
		}
		want := strings.Contains(e, `"delta":"`) || strings.Contains(e, `"arguments":"{`) || strings.Contains(e, `"name":"`)
		if progress != want {
			t.Errorf("event %s: progress = %v, want %v", e, progress, want)
		}
	}
}

func FuzzResponses(f *testing.F) {
	f.Add([]byte(strings.Join(responsesTurn, "\n")))
	f.Add([]byte(wholeResponse))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzCodec(t, openai.Responses{}, responsesServer, data)
	})
}

// fuzzCodec decodes each line of data as an event, and sends the answer back.
func fuzzCodec(t *testing.T, c wire.Codec, to sessions.Provenance, data []byte) {
	var shown strings.Builder
	a := c.Decode(&wire.Input{Request: &agent.Request{}, To: to}, func(d agent.Delta) { shown.WriteString(d.Text) })
	for line := range bytes.Lines(data) {
		if _, err := a.Add("", line); err != nil {
			return
		}
	}
	var resp agent.Response
	a.Fill(&resp)
	m := resp.Message
	if m.Content != shown.String() {
		t.Errorf("streamed %q, kept %q", shown.String(), m.Content)
	}
	for _, call := range m.ToolCalls {
		if call.ID == "" || call.Name == "" || call.Arguments == "" {
			t.Errorf("a tool call has an empty field: %+v", call)
		}
	}
	parts, err := c.Encode(&wire.Input{Request: &agent.Request{Messages: inTurn(m)}, To: to})
	if body := bytes.Join(parts, nil); err != nil || !json.Valid(body) {
		t.Errorf("sent back: %s, %v", body, err)
	}
}
