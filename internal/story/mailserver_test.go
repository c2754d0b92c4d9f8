package story_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mailServer is a server of MCP with a mailbox: list says again what it is asked for, send keeps
// what it is given, and ask puts it to the person.
type mailServer struct {
	url string

	mu   sync.Mutex
	sent []string
}

// mailArgs are the arguments of its tools.
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
	mcp.AddTool(s, &mcp.Tool{Name: "ask", Description: "Asks the person which mail is meant."}, func(_ context.Context, r *mcp.CallToolRequest, in mailArgs) (*mcp.CallToolResult, any, error) {
		if said, is := r.Params.InputResponses["which"].(*mcp.ElicitResult); is {
			return answer(fmt.Sprintf("To the question %q the person said %v.", in.Text, said.Content["which"])), nil, nil
		}
		form := map[string]any{"type": "object", "properties": map[string]any{"which": map[string]any{"type": "string", "description": in.Text}}, "required": []string{"which"}}
		asks := mcp.InputRequestMap{"which": &mcp.ElicitParams{Mode: "form", Message: "Which mail? " + in.Text, RequestedSchema: form}}
		return &mcp.CallToolResult{InputRequests: asks, RequestState: "asked"}, nil, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// settings are a configuration with it.
func (m *mailServer) settings() string {
	return fmt.Sprintf(`mcp: {servers: {mail: {url: %q, tools: {"*": allow}, effects: {list: read, ask: read}}}}`, m.url)
}

// mails are those that were sent; none without a server.
func (m *mailServer) mails() []string {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.sent...)
}
