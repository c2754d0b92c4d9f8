package provider_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	goopenai "github.com/sashabaranov/go-openai"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/provider"
	"dragoman/sessions"
)

// history returns a request with n messages before the newest, and nine tools.
func history(n int) agent.Request {
	r := agent.Request{System: strings.Repeat("You are a helpful go-between. ", 30)}
	for i := range n {
		role := sessions.RoleUser
		if i%2 == 1 {
			role = sessions.RoleAssistant
		}
		r.Messages = append(r.Messages, sessions.Message{Role: role, Content: strings.Repeat("some words that were said ", 8)})
	}
	r.Messages = append(r.Messages, sessions.Message{Role: sessions.RoleUser, Content: "how are you today my friend?"})
	for i := range 9 {
		r.Tools = append(r.Tools, agent.Spec{
			Name: fmt.Sprintf("tool_%d", i), Description: "Does something useful with a file in the workspace.",
			Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string","description":"the path"},"content":{"type":"string"}},"required":["path"]}`),
		})
	}
	return r
}

// BenchmarkComplete makes one call over loopback, including the fake server.
func BenchmarkComplete(b *testing.B) {
	s := agenttest.Serve(b, agenttest.Options{Recorded: -1})
	for _, n := range []int{0, 20, 100} {
		b.Run(fmt.Sprintf("history=%d", n), func(b *testing.B) {
			m := model(b, s.URL())
			r := history(n)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := m.Complete(b.Context(), r, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// streamOf returns an answer of n chunks.
func streamOf(n int) string {
	const chunk = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"fake","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}` + "\n\n"
	return strings.Repeat(chunk, n) + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
}

type cannedStream string

func (c cannedStream) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(c))), Request: req}, nil
}

// BenchmarkCPU measures our side alone: no sockets, no server.
func BenchmarkCPU(b *testing.B) {
	for _, n := range []int{10, 500} {
		client := &http.Client{Transport: cannedStream(streamOf(n))}
		for _, h := range []int{0, 100} {
			b.Run(fmt.Sprintf("chunks=%d/history=%d", n, h), func(b *testing.B) {
				m := model(b, "http://127.0.0.1:1/v1", func(o *provider.Options) { o.HTTP = client })
				r := history(h)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := m.Complete(b.Context(), r, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkLibrary reads the same stream with go-openai alone, to measure its
// share.
func BenchmarkLibrary(b *testing.B) {
	for _, n := range []int{10, 500} {
		client := &http.Client{Transport: cannedStream(streamOf(n))}
		config := goopenai.DefaultConfig("key")
		config.BaseURL, config.HTTPClient = "http://127.0.0.1:1/v1", client
		for _, typed := range []bool{false, true} {
			b.Run(fmt.Sprintf("chunks=%d/typed=%t", n, typed), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s, err := goopenai.NewClientWithConfig(config).CreateChatCompletionStream(b.Context(), goopenai.ChatCompletionRequest{})
					if err != nil {
						b.Fatal(err)
					}
					for err == nil {
						if typed {
							_, err = s.Recv()
						} else {
							_, err = s.RecvRaw()
						}
					}
					if !errors.Is(err, io.EOF) {
						b.Fatal(err)
					}
					_ = s.Close()
				}
			})
		}
	}
}
