package provider_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"dragoman/agent"
	"dragoman/agent/provider"
)

// canned answers every request with the same body.
type canned struct {
	status int
	body   io.Reader
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	return &http.Response{StatusCode: c.status, Header: http.Header{}, Body: io.NopCloser(c.body), Request: req}, nil
}

func answerOf(t *testing.T, status int, body io.Reader) (agent.Response, error) {
	t.Helper()
	m := model(t, "http://127.0.0.1:1/v1", func(o *provider.Options) {
		o.HTTP = &http.Client{Transport: canned{status, body}}
	})
	return m.Complete(t.Context(), ask("hi"), nil)
}

const wholeStream = ": hello\n\n" +
	`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"let me look"},"finish_reason":null}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\":"}}]}}]}` + "\n\n" +
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]}}]}` + "\n\n"

// A stream that is cut anywhere before its finish reason is an error, however
// the network splits it. A cut after the finish reason does no harm.
func TestEveryCut(t *testing.T) {
	const finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	whole := wholeStream + finish + "\n\n"
	for n := range len(whole) {
		resp, err := answerOf(t, 200, iotest.OneByteReader(strings.NewReader(whole[:n])))
		if isWhole := n >= len(wholeStream+finish); isWhole != (err == nil) {
			t.Fatalf("cut after %d of %d bytes: %+v, %v", n, len(whole), resp, err)
		}
		if err == nil && resp.Message.ToolCalls[0].Arguments != `{"path":"x"}` {
			t.Fatalf("cut after %d bytes: %+v", n, resp)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add(200, []byte(wholeStream))
	f.Add(200, []byte(wholeStream+"data: [DONE]\n\n"))
	f.Add(200, []byte(`{"choices":[{"message":{"content":"x","tool_calls":[{"function":{"name":"a","arguments":{}}}]}}]}`))
	f.Add(200, []byte("event: error\ndata: {\"message\":[1]}\n\n"))
	f.Add(200, []byte(`data: {"choices":[{"delta":{"content":[[]]},"finish_reason":7}],"usage":{"total_tokens":1}}`))
	f.Add(400, []byte(`[{"error":{"code":{},"message":["maximum context length"]}}]`))
	f.Add(500, []byte("<html>"+key))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			status = 200
		}
		resp, err := answerOf(t, status, bytes.NewReader(body))
		if err == nil {
			ended := bytes.Contains(body, []byte("[DONE]")) || bytes.Contains(body, []byte("inish_")) || json200(body)
			if status != 200 || !ended {
				t.Errorf("success from status %d and %q: %+v", status, body, resp)
			}
			for _, c := range resp.Message.ToolCalls {
				if c.ID == "" || c.Name == "" || c.Arguments == "" {
					t.Errorf("a tool call has an empty field: %+v", c)
				}
			}
			return
		}
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Kind == "" {
			t.Errorf("error %v is not a ModelError", err)
		}
		if strings.Contains(err.Error(), key) {
			t.Errorf("the error shows the key: %v", err)
		}
	})
}

// json200 reports whether body may be one JSON document instead of a stream.
func json200(body []byte) bool {
	trimmed := bytes.TrimLeft(body, " \t\r\n\xef\xbb\xbf")
	return len(trimmed) > 0 && trimmed[0] == '{'
}
