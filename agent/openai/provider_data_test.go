package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/wire"
	"dragoman/sessions"
)

// stream replies with these deltas, then with a finish reason.
func stream(deltas ...string) agenttest.Reply {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"choices":[{"index":0,"delta":` + d + `}]}` + "\n\n")
	}
	return agenttest.RawReply(b.String() + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
}

// sentMessages returns the messages of the newest request.
func sentMessages(t *testing.T, s *agenttest.Server) (out []string) {
	t.Helper()
	all := s.Requests()
	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(all[len(all)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, m := range body.Messages {
		out = append(out, string(m))
	}
	return out
}

const call = `"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"time","arguments":"{}"}`

// Data that a provider attached goes back unchanged with the next request to
// that provider. Other models do not get it, and OmitAttached leaves it out.
func TestAttachedGoesBack(t *testing.T) {
	const calls = `"tool_calls":[{"id":"a","type":"function","function":{"name":"time","arguments":"{}"}}]}`
	const role = `{"role":"assistant",`
	const plain = role + calls
	for name, tt := range map[string]struct {
		deltas []string
		want   string
	}{
		"reasoning_content": {
			[]string{`{"reasoning_content":"I "}`, `{"reasoning_content":"look"}`, `{` + call + `}]}`},
			`{"role":"assistant","reasoning_content":"I look","tool_calls":[{"id":"a","type":"function","function":{"name":"time","arguments":"{}"}}]}`,
		},
		"reasoning": {
			[]string{`{"reasoning":"I "}`, `{"reasoning":"look"}`, `{` + call + `}]}`},
			role + `"reasoning":"I look",` + calls,
		},
		"reasoning_details": {
			[]string{
				`{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"I ","format":"x"}]}`,
				`{"reasoning":"look","reasoning_details":[{"type":"reasoning.text","index":0,"text":"look","signature":"sig"}]}`,
				`{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"AA"}],` + call + `}]}`,
			},
			role + `"reasoning_details":[{"format":"x","index":0,"signature":"sig","text":"I look","type":"reasoning.text"},{"data":"AA","index":1,"type":"reasoning.encrypted"}],` + calls,
		},
		"signature of a call": {
			[]string{`{` + call + `,"extra_content":{"google":{"thought_signature":"s1"}}},{"index":1,"id":"b","function":{"name":"time","arguments":"{}"}}]}`},
			`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"time","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s1"}}},` +
				`{"id":"b","type":"function","function":{"name":"time","arguments":"{}"}}]}`,
		},
		"signature of a text": {
			[]string{`{"content":"hm"}`, `{"content":"","extra_content":{"google":{"thought_signature":"s2"}}}`},
			`{"role":"assistant","content":"hm","extra_content":{"google":{"thought_signature":"s2"}}}`,
		},
		"thoughts without calls": {[]string{`{"reasoning_content":"I look"}`, `{"content":"hm"}`}, `{"role":"assistant","content":"hm"}`},
		"nothing":                {[]string{`{` + call + `}]}`}, plain},
	} {
		t.Run(name, func(t *testing.T) {
			s := agenttest.Serve(t, agenttest.Options{})
			m := model(t, s.URL())
			s.Next(stream(tt.deltas...))
			resp, _, thoughts, err := complete(t, m, ask("hi"))
			if err != nil || resp.Thought != (thoughts != "") {
				t.Fatalf("Complete = %+v, %v", resp, err)
			}
			back := func(m *chat) string {
				t.Helper()
				if _, _, _, err := complete(t, m, agent.Request{Messages: []sessions.Message{resp.Message}}); err != nil {
					t.Fatal(err)
				}
				return sentMessages(t, s)[0]
			}
			if got := back(m); got != tt.want {
				t.Errorf("sent back is\n%s, want\n%s", got, tt.want)
			}
			for where, change := range map[string]func(*wire.Input){
				"another model": func(in *wire.Input) { in.To.Model = "other" },
				"OmitAttached":  func(in *wire.Input) { in.OmitAttached = true },
			} {
				if got := back(model(t, s.URL(), change)); strings.Contains(got, "extra_content") || strings.Contains(got, "reasoning") {
					t.Errorf("%s: sent is %s", where, got)
				}
			}
		})
	}
}

// The last answer of a turn with calls keeps its thoughts: DeepSeek wants them
// back too.
func TestThoughtsAfterCalls(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	turn := []sessions.Message{
		{Role: sessions.RoleUser, Content: "hi"},
		{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "time"}}},
		{Role: sessions.RoleTool, ToolCallID: "a", Content: "noon"},
	}
	for _, tt := range []struct {
		msgs []sessions.Message
		want bool
	}{{turn, true}, {append(turn[:3:3], sessions.Message{Role: sessions.RoleUser, Content: "and?"}), false}} {
		s.Next(stream(`{"reasoning_content":"I look"}`, `{"content":"noon"}`))
		resp, _, _, err := complete(t, m, agent.Request{Messages: tt.msgs})
		if err != nil || (resp.Message.Attached != nil) != tt.want {
			t.Errorf("after %d messages Attached = %+v, %v; want any: %v", len(tt.msgs), resp.Message.Attached, err, tt.want)
		}
	}
}

// Calls of another model get the fields that the server requires.
func TestCallsOfOthers(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	msg := sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "time"}}}
	for want, change := range map[string]func(*wire.Input){
		`"reasoning_content":" "`: func(in *wire.Input) { in.Traits.NeedsReasoning = true },
		`"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}`: func(in *wire.Input) { in.Traits.NeedsSignatures = true },
	} {
		m := model(t, s.URL(), change)
		if _, _, _, err := complete(t, m, agent.Request{Messages: []sessions.Message{msg, {Role: sessions.RoleAssistant, Content: "hm"}}}); err != nil {
			t.Fatal(err)
		}
		got := sentMessages(t, s)
		if !strings.Contains(got[0], want) || got[1] != `{"role":"assistant","content":"hm"}` {
			t.Errorf("sent is %s, want %s only with the call", got, want)
		}
	}
}

// TestTraits checks the effect of each trait on the request.
func TestTraits(t *testing.T) {
	warm := float32(0.5)
	r := ask("hi")
	r.Temperature = &warm
	r.MaxTokens = 7
	r.Effort = "high"
	r.Format = json.RawMessage(`{"type":"object"}`)
	r.Tools = []agent.Spec{{Name: "time"}}
	for name, tt := range map[string]struct {
		traits   wire.Traits
		has, not []string
	}{
		"none":        {wire.Traits{}, []string{`"temperature":0.5`, `"max_tokens":7`, `"reasoning_effort":"high"`, `"tools":`, `"stream_options":`}, []string{"response_format", "max_completion_tokens"}},
		"no tools":    {wire.Traits{NoTools: true, ToolsNeedEffort: "none"}, []string{`"reasoning_effort":"high"`}, []string{`"tools"`}},
		"tools need":  {wire.Traits{ToolsNeedEffort: "none"}, []string{`"reasoning_effort":"none"`, `"tools":`}, nil},
		"temperature": {wire.Traits{NoTemperature: true}, nil, []string{"temperature"}},
		"tokens":      {wire.Traits{CompletionTokens: true}, []string{`"max_completion_tokens":7`}, []string{`"max_tokens"`}},
		"no usage":    {wire.Traits{NoUsage: true}, nil, []string{"stream_options"}},
		"efforts":     {wire.Traits{Efforts: []string{"low", "medium"}}, []string{`"reasoning_effort":"medium"`}, nil},
		"no efforts":  {wire.Traits{Efforts: []string{}}, nil, []string{"reasoning_effort"}},
		"formats":     {wire.Traits{JSONSchema: true}, []string{`"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},"strict":false}}`}, nil},
	} {
		s := agenttest.Serve(t, agenttest.Options{})
		m := model(t, s.URL(), func(in *wire.Input) { in.Traits = tt.traits })
		if _, _, _, err := complete(t, m, r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body := string(s.Requests()[0].Body)
		for _, want := range tt.has {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the body lacks %s: %s", name, want, body)
			}
		}
		for _, wrong := range tt.not {
			if strings.Contains(body, wrong) {
				t.Errorf("%s: the body has %s: %s", name, wrong, body)
			}
		}
	}
}
