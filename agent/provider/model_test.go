package provider_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/provider"
	"dragoman/agent/wire"
	"dragoman/sessions"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-test-abcdefghijklmnopqrstuvwxyz0123456789"

// model returns a model on url with short timeouts.
func model(t testing.TB, url string, change ...func(*provider.Options)) *provider.Model {
	t.Helper()
	o := provider.Options{
		Options: wire.Options{BaseURL: url, APIKey: key, FirstByteTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second, MaxResponseBytes: 1 << 20},
		Name:    "fake",
	}
	for _, f := range change {
		f(&o)
	}
	m, err := provider.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func ask(text string) agent.Request {
	return agent.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Content: text}}}
}

// complete also returns what was streamed.
func complete(t *testing.T, m *provider.Model, r agent.Request) (resp agent.Response, text, reasoning string, err error) {
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
				t.Errorf("it took %s, so it waited for the idle timeout of a minute", took)
			}
		})
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
	m := model(t, s.URL(), func(o *provider.Options) {
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
		t.Errorf("comments as keep-alives: %+v, %v", resp, err)
	}
	for name, want := range map[string]string{"stall": "1s", "stall-at-start": "3s", "stall-header": "3s"} {
		s.Next(agenttest.Faults[name])
		if _, _, _, err := complete(t, m, ask("hi")); err == nil || !strings.Contains(err.Error(), "no piece of the answer for "+want) {
			t.Errorf("%s: %v, want no piece of the answer for %s", name, err, want)
		}
	}
}

// A server that finishes without closing the stream costs a moment, not the
// whole idle timeout.
func TestStallAfterFinish(t *testing.T) {
	t.Parallel()
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL(), func(o *provider.Options) { o.IdleTimeout = time.Minute })
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
	// On a busy machine many calls miss that end. Without the wait all of them do.
	if len(conns) > 15 {
		t.Errorf("20 calls took %d connections, want 1, or some more on a busy machine", len(conns))
	}
}

func TestThousandCallsAtOnce(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{FirstToken: time.Second, Recorded: -1})
	m := model(t, s.URL(), func(o *provider.Options) { o.FirstByteTimeout, o.IdleTimeout = time.Minute, time.Minute })
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

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]provider.Options{
		"no URL":           {Name: "m"},
		"no scheme":        {Options: wire.Options{BaseURL: "127.0.0.1:11434/v1"}, Name: "m"},
		"wrong scheme":     {Options: wire.Options{BaseURL: "ftp://x/v1"}, Name: "m"},
		"fragment":         {Options: wire.Options{BaseURL: "http://x/v1?key=secret#x"}, Name: "m"},
		"API":              {Options: wire.Options{BaseURL: "http://x/v1"}, Name: "m", API: "soap"},
		"no name":          {Options: wire.Options{BaseURL: "http://x/v1"}},
		"key with newline": {Options: wire.Options{BaseURL: "http://x/v1", APIKey: "secret\nkey"}, Name: "m"},
		"password":         {Options: wire.Options{BaseURL: "ftp://me:secret@x/v1"}, Name: "m"},
		"control":          {Options: wire.Options{BaseURL: "http://me:secret@x/\x7f"}, Name: "m"},
	} {
		if _, err := provider.New(o); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: New = %v, want an error without the secret", name, err)
		}
	}
}
