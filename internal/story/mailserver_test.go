package story_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mailServer is a server of MCP with a mailbox: list says again what it is asked for, and send
// keeps what it is given.
type mailServer struct {
	url string

	mu   sync.Mutex
	sent []string
}

// mailArgs are the arguments of both tools.
type mailArgs struct {
	Text string `json:"text"`
}

// newMailServer starts one. says is how it describes the tool list.
func newMailServer(t *testing.T, says string) *mailServer {
	m := &mailServer{}
	s := mcp.NewServer(&mcp.Implementation{Name: "mail", Version: "1"}, nil)
	answer := func(words string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: words}}}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "list", Description: says}, func(_ context.Context, _ *mcp.CallToolRequest, in mailArgs) (*mcp.CallToolResult, any, error) {
		return answer("One mail: " + in.Text), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "send", Description: "Sends a mail."}, func(_ context.Context, _ *mcp.CallToolRequest, in mailArgs) (*mcp.CallToolResult, any, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.sent = append(m.sent, in.Text)
		return answer("sent"), nil, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// mails are those that were sent.
func (m *mailServer) mails() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.sent...)
}
