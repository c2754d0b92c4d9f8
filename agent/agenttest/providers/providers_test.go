package providers_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"dragoman/agent/agenttest/providers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A provider refuses a model that it does not have, whatever its API.
func TestOtherModels(t *testing.T) {
	for _, p := range providers.All() {
		if p.Name == "Mistral's template" {
			continue // llama-server serves its model under any name
		}
		c := serve(t, p)
		name := c.s.Model
		c.s.Model = "nope"
		path := chat
		if strings.HasPrefix(name, "claude") {
			path = messages
		}
		if status, body := c.post(path, hi+`,"max_tokens":9`); status != 404 && (status != 400 || !strings.Contains(body, "Model Not Exist")) {
			t.Errorf("%s, asked for another model: %d %s", p.Name, status, body)
		}
	}
}

// client talks to one server.
type client struct {
	t *testing.T
	s *providers.Server
	c *http.Client
}

func serve(t *testing.T, p providers.Provider) *client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &client{t: t, s: providers.Serve(t, p), c: &http.Client{Transport: tr}}
}

// post sends a body with the model's name added, and returns the answer.
func (c *client) post(path, fields string) (int, string) {
	c.t.Helper()
	body := `{"model":"` + c.s.Model + `",` + fields + `}`
	if !json.Valid([]byte(body)) {
		c.t.Fatalf("the test sends what is no JSON: %s", body)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.s.URL()+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+providers.Key)
	req.Header.Set("x-api-key", providers.Key)
	req.Header.Set("anthropic-version", "2023-06-01")
	resp, err := c.c.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const (
	chat      = "/chat/completions"
	responses = "/responses"
	messages  = "/messages"

	hi        = `"messages":[{"role":"user","content":"hi"}]`
	chatTools = `"tools":[{"type":"function","function":{"name":"time","parameters":{"type":"object"}}}]`
	called    = `{"role":"assistant","tool_calls":[{"id":"abc123XYZ","type":"function","function":{"name":"time","arguments":"{}"}}]}`
	result    = `{"role":"tool","tool_call_id":"abc123XYZ","content":"noon"}`
	picture   = `"messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]`
)

// Each rule refuses what breaks it, with the wording that the provider publishes, and
// accepts what is close to it.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name     string
		provider providers.Provider
		path     string
		fields   string
		status   int
		says     string
	}{
		{"hello", providers.GPT56(), chat, hi, 200, "heard: hi"},
		{"tools", providers.GPT56(), chat, hi + "," + chatTools, 400, "use /v1/responses or set reasoning_effort to 'none'"},
		{"tools and an effort", providers.GPT56(), chat, hi + `,"reasoning_effort":"low",` + chatTools, 400, "reasoning_effort"},
		{"tools without thoughts", providers.GPT56(), chat, hi + `,"reasoning_effort":"none",` + chatTools, 200, "heard"},
		{"max_tokens", providers.GPT56(), chat, hi + `,"max_tokens":9`, 400, "max_completion_tokens"},
		{"its new name", providers.GPT56(), chat, hi + `,"max_completion_tokens":9`, 200, "heard"},
		{"temperature", providers.GPT56(), chat, hi + `,"temperature":0.2`, 400, "Only the default (1) value"},
		{"temperature of 1", providers.GPT56(), chat, hi + `,"temperature":1.0`, 200, "heard"},
		{"an unknown effort", providers.GPT56(), chat, hi + `,"reasoning_effort":"minimal"`, 400, "'none', 'low'"},
		{"temperature in responses", providers.GPT56(), responses, `"input":"hi","temperature":1`, 400, "'temperature' is not supported"},
		{"responses", providers.GPT56(), responses, `"input":"hi","tools":[{"type":"function","name":"time","parameters":{}}]`, 200, "heard: hi"},
		{"max is for responses", providers.GPT6Astra(), chat, hi + `,"reasoning_effort":"max"`, 400, "does not support 'max'"},
		{"max in responses", providers.GPT6Astra(), responses, `"input":"hi","reasoning":{"effort":"max"}`, 200, "heard"},
		{"no none", providers.GPT6Astra(), chat, hi + `,"reasoning_effort":"none",` + chatTools, 400, "does not support 'none'"},
		{"no tools on chat", providers.GPT6Astra(), chat, hi + "," + chatTools, 400, "Please use /v1/responses instead"},
		{"foreign thoughts", providers.GPT56(), responses, `"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"role":"user","content":"hi"}]`, 400, "invalid_encrypted_content"},
		{"thoughts by name", providers.GPT56(), responses, `"input":[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"hi"}]`, 400, "Items are not persisted"},
		{"an answer to no call", providers.GPT56(), responses, `"input":[{"type":"function_call_output","call_id":"c","output":"x"}]`, 400, "No tool call found"},
		{"a call without answer", providers.GPT56(), responses, `"input":[{"type":"function_call","call_id":"c","name":"time","arguments":"{}"},{"role":"user","content":"hi"}]`, 400, "No tool output found for function call c"},
		{"a call without answer on chat", providers.Grok(), chat, `"messages":[{"role":"user","content":"x"},` + called + `,{"role":"user","content":"hi"}]`, 400, "did not have response messages: abc123XYZ"},
		{"an effort", providers.Grok(), chat, hi + `,"reasoning_effort":"low"`, 400, `"error":"Model grok-4.20-0309-reasoning does not support parameter reasoningEffort."`},
		{"stop", providers.Grok(), chat, hi + `,"stop":["x"]`, 400, "does not support parameter stop"},
		{"tools of Grok", providers.Grok(), chat, hi + `,"max_tokens":9,"temperature":0.2,` + chatTools, 200, "heard"},
		{"a call without answer", providers.DeepSeek(), chat, `"messages":[{"role":"user","content":"x"},` + strings.Replace(called, `"tool_calls"`, `"reasoning_content":"","tool_calls"`, 1) + `]`, 400, "did not have response messages: abc123XYZ"},
		{"a picture", providers.DeepSeek(), chat, picture, 400, "unknown variant `image_url`"},
		{"no thoughts", providers.DeepSeek(), chat, `"messages":[{"role":"user","content":"x"},` + called + "," + result + `]`, 400, "must be passed back"},
		{"no thoughts", providers.Kimi(), chat, `"messages":[{"role":"user","content":"x"},` + called + "," + result + `]`, 400, "missing in assistant tool call message at index 1"},
		{"a call without answer", providers.Kimi(), chat, `"messages":[{"role":"user","content":"x"},` + strings.Replace(called, `"tool_calls"`, `"reasoning_content":"","tool_calls"`, 1) + `]`, 400, "did not have response messages: abc123XYZ"},
		{"a picture", providers.Kimi(), chat, picture, 200, "heard: see"},
		{"temperature", providers.Kimi(), chat, hi + `,"temperature":0.6`, 400, "only 1 is allowed"},
		{"an unknown field", providers.Gemini(), chat, hi + `,"prompt_cache_key":"x"`, 400, `Unknown name \"prompt_cache_key\": Cannot find field.`},
		{"a call first", providers.Gemini(), chat, `"messages":[{"role":"system","content":"x"},` + called + "," + result + `]`, 400, "immediately after a user turn"},
		{"no signature", providers.Gemini(), chat, `"messages":[{"role":"user","content":"x"},` + called + "," + result + `]`, 400, "position 2"},
		{"no signature, long ago", providers.Gemini(), chat, `"messages":[{"role":"user","content":"x"},` + called + "," + result + `,{"role":"user","content":"y"}]`, 200, "heard: y"},
		{"a foreign signature", providers.Gemini(), chat, `"messages":[{"role":"user","content":"x"},` + strings.Replace(called, `"type"`, `"extra_content":{"google":{"thought_signature":"s"}},"type"`, 1) + "," + result + `,{"role":"user","content":"y"}]`, 400, "Corrupted thought signature"},
		{"no max_tokens", providers.Claude(), messages, hi, 400, "max_tokens: Field required"},
		{"hello", providers.Claude(), messages, hi + `,"max_tokens":9`, 200, "heard: hi"},
		{"temperature", providers.Claude(), messages, hi + `,"max_tokens":9,"temperature":0.2`, 400, "deprecated"},
		{"a budget", providers.Claude(), messages, hi + `,"max_tokens":9,"thinking":{"type":"enabled","budget_tokens":8}`, 400, "thinking.type.adaptive"},
		{"two of one role", providers.Claude(), messages, `"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"user","content":"y"}]`, 400, "roles must alternate"},
		{"the model first", providers.Claude(), messages, `"max_tokens":9,"messages":[{"role":"assistant","content":"x"}]`, 400, "first message"},
		{"a system message", providers.Claude(), messages, `"max_tokens":9,"messages":[{"role":"system","content":"x"}]`, 400, "top-level"},
		{"an empty text", providers.Claude(), messages, `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":" "}]}]`, 400, "non-empty"},
		{"a result without a call", providers.Claude(), messages, `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}]`, 400, "unexpected `tool_use_id`"},
		{"a call without a result", providers.Claude(), messages, `"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"time","input":{}}]},{"role":"user","content":"y"}]`, 400, "messages.1: `tool_use` ids"},
		{"a foreign thought", providers.Claude(), messages, `"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"text","text":"a"}]},{"role":"user","content":"y"}]`, 400, "Invalid `signature`"},
		{"foreign calls", providers.Claude(), messages, `"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"time","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}]`, 200, "heard: x -"},
		{"two system messages", providers.Mistral(), chat, `"messages":[{"role":"system","content":"x"},{"role":"system","content":"y"},{"role":"user","content":"y"}]`, 500, "initial optional system message"},
		{"two of a person", providers.Mistral(), chat, `"messages":[{"role":"user","content":"x"},{"role":"user","content":"y"}]`, 500, "conversation roles must alternate"},
		{"a turn that was never answered", providers.Mistral(), chat, `"messages":[{"role":"user","content":"x"},` + called + "," + result + `,{"role":"user","content":"y"}]`, 500, "conversation roles must alternate"},
		{"a long id", providers.Mistral(), chat, strings.ReplaceAll(`"messages":[{"role":"user","content":"x"},`+called+","+result+`]`, "abc123XYZ", "call_1234"), 500, "length 9"},
		{"an id of nine", providers.Mistral(), chat, `"messages":[{"role":"system","content":"s"},{"role":"user","content":"x"},` + called + "," + result + `]`, 200, "heard: x -"},
		{"tools", providers.OllamaNoTools(), chat, hi + "," + chatTools, 400, "gemma3:4b does not support tools"},
		{"no tools", providers.OllamaNoTools(), chat, picture + `,"max_tokens":9,"temperature":0.2`, 200, "heard: see"},
		{"a long message", providers.SilentCutter(), chat, `"messages":[{"role":"user","content":"` + strings.Repeat("word ", 9000) + `"}]`, 200, `"prompt_tokens":4056`},
	} {
		t.Run(tt.provider.Name+"/"+tt.name, func(t *testing.T) {
			c := serve(t, tt.provider)
			status, body := c.post(tt.path, tt.fields)
			if status != tt.status || !strings.Contains(body, tt.says) {
				t.Errorf("%s %s = %d %s, want %d with %q", tt.path, tt.fields, status, body, tt.status, tt.says)
			}
			if got := len(c.s.Refused()); (got == 1) != (status != 200) || len(c.s.Requests()) != 1 {
				t.Errorf("the server recorded %d refusals in %d requests", got, len(c.s.Requests()))
			}
		})
	}
}

// What a server attached to a call must come back with it.
func TestAttachmentsMustComeBack(t *testing.T) {
	ask := `{"role":"user","content":"x\ncall time"}`
	t.Run("DeepSeek", func(t *testing.T) { thoughtsComeBack(t, providers.DeepSeek(), ask) })
	t.Run("Kimi", func(t *testing.T) { thoughtsComeBack(t, providers.Kimi(), ask) })
	t.Run("Gemini", func(t *testing.T) {
		c := serve(t, providers.Gemini())
		_, body := c.post(chat, `"messages":[`+ask+`],`+chatTools)
		call := first(t, body, "choices", "0", "message", "tool_calls", "0")
		after := `,{"role":"tool","tool_call_id":"` + field(t, call, "id") + `","content":"noon"}`
		for name, tt := range map[string]struct {
			call   string
			status int
		}{
			"untouched": {call, 200},
			"dropped":   {without(t, call, "extra_content"), 400},
			"changed":   {strings.Replace(call, "c2ln", "c2lm", 1), 400},
		} {
			if status, body := c.post(chat, `"messages":[`+ask+`,{"role":"assistant","tool_calls":[`+tt.call+`]}`+after+`],`+chatTools); status != tt.status {
				t.Errorf("with the signature %s: %d %s, want %d", name, status, body, tt.status)
			}
		}
	})
	t.Run("Claude", func(t *testing.T) {
		c := serve(t, providers.Claude())
		const tools = `"max_tokens":99,"tools":[{"name":"time","input_schema":{"type":"object"}}]`
		_, body := c.post(messages, `"messages":[`+ask+`],`+tools)
		thought, use := first(t, body, "content", "0"), first(t, body, "content", "1")
		after := `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + field(t, use, "id") + `","content":"noon"}]}`
		for name, tt := range map[string]struct {
			content string
			status  int
		}{
			"untouched": {thought + "," + use, 200},
			"dropped":   {use, 400},
			"changed":   {strings.Replace(thought, `"thinking":""`, `"thinking":"mine"`, 1) + "," + use, 400},
			"last":      {use + "," + thought, 400},
		} {
			if status, body := c.post(messages, `"messages":[`+ask+`,{"role":"assistant","content":[`+tt.content+`]}`+after+`],`+tools); status != tt.status {
				t.Errorf("with the thought %s: %d %s, want %d", name, status, body, tt.status)
			}
		}
	})
	t.Run("OpenAI", func(t *testing.T) {
		c := serve(t, providers.GPT56())
		const more = `"store":false,"include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"time","parameters":{}}]`
		_, body := c.post(responses, `"input":[`+ask+`],`+more)
		thought, call := first(t, body, "output", "0"), first(t, body, "output", "1")
		after := `,{"type":"function_call_output","call_id":"` + field(t, call, "call_id") + `","output":"noon"}`
		for name, tt := range map[string]struct {
			items  string
			status int
		}{
			"untouched":   {thought + "," + call, 200},
			"dropped":     {call, 400},
			"unencrypted": {without(t, thought, "encrypted_content") + "," + call, 400},
			"changed":     {strings.Replace(thought, "c2Vh", "c2Vi", 1) + "," + call, 400},
		} {
			if status, body := c.post(responses, `"input":[`+ask+`,`+tt.items+after+`],`+more); status != tt.status {
				t.Errorf("with the thoughts %s: %d %s, want %d", name, status, body, tt.status)
			}
		}
	})
}

func thoughtsComeBack(t *testing.T, p providers.Provider, ask string) {
	c := serve(t, p)
	_, body := c.post(chat, `"messages":[`+ask+`],`+chatTools)
	message := first(t, body, "choices", "0", "message")
	call := first(t, message, "tool_calls", "0")
	after := `,{"role":"tool","tool_call_id":"` + field(t, call, "id") + `","content":"noon"}`
	for name, tt := range map[string]struct {
		message string
		status  int
	}{
		"untouched": {message, 200},
		"dropped":   {without(t, message, "reasoning_content"), 400},
		"changed":   {strings.Replace(message, "They say", "They said", 1), 400},
	} {
		if status, body := c.post(chat, `"messages":[`+ask+`,`+tt.message+after+`],`+chatTools); status != tt.status {
			t.Errorf("with the thoughts %s: %d %s, want %d", name, status, body, tt.status)
		}
	}
}

// first follows a path of names and indexes through JSON.
func first(t *testing.T, body string, path ...string) string {
	t.Helper()
	raw := json.RawMessage(body)
	for _, p := range path {
		var list []json.RawMessage
		var object map[string]json.RawMessage
		switch {
		case json.Unmarshal(raw, &object) == nil && object[p] != nil:
			raw = object[p]
		case json.Unmarshal(raw, &list) == nil && len(list) > int(p[0]-'0'):
			raw = list[p[0]-'0']
		default:
			t.Fatalf("there is no %s in %s", p, raw)
		}
	}
	return string(raw)
}

func field(t *testing.T, object, name string) string {
	t.Helper()
	var s string
	if err := json.Unmarshal([]byte(first(t, object, name)), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func without(t *testing.T, object, name string) string {
	t.Helper()
	first(t, object, name)
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &all); err != nil {
		t.Fatal(err)
	}
	delete(all, name)
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A conversation of two steps, the first with two parallel calls, streamed by each
// API: every event is JSON, and together they have the same content as the whole
// answer.
func TestStreams(t *testing.T) {
	for _, p := range providers.All() {
		for path, fields := range map[string]string{
			chat:      `"reasoning_effort":"none",` + chatTools + `,"messages":[{"role":"user","content":"x\ncall time {\"zone\":\"UTC\"} & time"}]`,
			responses: `"tools":[{"type":"function","name":"time"}],"input":"x\ncall time {\"zone\":\"UTC\"} & time"`,
			messages:  `"max_tokens":9,"tools":[{"name":"time"}],"messages":[{"role":"user","content":"x\ncall time {\"zone\":\"UTC\"} & time"}]`,
		} {
			if p.Model != "gpt-5.6" {
				fields = strings.TrimPrefix(fields, `"reasoning_effort":"none",`)
			}
			c := serve(t, p)
			status, body := c.post(path, fields+`,"stream":true`)
			if status != http.StatusOK {
				continue // it has no such API, or refuses tools there
			}
			joined := strings.Join(events(t, body), "\n")
			for _, want := range []string{`"name":"time"`, `{\"zon`, `\"UTC\"}`} {
				if got := strings.Count(joined, want); got == 0 {
					t.Errorf("%s %s: the stream lacks %s:\n%s", p.Name, path, want, joined)
				}
			}
		}
	}
}

func events(t *testing.T, body string) (list []string) {
	t.Helper()
	for sc := bufio.NewScanner(strings.NewReader(body)); sc.Scan(); {
		data, found := strings.CutPrefix(sc.Text(), "data: ")
		if !found || data == "[DONE]" {
			continue
		}
		if !json.Valid([]byte(data)) {
			t.Errorf("an event is no JSON: %s", data)
		}
		list = append(list, data)
	}
	return list
}

// Each provider lists its model in its form, and requires its key.
func TestListsAndKeys(t *testing.T) {
	for _, p := range providers.All() {
		c := serve(t, p)
		ask := func(key string) (int, string) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.s.URL()+"/models", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+key)
			req.Header.Set("x-api-key", key)
			resp, err := c.c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode, string(b)
		}
		status, body := ask(providers.Key)
		if status != 200 || !json.Valid([]byte(body)) || !strings.Contains(body, p.Model) {
			t.Errorf("%s lists %d %s", p.Name, status, body)
		}
		home := []string{"Mistral's template", "Ollama without tools", "a server that cuts silently"}
		if status, body := ask("wrong"); (status == 401) == slices.Contains(home, p.Name) || !json.Valid([]byte(body)) {
			t.Errorf("%s, asked with a wrong key: %d %s", p.Name, status, body)
		}
	}
}
