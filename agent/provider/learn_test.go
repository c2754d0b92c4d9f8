package provider_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/provider"
	"dragoman/agent/wire"
	"dragoman/sessions"

	"github.com/google/go-cmp/cmp"
)

// whole is a request with everything that can be refused.
func whole() agent.Request {
	warm := float32(0.3)
	r := ask("hi")
	r.Temperature = &warm
	r.MaxTokens = 50
	r.Effort = "xhigh"
	r.Format = json.RawMessage(`{"type":"object"}`)
	r.Tools = []agent.Spec{{Name: "time"}}
	return r
}

// refusing returns a model on a server that refuses each body that contains one
// of words.
func refusing(t *testing.T, status int, body string, words ...string) (*provider.Model, *agenttest.Server) {
	t.Helper()
	s := agenttest.Serve(t, agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
		for _, w := range words {
			if strings.Contains(string(r.Body), w) {
				return agenttest.StatusReply(status, nil, body)
			}
		}
		return nil
	}})
	return model(t, s.URL(), func(o *provider.Options) {
		o.API = wire.APIChat
		o.Traits = func(_, _, api string) wire.Traits { return wire.Traits{API: api, JSONSchema: true} }
	}), s
}

// A part that the server refuses is left out of the repeated request, and of
// every later one.
func TestLearning(t *testing.T) {
	for name, tt := range map[string]struct {
		status  int
		body    string
		refuses []string
		want    []string
	}{
		"tools, Ollama":       {400, `{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools"}}`, []string{`"tools"`}, []string{"tools=no"}},
		"tools, OpenRouter":   {404, `{"error":{"message":"No endpoints found that support tool use. To learn more ...","code":404}}`, []string{`"tools"`}, []string{"tools=no"}},
		"tools, vLLM":         {400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","code":400}`, []string{`"tools"`}, []string{"tools=no"}},
		"tools, llama.cpp":    {500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, []string{`"tools"`}, []string{"tools=no"}},
		"temperature, OpenAI": {400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.3 with this model. Only the default (1) value is supported.","param":"temperature"}}`, []string{"temperature"}, []string{"temperature=no"}},
		"temperature, Kimi":   {400, `{"error":{"message":"invalid temperature: only 1 is allowed for this model"}}`, []string{"temperature"}, []string{"temperature=no"}},
		"max_tokens":          {400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}`, []string{`"max_tokens"`}, []string{"max_tokens=max_completion_tokens"}},
		"usage":               {422, `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`, []string{"stream_options"}, []string{"usage=no"}},
		"format":              {400, `{"error":{"message":"This response_format type is unavailable now","type":"invalid_request_error","param":"response_format"}}`, []string{"response_format"}, []string{"response_format=no"}},
		"effort, others":      {400, `{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low', 'medium', and 'high'.","param":"reasoning_effort"}}`, []string{`"xhigh"`}, []string{"efforts=low medium high"}},
		"effort, none":        {400, `{"error":{"message":"Unrecognized request argument supplied: reasoning_effort"}}`, []string{"reasoning_effort"}, []string{"efforts="}},
		"effort, Ollama":      {400, `{"error":{"message":"\"llama3\" does not support thinking"}}`, []string{"reasoning_effort"}, []string{"efforts="}},
		"tools need none":     {400, `{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."}}`, []string{`"xhigh"`}, []string{"tools_need=none"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := refusing(t, tt.status, tt.body, tt.refuses...)
			for i, requests := range []int{2, 3} {
				if _, _, _, err := complete(t, m, whole()); err != nil || s.Count() != requests {
					t.Fatalf("call %d: %v after %d requests, want an answer after %d", i, err, s.Count(), requests)
				}
			}
			if diff := cmp.Diff(tt.want, whats(m.Learned())); diff != "" {
				t.Errorf("learned (-want +got):\n%s", diff)
			}
			// A model that starts with these lessons needs no refusal.
			again := model(t, s.URL(), func(o *provider.Options) {
				o.API, o.Learned = wire.APIChat, m.Learned()
				o.Traits = func(_, _, api string) wire.Traits { return wire.Traits{API: api, JSONSchema: true} }
			})
			if _, _, _, err := complete(t, again, whole()); err != nil || s.Count() != 4 || !cmp.Equal(again.Learned(), m.Learned()) {
				t.Errorf("with the lessons: %v after %d requests, want 4; it knows %v", err, s.Count(), again.Learned())
			}
		})
	}
}

// A lesson replaces an earlier one of its kind, and no other whose name begins alike.
func TestLessonsStayBesideEachOther(t *testing.T) {
	const need = `{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."}}`
	const none = `{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools"}}`
	var without atomic.Bool // the server has no tools any more
	s := agenttest.Serve(t, agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
		switch body := string(r.Body); {
		case strings.Contains(body, `"tools"`) && strings.Contains(body, `"xhigh"`):
			return agenttest.StatusReply(400, nil, need)
		case strings.Contains(body, `"tools"`) && without.Load():
			return agenttest.StatusReply(400, nil, none)
		}
		return nil
	}})
	m := model(t, s.URL(), func(o *provider.Options) {
		o.API = wire.APIChat
		o.Traits = func(_, _, api string) wire.Traits { return wire.Traits{API: api, JSONSchema: true} }
	})
	for range 2 {
		if _, _, _, err := complete(t, m, whole()); err != nil {
			t.Fatal(err)
		}
		without.Store(true)
	}
	if diff := cmp.Diff([]string{"tools=no", "tools_need=none"}, whats(m.Learned())); diff != "" {
		t.Errorf("learned (-want +got):\n%s", diff)
	}
}

// A new lesson replaces none of another name, also if one name begins with the other.
func TestALessonReplacesItsOwn(t *testing.T) {
	const none = `{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools"}}`
	for _, old := range []string{"tools_need=none", "temperature=no", "usage=no", "response_format=no", "efforts=low", "pictures=0", "tools=no"} {
		s := agenttest.Serve(t, agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
			if strings.Contains(string(r.Body), `"tools"`) {
				return agenttest.StatusReply(400, nil, none)
			}
			return nil
		}})
		m := model(t, s.URL(), func(o *provider.Options) {
			o.API = wire.APIChat
			o.Traits = func(_, _, api string) wire.Traits { return wire.Traits{API: api, JSONSchema: true} }
			o.Learned = []provider.Learned{{Name: "fake", What: old, At: time.Now().Add(-time.Hour)}}
		})
		if _, _, _, err := complete(t, m, whole()); err != nil {
			t.Fatal(err)
		}
		want := slices.Compact(slices.Sorted(slices.Values([]string{old, "tools=no"})))
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(whats(m.Learned())))); diff != "" {
			t.Errorf("after %s, learned (-want +got):\n%s", old, diff)
		}
	}
}

// A server that refuses everything, is overloaded, or does not know the key
// teaches nothing, and is not asked without end.
func TestNothingToLearn(t *testing.T) {
	for name, tt := range map[string]struct {
		status, most int
		body         string
	}{
		"refuses in circles": {400, 8, `{"error":{"message":"Unsupported: temperature, max_tokens, max_completion_tokens, stream_options, response_format, reasoning_effort, does not support tools"}}`},
		"wrong key":          {401, 1, `{"error":{"message":"this key does not support tools"}}`},
		"rate limit":         {429, 1, `{"error":{"message":"your tier does not support tools now"}}`},
		"too long":           {400, 1, `{"error":{"message":"maximum context length is 9, temperature and tools are not supported"}}`},
		"something else":     {400, 1, `{"error":{"message":"messages: roles must alternate"}}`},
	} {
		m, s := refusing(t, tt.status, tt.body, "{")
		_, _, _, err := complete(t, m, whole())
		if err == nil || s.Count() > tt.most || len(m.Learned()) != 0 {
			t.Errorf("%s: %v after %d requests, learned %v; want an error after at most %d", name, err, s.Count(), m.Learned(), tt.most)
		}
	}
}

// A request is never repeated once some of its answer was shown.
func TestNoSecondAnswer(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply {
		return func(x *agenttest.Exchange) {
			x.Text("half ")
			x.Raw("data: {\"error\":{\"message\":\"this model does not support tools\"}}\n\n")
		}
	}})
	m := model(t, s.URL())
	_, text, _, err := complete(t, m, whole())
	if err == nil || text != "half " || s.Count() != 1 {
		t.Errorf("Complete = %v, shown %q after %d requests, want an error after one", err, text, s.Count())
	}
}

// Data of earlier answers that its server refuses costs one request and not one each
// turn. A signature that expired says nothing about those of later answers, unless they
// are refused too; a refusal of the form does. Both are forgotten after a day.
func TestRefusedAttached(t *testing.T) {
	const each, newer = "after a form", "after a signature"
	for body, kind := range map[string]string{
		`[{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}]`:                                                           newer,
		`{"error":{"message":"messages.1.content.0: Invalid signature in thinking block"}}`:                                                                       newer,
		`{"error":{"message":"The encrypted content gAAA could not be verified.","code":"invalid_encrypted_content"}}`:                                            newer,
		`{"error":{"message":"messages.3: reasoning blocks must remain unchanged"}}`:                                                                              newer,
		`{"error":{"message":"The redacted_thinking content does not match the original response"}}`:                                                              newer,
		`{"error":{"message":"Encrypted reasoning has been altered"}}`:                                                                                            newer,
		`{"error":{"message":"The thinking block was not produced by this model"}}`:                                                                               newer,
		`{"type":"error","error":{"type":"invalid_request_error","message":"The request body is not valid JSON: no low surrogate in string: line 1 column 907"}}`: newer,
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: ` + "`thinking` or `redacted_thinking`" +
			` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."}}`: each,
		`{"error":{"message":"messages.1.content.0: Expected ` + "`thinking` or `redacted_thinking`, but found `text`" + `"}}`: each,
		`{"error":{"message":"messages.1.content.0: Expected thinking or redacted_thinking, but found text"}}`:                 each,
		`{"error":{"message":"messages.1.content.0.thinking: each thinking block must contain thinking"}}`:                     each,
		`{"error":{"message":"messages.5: thinking blocks are only allowed first in a message"}}`:                              each,
		`{"error":{"message":"messages.1.content.0: thinking blocks are not supported by this endpoint"}}`:                     each,
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			m := model(t, "http://server.test/v1", func(o *provider.Options) {
				o.API = wire.APIChat
				o.HTTP = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
					requests++
					sent, err := io.ReadAll(r.Body)
					answer := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(wholeAnswers["/completions"]))}
					if strings.Contains(string(sent), "extra_content") {
						answer = &http.Response{StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(body))}
					}
					answer.Header = http.Header{"Content-Type": {"application/json"}}
					return answer, err
				})}
			})
			var history []sessions.Message
			var counts []int
			turn := func() {
				t.Helper()
				requests = 0
				r := agent.Request{Messages: append(history, sessions.Message{Role: sessions.RoleUser, Content: "hi", At: time.Now()})}
				if _, _, _, err := complete(t, m, r); err != nil {
					t.Fatalf("%s: %v", body, err)
				}
				counts = append(counts, requests)
				time.Sleep(time.Minute)
				history = append(r.Messages, sessions.Message{
					Role: sessions.RoleAssistant, Content: "hm", At: time.Now(), Attached: &sessions.Attached{
						By:   sessions.Provenance{API: wire.APIChat, Host: "server.test", Model: "fake"},
						Data: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"s"}}}`),
					},
				})
				time.Sleep(time.Minute)
			}
			for range 5 {
				turn()
			}
			time.Sleep(24 * time.Hour)
			turn()
			want := map[string][]int{each: {1, 2, 1, 1, 1, 2}, newer: {1, 2, 2, 1, 1, 2}}[kind]
			if diff := cmp.Diff(want, counts); diff != "" {
				t.Errorf("%s: requests of each turn (-want +got):\n%s", body, diff)
			}
		})
	}
}

// transport is a server without sockets.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What was refused before is left out; what came later is sent while its server takes it.
func TestLaterAttachedIsSent(t *testing.T) {
	var sent string
	s := agenttest.Serve(t, agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
		sent = string(r.Body)
		if strings.Contains(sent, "expired") {
			return agenttest.StatusReply(400, nil, `{"error":{"message":"Invalid signature in thinking block: expired"}}`)
		}
		return nil
	}})
	m := model(t, s.URL(), func(o *provider.Options) { o.API = wire.APIChat })
	answer := func(signature string) sessions.Message {
		return sessions.Message{Role: sessions.RoleAssistant, Content: "hm", At: time.Now(), Attached: &sessions.Attached{
			By:   sessions.Provenance{API: wire.APIChat, Host: strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/v1"), Model: "fake"},
			Data: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"` + signature + `"}}}`),
		}}
	}
	r := ask("hi")
	r.Messages = append(r.Messages, answer("expired"), r.Messages[0])
	for requests := range 2 {
		if _, _, _, err := complete(t, m, r); err != nil || s.Count() != 2+requests {
			t.Fatalf("Complete = %v after %d requests, want %d", err, s.Count(), 2+requests)
		}
		r.Messages = append(r.Messages, answer("good"), r.Messages[0])
	}
	if strings.Contains(sent, "expired") || !strings.Contains(sent, "good") {
		t.Errorf("the request has %s, want the good signature alone", sent)
	}
}

// A server without the responses API gets chat completions.
func TestNoSuchAPI(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL(), func(o *provider.Options) {
		o.Traits = func(string, string, string) wire.Traits { return wire.Traits{API: wire.APIResponses} }
	})
	for range 2 {
		if resp, _, _, err := complete(t, m, ask("hi")); err != nil || resp.Message.Content != "echo: hi" {
			t.Fatalf("Complete = %+v, %v", resp, err)
		}
	}
	if got := whats(m.Learned()); !cmp.Equal(got, []string{"api=chat"}) {
		t.Errorf("learned %v", got)
	}
	fixed := model(t, s.URL(), func(o *provider.Options) { o.API = wire.APIResponses })
	var me *agent.ModelError
	if _, _, _, err := complete(t, fixed, ask("hi")); !errors.As(err, &me) || me.Cause != agent.CauseURL {
		t.Errorf("with only that API: %v, want a wrong URL", err)
	}
}

// Abilities reflect the lessons.
func TestAbilities(t *testing.T) {
	m, _ := refusing(t, 400, `{"error":{"message":"this model does not support tools"}}`, `"tools"`)
	if a := m.Abilities(); a.NoTools || !a.NoVision {
		t.Errorf("before: %+v", a)
	}
	if _, _, _, err := complete(t, m, whole()); err != nil || !m.Abilities().NoTools {
		t.Errorf("after: %+v, %v; want no tools", m.Abilities(), err)
	}
}

// The efforts in a server's list count until the server refuses one of them.
func TestSetEfforts(t *testing.T) {
	const body = `{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'high' with this model. Supported values are: 'low'.","param":"reasoning_effort"}}`
	refused := false
	s := agenttest.Serve(t, agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
		if refused && strings.Contains(string(r.Body), `"high"`) {
			return agenttest.StatusReply(400, nil, body)
		}
		return nil
	}})
	m := model(t, s.URL(), func(o *provider.Options) { o.API = wire.APIChat })
	asked := func(want string) {
		t.Helper()
		r := ask("hi")
		r.Effort = "max"
		if _, err := m.Complete(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		all := s.Requests()
		if got := string(all[len(all)-1].Body); !strings.Contains(got, `"reasoning_effort":"`+want+`"`) {
			t.Errorf("request = %s, want the effort %s", got, want)
		}
	}
	asked("max")
	m.SetEfforts([]string{"low", "high"})
	asked("high")
	refused = true
	asked("low")
	m.SetEfforts([]string{"low", "high"})
	asked("low")
}
