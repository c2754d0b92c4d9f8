package openai_test

import (
	"context"
	"testing"
	"time"

	"dragoman/agent"
	"dragoman/agent/openai"
	"dragoman/agent/wire"
	"dragoman/sessions"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chat is a model on a server of chat completions that neither learns nor falls
// back.
type chat struct {
	server *wire.Server
	codec  *openai.Chat
	in     wire.Input // without the request
}

func (c *chat) Name() string { return c.in.To.Model }

func (c *chat) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (resp agent.Response, err error) {
	in := c.in
	in.Request = &r
	if onDelta == nil {
		onDelta = func(agent.Delta) {}
	}
	a, err := c.server.Complete(ctx, c.codec, &in, onDelta)
	if err != nil {
		return resp, err
	}
	a.Fill(&resp)
	return resp, nil
}

func model(t testing.TB, url string, change ...func(*wire.Input)) *chat {
	t.Helper()
	server, err := wire.New(wire.Options{
		BaseURL: url, FirstByteTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second, MaxResponseBytes: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	c := &chat{server: server, codec: &openai.Chat{}}
	c.in.To = sessions.Provenance{API: wire.APIChat, Host: server.Host(), Model: "fake"}
	for _, f := range change {
		f(&c.in)
	}
	return c
}

func ask(text string) agent.Request {
	return agent.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Content: text}}}
}

// complete also returns what was streamed.
func complete(t *testing.T, m agent.Model, r agent.Request) (resp agent.Response, text, reasoning string, err error) {
	t.Helper()
	resp, err = m.Complete(t.Context(), r, func(d agent.Delta) {
		text += d.Text
		reasoning += d.Reasoning
	})
	return resp, text, reasoning, err
}
