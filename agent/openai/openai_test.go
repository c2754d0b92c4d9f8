package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/openai"
	"dragoman/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-test-abcdefghijklmnopqrstuvwxyz0123456789"

// model is a model on s with short patience.
func model(t testing.TB, url string, change ...func(*openai.Options)) *openai.Model {
	t.Helper()
	o := openai.Options{
		BaseURL: url, APIKey: key, Name: "fake",
		FirstByteTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second, MaxResponseBytes: 1 << 20,
	}
	for _, f := range change {
		f(&o)
	}
	m, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func ask(text string) agent.Request {
	return agent.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Content: text}}}
}

// complete gathers what was streamed.
func complete(t *testing.T, m *openai.Model, r agent.Request) (resp agent.Response, text, reasoning string, err error) {
	t.Helper()
	resp, err = m.Complete(t.Context(), r, func(d agent.Delta) {
		text += d.Text
		reasoning += d.Reasoning
	})
	return resp, text, reasoning, err
}

func TestCompleteStreams(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{APIKey: key})
	resp, text, _, err := complete(t, model(t, s.URL()), ask("hello  world,\nhow are you? é 🙂"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "echo: hello  world,\nhow are you? é 🙂"
	if text != want || resp.Message.Content != want || resp.Finish != "stop" || resp.Message.Role != sessions.RoleAssistant {
		t.Errorf("Complete = %+v, streamed %q, want %q", resp, text, want)
	}
	if resp.Usage == nil || resp.Usage.Input == 0 || resp.Usage.Output != 8 {
		t.Errorf("usage = %+v, want the server's", resp.Usage)
	}
}

// Every way in which a server fails is an error of the right kind, and none
// shows the key.
func TestFaults(t *testing.T) {
	want := map[string]agent.ErrorKind{
		"quota": agent.ErrorRefused, "unauthorized": agent.ErrorRefused, "leaky-key": agent.ErrorRefused,
		"no-model": agent.ErrorRefused, "html": agent.ErrorRefused,
		"huge-body": agent.ErrorRefused, "huge-line": agent.ErrorRefused, "huge-whole": agent.ErrorRefused,
		"context-length": agent.ErrorContext, "bad-request": agent.ErrorInvalid,
	}
	s := agenttest.Serve(t, agenttest.Options{})
	// Some faults are silence, which is waited for; in the others a slow
	// machine must not look like that.
	m := model(t, s.URL(), func(o *openai.Options) { o.FirstByteTimeout, o.IdleTimeout = time.Minute, time.Minute })
	hasty := model(t, s.URL(), func(o *openai.Options) {
		o.FirstByteTimeout, o.IdleTimeout = 300*time.Millisecond, 300*time.Millisecond
	})
	for _, name := range slices.Sorted(maps.Keys(agenttest.Faults)) {
		t.Run(name, func(t *testing.T) {
			s.Next(agenttest.Faults[name])
			asked := m
			if want[name] == "" {
				asked = hasty
			}
			resp, _, _, err := complete(t, asked, ask("hi"))
			var me *agent.ModelError
			if !errors.As(err, &me) {
				t.Fatalf("Complete = %+v, %v, want a ModelError", resp, err)
			}
			kind := want[name]
			if kind == "" {
				kind = agent.ErrorTemporary
			}
			if me.Kind != kind {
				t.Errorf("kind = %s, want %s: %v", me.Kind, kind, err)
			}
			for i := 0; i+8 <= len(key); i++ {
				if strings.Contains(err.Error(), key[i:i+8]) {
					t.Fatalf("the error shows a piece of the key: %v", err)
				}
			}
			if len(err.Error()) > 400 || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %d bytes long or has line breaks: %q", len(err.Error()), err)
			}
			t.Log(err)
		})
	}
	if resp, _, _, err := complete(t, m, ask("still there?")); err != nil || resp.Message.Content != "echo: still there?" {
		t.Errorf("after all faults: %+v, %v", resp, err)
	}
}

func TestErrorText(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for name, want := range map[string]string{
		"event-error": "it broke", "event-error-text": "it broke", "error-frame": "it broke",
		"error-frame-space": "it broke", "error-late-key": "it broke", "error-line": "it broke", "comments-error": "it broke",
		"error-in-200": "overloaded", "string-in-200": "overloaded", "error-string": "unexpectedly stopped",
		"leaky-key": "[key]", "bad-gateway": "HTTP 502", "cut": "before the answer was whole",
	} {
		s.Next(agenttest.Faults[name])
		if _, _, _, err := complete(t, m, ask("hi")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", name, err, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for _, tc := range []struct {
		header     map[string]string
		least, max time.Duration
	}{
		{map[string]string{"Retry-After": "7"}, 7 * time.Second, 7 * time.Second},
		{map[string]string{"Retry-After": "0.5"}, time.Second / 2, time.Second / 2},
		{map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, 250 * time.Millisecond, 250 * time.Millisecond},
		{map[string]string{"Retry-After": time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}, 50 * time.Second, time.Minute},
		{map[string]string{"Retry-After": time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat)}, 0, 0},
		{map[string]string{"Retry-After": "-3"}, 0, 0},
		{map[string]string{"Retry-After": "1e300"}, 24 * time.Hour, 24 * time.Hour},
		{map[string]string{"Retry-After": "NaN"}, 0, 0},
		{map[string]string{"Retry-After": "soon"}, 0, 0},
		{nil, 0, 0},
	} {
		s.Next(agenttest.StatusReply(429, tc.header, `{"error":{"message":"slow down"}}`))
		_, _, _, err := complete(t, m, ask("hi"))
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Status != 429 || me.After < tc.least || me.After > tc.max {
			t.Errorf("%v: %+v, want After in [%s, %s]", tc.header, me, tc.least, tc.max)
		}
	}
}

func TestUnusualSuccesses(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	const chunk = `data: {"choices":[{"index":0,"delta":{"content":"all well"},"finish_reason":null}]}` + "\n\n"
	const last = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	for name, reply := range map[string]agenttest.Reply{
		"400 comments":           agenttest.KeepAliveReply(400, "all well"),
		"done without finish":    agenttest.RawReply(chunk + "data: [DONE]\n\n"),
		"finish without done":    agenttest.RawReply(chunk + last),
		"cut after finish":       func(x *agenttest.Exchange) { x.Text("all well"); x.Finish("stop"); x.Cut() },
		"no blank lines":         agenttest.RawReply(strings.ReplaceAll(chunk+last, "\n\n", "\n")),
		"carriage returns":       agenttest.RawReply(strings.ReplaceAll(chunk+last, "\n", "\r\n")),
		"no space":               agenttest.RawReply(strings.ReplaceAll(chunk+last, "data: ", "data:")),
		"no last line break":     agenttest.RawReply(chunk + strings.TrimSpace(last)),
		"byte order mark":        agenttest.RawReply("\xef\xbb\xbf" + chunk + last),
		"ids and events":         agenttest.RawReply("id: 1\nretry: 5\nevent: message\n" + chunk + last),
		"error null first":       agenttest.RawReply(`data: {"error":null,"choices":[{"delta":{"content":"all well"},"finish_reason":"stop"}]}` + "\n\n"),
		"error null":             agenttest.RawReply(`data: {"choices":[{"delta":{"content":"all well"},"finish_reason":"stop"}],"error":null}` + "\n\n"),
		"content in parts":       agenttest.RawReply(`data: {"choices":[{"delta":{"content":[{"type":"text","text":"all "},{"type":"text","text":"well"}]},"finish_reason":"stop"}]}` + "\n\n"),
		"null content, refusal":  agenttest.RawReply(`data: {"choices":[{"delta":{"content":null,"refusal":"all well"},"finish_reason":"stop"}]}` + "\n\n"),
		"second choice":          agenttest.RawReply(`data: {"choices":[{"index":1,"delta":{"content":"not this"}}]}` + "\n\n" + chunk + last),
		"NUL":                    agenttest.RawReply(strings.Replace(chunk, "all well", `all\u0000 well`, 1) + last),
		"one document":           agenttest.StatusReply(200, nil, "\n{\n \"choices\": [{\"message\": {\"content\": \"all well\"}, \"finish_reason\": \"stop\"}]\n}"),
		"document, type of SSE":  agenttest.RawReply(`{"choices":[{"message":{"content":"all well"}}]}`),
		"the word error in text": agenttest.RawReply(`data: {"choices":[{"delta":{"content":"all well","x":"\"error\""},"y":{"error":1}}]}` + "\n\n" + last),
		"odd ids and times":      agenttest.RawReply(`data: {"id":7,"object":[],"created":"now","model":{},"system_fingerprint":5,"choices":[{"index":"0","logprobs":"none","delta":{"role":1,"content":"all well","reasoning":[[]],"refusal":[7]},"finish_reason":"stop"}]}` + "\n\n"),
		"odd indexes":            agenttest.RawReply(`data: {"choices":[{"index":"1","delta":{"content":"not this"}},{"index":[],"delta":{"content":"all "}},{"index":null,"delta":{"content":"well"},"finish_reason":"stop"}]}` + "\n\n"),
		"keeps open after done":  func(x *agenttest.Exchange) { x.Text("all well"); x.End("stop"); x.Stall() },
	} {
		t.Run(name, func(t *testing.T) {
			s.Next(reply)
			begun := time.Now()
			resp, text, _, err := complete(t, m, ask("hi"))
			if err != nil || text != "all well" || resp.Message.Content != "all well" || resp.Finish != "stop" {
				t.Errorf("Complete = %+v, streamed %q, %v", resp, text, err)
			}
			if took := time.Since(begun); took > 40*time.Second {
				t.Errorf("it took %s, as if it had waited for the idle timeout of a minute", took)
			}
		})
	}
}

// TestRefusal: the words of a refusal are the answer, which says that it is one.
func TestRefusal(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for _, tc := range []struct {
		delta string
		want  bool
	}{
		{`{"content":"I can't help with that.","refusal":null}`, false},
		{`{"content":"I can't help with that.","refusal":""}`, false},
		{`{"content":"I can't help with that.","reasoning":"I would rather not.","refusal":" "}`, false},
		{`{"content":null,"refusal":"I can't help with that."}`, true},
		{`{"refusal":"I can't help with that."}`, true},
		{`{"content":"I can't help ","refusal":"with that."}`, true},
	} {
		s.Next(agenttest.RawReply(`data: {"choices":[{"delta":` + tc.delta + `}]}` + "\n\n" +
			`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"))
		resp, _, _, err := complete(t, m, ask("hi"))
		if err != nil || resp.Refused != tc.want || strings.TrimSpace(resp.Message.Content) != "I can't help with that." {
			t.Errorf("%s: %q, Refused = %v, %v; want %v", tc.delta, resp.Message.Content, resp.Refused, err, tc.want)
		}
	}
}

func TestReasoning(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for name, reply := range map[string]agenttest.Reply{
		"reasoning_content": func(x *agenttest.Exchange) { x.Reasoning("let me "); x.Reasoning("see"); x.Text("42"); x.End("stop") },
		"reasoning": agenttest.RawReply(`data: {"choices":[{"delta":{"reasoning":"let me see"}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"content":"42"},"finish_reason":"stop"}]}` + "\n\n"),
	} {
		s.Next(reply)
		resp, text, reasoning, err := complete(t, m, ask("hi"))
		if err != nil || text != "42" || resp.Message.Content != "42" || reasoning != "let me see" {
			t.Errorf("%s: content %q, streamed %q, reasoning %q, %v", name, resp.Message.Content, text, reasoning, err)
		}
	}
}

func TestStallBeforeAndAfterFirstByte(t *testing.T) {
	t.Parallel()
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL(), func(o *openai.Options) {
		o.FirstByteTimeout, o.IdleTimeout = 3*time.Second, time.Second
	})
	s.Next(func(x *agenttest.Exchange) { x.Wait(1200 * time.Millisecond); x.Text("slow start"); x.End("stop") })
	if resp, _, _, err := complete(t, m, ask("hi")); err != nil || resp.Message.Content != "slow start" {
		t.Errorf("a slow start within the limit: %+v, %v", resp, err)
	}
	s.Next(func(x *agenttest.Exchange) {
		for range 8 {
			x.Raw(": thinking\n\n")
			x.Wait(200 * time.Millisecond)
		}
		x.Text("done")
		x.End("stop")
	})
	if resp, _, _, err := complete(t, m, ask("hi")); err != nil || resp.Message.Content != "done" {
		t.Errorf("comments as signs of life: %+v, %v", resp, err)
	}
	for name, want := range map[string]string{"stall": "1s", "stall-at-start": "3s", "stall-header": "3s"} {
		s.Next(agenttest.Faults[name])
		if _, _, _, err := complete(t, m, ask("hi")); err == nil || !strings.Contains(err.Error(), "no data for "+want) {
			t.Errorf("%s: %v, want no data for %s", name, err, want)
		}
	}
}

// A server that has finished and does not say so costs a moment, not the whole
// idle timeout.
func TestStallAfterFinish(t *testing.T) {
	t.Parallel()
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL(), func(o *openai.Options) { o.IdleTimeout = time.Minute })
	s.Next(func(x *agenttest.Exchange) { x.Text("all well"); x.Finish("stop"); x.Stall() })
	begun := time.Now()
	resp, _, _, err := complete(t, m, ask("hi"))
	if took := time.Since(begun); err != nil || resp.Message.Content != "all well" || took > 30*time.Second {
		t.Errorf("Complete = %+v, %v after %s", resp, err, took)
	}
}

func TestCancel(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	s.Next(agenttest.Faults["stall"])
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.Complete(ctx, ask("hi"), func(agent.Delta) { cancel() })
	var me *agent.ModelError
	if !errors.Is(err, context.Canceled) || errors.As(err, &me) {
		t.Errorf("canceled while streaming: %v, want the context's error alone", err)
	}
	if _, err := m.Complete(ctx, ask("hi"), nil); !errors.Is(err, context.Canceled) || s.Count() != 1 {
		t.Errorf("canceled before: %v after %d requests, want 1", err, s.Count())
	}
}

func TestUnreachable(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	_, _, _, err := complete(t, model(t, dead.URL), ask("hi"))
	var me *agent.ModelError
	if !errors.As(err, &me) || me.Kind != agent.ErrorTemporary || me.Status != 0 {
		t.Errorf("nobody listens: %v, want temporary", err)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	if _, _, _, err := complete(t, model(t, secure.URL), ask("hi")); !errors.As(err, &me) || me.Kind != agent.ErrorRefused {
		t.Errorf("unknown certificate: %v, want refused", err)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	conns := make(map[string]bool)
	// The end of the body comes a moment after [DONE].
	fake := agenttest.NewServer(agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply {
		return func(x *agenttest.Exchange) { x.Text("hi"); x.End("stop"); x.Wait(2 * time.Millisecond) }
	}})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conns[r.RemoteAddr] = true
		fake.ServeHTTP(w, r)
	}))
	defer ts.Close()
	m := model(t, ts.URL+"/v1/chat/completions/")
	for i := range 20 {
		if _, _, _, err := complete(t, m, ask(fmt.Sprint("call ", i))); err != nil {
			t.Fatal(err)
		}
	}
	// A busy machine may miss the moment that a call waits for that end; one
	// that does not wait takes 20 connections.
	if len(conns) > 5 {
		t.Errorf("20 calls took %d connections, want 1 or little more", len(conns))
	}
}

func TestThousandCallsAtOnce(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{FirstToken: time.Second, Recorded: -1})
	m := model(t, s.URL(), func(o *openai.Options) { o.FirstByteTimeout, o.IdleTimeout = time.Minute, time.Minute })
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			want := fmt.Sprintf("echo: #%d", i)
			if resp, err := m.Complete(t.Context(), ask(fmt.Sprintf("#%d", i)), nil); err != nil || resp.Message.Content != want {
				t.Errorf("Complete = %q, %v, want %q", resp.Message.Content, err, want)
			}
		})
	}
	wg.Wait()
}

func TestRequestBody(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	zero := float32(0)
	for _, name := range []string{"fake", "gpt-5-local", "gpt-6-sol", "o3", "text-davinci-003", `odd "name"`} {
		m := model(t, s.URL(), func(o *openai.Options) { o.Name = name })
		_, _, _, err := complete(t, m, agent.Request{
			System: "Be brief.",
			Messages: []sessions.Message{
				{Role: sessions.RoleUser, Content: "hi", Name: "Ann Lee"},
				{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "time"}, {ID: "b", Name: "time", Arguments: "{half"}}},
				{Role: sessions.RoleTool, ToolCallID: "a"},
				{Role: sessions.RoleTool, ToolCallID: "b", Content: "bad \xff"},
				{Role: sessions.RoleUser},
			},
			Tools:     []agent.Spec{{Name: "time", Description: "The time."}, {Name: "zone", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"}}}`)}},
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
				{"id":"a","type":"function","function":{"name":"time","arguments":"{}"}},
				{"id":"b","type":"function","function":{"name":"time","arguments":"{\"invalid_arguments\":\"{half\"}"}}]},
			{"role":"tool","tool_call_id":"a","content":"(no output)"},
			{"role":"tool","tool_call_id":"b","content":"bad �"},
			{"role":"user","content":"(empty)"}],
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

// TestToolsThatChange: tools are written once and used again, but never those
// of another request.
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
	more.Tools = append(slices.Clone(r.Tools), agent.Spec{Name: "y"})
	for i, step := range []struct {
		r    agent.Request
		want string
	}{
		{r, `[{"function":{"name":"x","description":"one","parameters":{"type":"object","title":"a"}},"type":"function"}]`},
		{again, `[{"function":{"name":"x","description":"one","parameters":{"type":"object","title":"a"}},"type":"function"}]`},
		{described, `[{"function":{"name":"x","description":"two","parameters":{"type":"object","title":"a"}},"type":"function"}]`},
		{ask("no tools"), ``},
		{more, `[{"function":{"name":"x","description":"one","parameters":{"type":"object","title":"a"}},"type":"function"},{"function":{"name":"y","parameters":{"type":"object","properties":{}}},"type":"function"}]`},
		{r, `[{"function":{"name":"x","description":"one","parameters":{"type":"object","title":"b"}},"type":"function"}]`},
	} {
		if i == 5 {
			copy(schema, `{"type":"object","title":"b"}`) // by whoever owns it
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

func TestRequestThatCannotBeWritten(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	r := ask("hi")
	r.Tools = []agent.Spec{{Name: "broken", Parameters: json.RawMessage(`{"type":`)}}
	_, _, _, err := complete(t, model(t, s.URL()), r)
	var me *agent.ModelError
	if !errors.As(err, &me) || me.Kind != agent.ErrorInvalid || s.Count() != 0 {
		t.Errorf("broken schema: %v after %d requests, want invalid", err, s.Count())
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]openai.Options{
		"no URL":      {Name: "m"},
		"no scheme":   {BaseURL: "127.0.0.1:11434/v1", Name: "m"},
		"wrong one":   {BaseURL: "ftp://x/v1", Name: "m"},
		"query":       {BaseURL: "http://x/v1?key=secret", Name: "m"},
		"no name":     {BaseURL: "http://x/v1"},
		"key in bits": {BaseURL: "http://x/v1", Name: "m", APIKey: "secret\nkey"},
		"password":    {BaseURL: "ftp://me:secret@x/v1", Name: "m"},
		"control":     {BaseURL: "http://me:secret@x/\x7f", Name: "m"},
	} {
		if _, err := openai.New(o); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: New = %v, want an error without the secret", name, err)
		}
	}
}

// A content filter that quotes what it refuses must not bring chat text into
// errors and logs.
func TestErrorsQuoteNobody(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for _, quote := range []string{"my diagnosis is CANARYTEXT", "CANARYTEXT", `my\n  diagnosis is CANARYTEXT and more`} {
		s.Next(agenttest.StatusReply(400, nil, `{"error":{"message":"Content filter: your prompt '`+quote+`' is not allowed","code":"content_filter"}}`))
		_, _, _, err := complete(t, m, ask("Hello, my diagnosis is CANARYTEXT, what now?"))
		if err == nil || strings.Contains(err.Error(), "CANARY") || !strings.Contains(err.Error(), "Content filter: your prompt") {
			t.Errorf("error = %v, want the server's words without the person's", err)
		}
	}
}

// A summary tells what people said, wherever in a request it stands.
func TestErrorsQuoteNoSummary(t *testing.T) {
	const summary = "Anna's diagnosis is CANARYTEXT, and she asks for a second opinion."
	for name, r := range map[string]agent.Request{
		"in the system prompt": {System: "You help.\n\n<conversation_summary>\n" + summary + "\n</conversation_summary>"},
		"behind it":            {System: "You help.", Background: summary},
	} {
		t.Run(name, func(t *testing.T) {
			s := agenttest.Serve(t, agenttest.Options{})
			m := model(t, s.URL())
			s.Next(agenttest.StatusReply(400, nil, `{"error":{"message":"Content filter: 's diagnosis is CANARYTEXT, and' is not allowed"}}`))
			r.Messages = ask("What now?").Messages
			_, _, _, err := complete(t, m, r)
			if err == nil || strings.Contains(err.Error(), "CANARY") || !strings.Contains(err.Error(), "Content filter: ") {
				t.Errorf("error = %v, want the server's words without the summary's", err)
			}
		})
	}
}
