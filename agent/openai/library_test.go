package openai_test

import (
	"errors"
	"io"
	"testing"

	"github.com/sashabaranov/go-openai"

	"dragoman/agent"
	"dragoman/agent/agenttest"
)

// This test shows why package wire sends requests and reads streams:
// go-openai's client takes these failures for complete answers, or fails good
// answers. If a fault is fixed there, the test fails, and the client deserves
// another look.
func TestFaultsOfTheLibrary(t *testing.T) {
	const half = `data: {"choices":[{"index":0,"delta":{"content":"half "},"finish_reason":null}]}` + "\n\n"
	const rest = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	for name, tt := range map[string]struct {
		reply agenttest.Reply
		good  bool // the answer is complete
	}{
		"a stream that is cut off between frames": {agenttest.RawReply(half), false},
		"an error in a 200 that is no stream":     {agenttest.StatusReply(200, nil, `{"error":{"message":"overloaded"}}`), false},
		"a page of HTML":                          {agenttest.StatusReply(200, nil, "<!doctype html>\n<html></html>\n"), false},
		"no choices":                              {agenttest.RawReply("data: {\"choices\":[]}\n\ndata: [DONE]\n\n"), false},
		"an error event after a comment":          {agenttest.RawReply(half + ": hm\n\nevent: error\ndata: {\"message\":\"broke\"}\n\n"), false},
		"400 comments":                            {agenttest.KeepAliveReply(400, "well"), true},
		"content in parts":                        {agenttest.RawReply(`data: {"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"well"}]}}]}` + "\n\n" + rest), true},
		"data in two lines":                       {agenttest.RawReply("data: {\"choices\":\ndata: [{\"index\":0,\"delta\":{\"content\":\"well\"}}]}\n\n" + rest), true},
	} {
		s := agenttest.Serve(t, agenttest.Options{})
		s.Next(tt.reply)
		if _, _, _, err := complete(t, model(t, s.URL()), ask("hi")); (err == nil) != tt.good {
			t.Errorf("%s: our client: %v", name, err)
		}
		s.Next(tt.reply)
		config := openai.DefaultConfig("key")
		config.BaseURL = s.URL()
		err := withLibrary(t, openai.NewClientWithConfig(config))
		if (err == nil) == tt.good {
			t.Errorf("%s: the library returns %v, which is now right", name, err)
		}
	}
}

// withLibrary reads one answer with the library's client. nil means that the
// library takes the answer for complete.
func withLibrary(t *testing.T, c *openai.Client) error {
	t.Helper()
	stream, err := c.CreateChatCompletionStream(t.Context(), openai.ChatCompletionRequest{
		Model: "fake", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "hi"}},
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		if _, err := stream.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// The library refuses parameters by the name of the model, whoever serves it.
// So the library never sees the name.
func TestLibraryJudgesNames(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	config := openai.DefaultConfig("key")
	config.BaseURL = s.URL()
	_, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(t.Context(), openai.ChatCompletionRequest{
		//lint:ignore SA1019 The library judges this field.
		MaxTokens: 5, Model: "o3-of-ours", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "hi"}},
	})
	if err == nil || s.Count() != 0 {
		t.Errorf("o3-of-ours with max_tokens: %v; the library no longer judges names", err)
	}
	m := model(t, s.URL())
	m.in.To.Model = "o3-of-ours"
	r := ask("hi")
	r.MaxTokens = 5
	if _, _, _, err := complete(t, m, r); err != nil {
		t.Errorf("our client: %v", err)
	}
	var _ agent.Model = m
}
