package agenttest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is new in each test, so that no idle connection outlives it.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 1000}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func post(t *testing.T, c *http.Client, url, body string) (*http.Response, string) {
	t.Helper()
	resp, err := c.Post(url+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return resp, string(b)
}

// streamed joins the content of an SSE body and reports whether it was complete.
func streamed(t *testing.T, body string) (text string, done bool) {
	t.Helper()
	sc := bufio.NewScanner(strings.NewReader(body))
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return text, true
		}
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("chunk %s: %v", data, err)
		}
		if len(c.Choices) > 0 {
			text += c.Choices[0].Delta.Content
		}
	}
	return text, false
}

func TestScript(t *testing.T) {
	boom := errors.New("boom")
	m := agenttest.Script(
		agenttest.Call(sessions.ToolCall{Name: "time", Arguments: "{}"}),
		agenttest.Say("hello there"),
		agenttest.Fail(boom),
	).Otherwise(agenttest.Echo())
	req := agent.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Content: "hi"}}}
	got, err := m.Complete(t.Context(), req, nil)
	if err != nil || len(got.Message.ToolCalls) != 1 || got.Message.ToolCalls[0].ID == "" {
		t.Errorf("first call = %+v, %v, want a tool call with an id", got, err)
	}
	var text string
	got, err = m.Complete(t.Context(), req, func(d agent.Delta) { text += d.Text })
	if err != nil || text != "hello there" || got.Message.Content != text {
		t.Errorf("second call = %+v, streamed %q, %v", got, text, err)
	}
	if _, err := m.Complete(t.Context(), req, nil); !errors.Is(err, boom) {
		t.Errorf("third call: %v, want boom", err)
	}
	req.Messages[0].Content = "changed later"
	if got, err := m.Complete(t.Context(), req, nil); err != nil || got.Message.Content != "echo: changed later" {
		t.Errorf("fourth call = %+v, %v", got, err)
	}
	if rs := m.Requests(); len(rs) != 4 || rs[0].Messages[0].Content != "hi" {
		t.Errorf("Requests() = %+v, want 4 and the first unchanged", rs)
	}
	var me *agent.ModelError
	if _, err := agenttest.Script().Complete(t.Context(), req, nil); !errors.As(err, &me) {
		t.Errorf("empty script: %v, want a ModelError", err)
	}
}

func TestScriptHoldEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := agenttest.Script(func(ctx context.Context, r agent.Request, d func(agent.Delta)) (agent.Response, error) {
		cancel()
		return agenttest.Hold(nil, agenttest.Say("never"))(ctx, r, d)
	})
	if _, err := m.Complete(ctx, agent.Request{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("held call: %v, want canceled", err)
	}
}

func TestServerEchoes(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	for name, tc := range map[string]struct{ messages, want string }{
		"one":             {`{"role":"user","content":"hello #4 world"}`, "echo: hello #4 world"},
		"several at once": {`{"role":"assistant","content":"x #0"},{"role":"user","content":"a #1 #2"},{"role":"user","content":"b #2 #3"}`, "echo: #1 b #2 #3"},
		"parts":           {`{"role":"user","content":[{"type":"text","text":"pa"},{"type":"text","text":"rts"}]}`, "echo: parts"},
		"two and a tool":  {`{"role":"user","content":"a #1"},{"role":"user","content":"b #2"},{"role":"assistant","tool_calls":[{}]},{"role":"tool","tool_call_id":"c","content":"r"}`, "echo: #1 b #2"},
		"after a tool":    {`{"role":"user","content":"q #7"},{"role":"assistant","tool_calls":[{}]},{"role":"tool","tool_call_id":"c","content":"r"}`, "echo: q #7"},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := post(t, client(t), s.URL(), `{"model":"fake","stream":true,"messages":[`+tc.messages+`]}`)
			if got, done := streamed(t, body); got != tc.want || !done {
				t.Errorf("streamed %q, done %v, want %q", got, done, tc.want)
			}
			_, body = post(t, client(t), s.URL(), `{"model":"fake","messages":[`+tc.messages+`]}`)
			var whole struct {
				Choices []struct{ Message struct{ Content string } }
			}
			if err := json.Unmarshal([]byte(body), &whole); err != nil || whole.Choices[0].Message.Content != tc.want {
				t.Errorf("whole answer %s (%v), want %q", body, err, tc.want)
			}
		})
	}
}

func TestServerCallsToolsOnCommand(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	const tools = `"tools":[{"type":"function","function":{"name":"time"}}]`
	const ask = `{"role":"user","content":"#5 !tool time {\"zone\":\"UTC\"}"}`
	_, body := post(t, client(t), s.URL(), `{"stream":true,`+tools+`,"messages":[`+ask+`]}`)
	if !strings.Contains(body, `"name":"time"`) || !strings.Contains(body, `{\"zone\":\"UTC\"}`) {
		t.Errorf("no tool call in %s", body)
	}
	_, body = post(t, client(t), s.URL(), `{"stream":true,`+tools+`,"messages":[`+ask+`,{"role":"assistant","tool_calls":[{}]},{"role":"tool","content":"noon"}]}`)
	if got, _ := streamed(t, body); !strings.HasSuffix(got, "-> noon") || !strings.Contains(got, "#5") {
		t.Errorf("after the tool: %q, want its result", got)
	}
	_, body = post(t, client(t), s.URL(), `{"stream":true,"messages":[`+ask+`]}`)
	if strings.Contains(body, "tool_calls") {
		t.Error("the server called a tool that the request does not offer")
	}
}

func TestServerRecordsWithinBounds(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{Recorded: 2, RecordedBytes: 40})
	for _, text := range []string{"one", "two", strings.Repeat("three", 100)} {
		post(t, client(t), s.URL(), `{"messages":[{"role":"user","content":"`+text+`"}]}`)
	}
	var got []string
	for _, r := range s.Requests() {
		got = append(got, r.LastUser()[:3])
		if len(r.Body) > 40 {
			t.Errorf("recorded %d bytes of a body, want at most 40", len(r.Body))
		}
	}
	if diff := cmp.Diff([]string{"two", "thr"}, got); diff != "" || s.Count() != 3 {
		t.Errorf("recorded (-want +got):\n%s count %d", diff, s.Count())
	}
}

func TestServerRefuses(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{APIKey: "right"})
	if resp, _ := post(t, client(t), s.URL(), `{}`); resp.StatusCode != 401 {
		t.Errorf("without a key: %s, want 401", resp.Status)
	}
	s = agenttest.Serve(t, agenttest.Options{})
	if resp, _ := post(t, client(t), s.URL(), `{"messages":`); resp.StatusCode != 400 {
		t.Errorf("broken JSON: %s, want 400", resp.Status)
	}
	if resp, _ := post(t, client(t), s.URL()+"/nothing", `{}`); resp.StatusCode != 404 {
		t.Errorf("unknown path: %s, want 404", resp.Status)
	}
}

// TestServerCarriesThousandStreams: no stream sends anything before all have arrived,
// so they all run at once however slow the machine is.
func TestServerCarriesThousandStreams(t *testing.T) {
	const streams = 1000
	var arrived atomic.Int64
	all := make(chan struct{})
	s := agenttest.Serve(t, agenttest.Options{Reply: func(*agenttest.Request) agenttest.Reply {
		return func(x *agenttest.Exchange) {
			if arrived.Add(1) == streams {
				close(all)
			}
			select {
			case <-all:
				agenttest.EchoReply(x)
			case <-t.Context().Done():
				x.Cut()
			}
		}
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := client(t)
	var wg sync.WaitGroup
	var whole atomic.Int64
	for range streams {
		wg.Go(func() {
			if text, err := said(ctx, c, s.URL()); err != nil {
				t.Error(err)
			} else if strings.HasSuffix(text, "data: [DONE]\n\n") {
				whole.Add(1)
			}
		})
	}
	wg.Wait()
	if whole.Load() != streams || s.Peak() != streams {
		t.Errorf("%d of %d streams were whole, %d at once", whole.Load(), streams, s.Peak())
	}
}

// said returns everything that the server answers to "hi".
func said(ctx context.Context, c *http.Client, url string) (string, error) {
	body := strings.NewReader(`{"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", body)
	if err != nil {
		return "", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestServerCloseBreaksStallsOff(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	s.Next(agenttest.Faults["stall"])
	resp, err := client(t).Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the stream of a closed server ended cleanly")
	}
}

func TestWordsJoinToTheText(t *testing.T) {
	for _, text := range []string{"", "a", strings.Repeat("word ", 300) + "end", strings.Repeat("x", 5000), strings.Repeat("word42 ", 400)} {
		if got := strings.Join(agenttest.Words(text), ""); got != text {
			t.Errorf("Words of %d bytes join to %d", len(text), len(got))
		}
	}
}
