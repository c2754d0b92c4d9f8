package mcptest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Good are the servers that behave: one of the present era, and one of the former.
var Good = []string{"good", "good@old"}

// pixel is a picture.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// What the tools take and give.
type (
	// words are for echo.
	words struct {
		Text string `json:"text" jsonschema:"What to say"`
	}
	// pair is for add.
	pair struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	// sum is of a pair.
	sum struct {
		Sum int `json:"sum"`
	}
	// steps is how often to tell of progress.
	steps struct {
		Steps int `json:"steps"`
	}
	// empty is for tools that need nothing.
	empty struct{}
)

// newGood makes the server with the official SDK.
func newGood(name string) *mcp.Server {
	o := &mcp.ServerOptions{}
	if name != "good" {
		o.SupportedProtocolVersions = []string{"2025-11-25", "2025-06-18"}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "good", Version: "1"}, o)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says the text again."}, func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds two numbers."}, func(_ context.Context, _ *mcp.CallToolRequest, in pair) (*mcp.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "bare", Description: "Needs no arguments."}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
		return text("no arguments needed"), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Description: "Fails."}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("the printer is on fire")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "picture", Description: "Gives a picture of one pixel."}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
		data, err := base64.StdEncoding.DecodeString(pixel)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: data, MIMEType: "image/png"}}}, nil, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "steps", Description: "Tells of its progress."}, progress)
	mcp.AddTool(s, &mcp.Tool{Name: "ask", Description: "Asks the person for a name."}, askName)
	mcp.AddTool(s, &mcp.Tool{Name: "grow", Description: "Adds a tool to this server."}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
		mcp.AddTool(s, &mcp.Tool{Name: "later", Description: "Came later."}, func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
			return text("late"), nil, nil
		})
		return text("grown"), nil, nil
	})
	return s
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// progress tells of each step.
func progress(ctx context.Context, r *mcp.CallToolRequest, in steps) (*mcp.CallToolResult, any, error) {
	token := r.Params.GetProgressToken()
	for n := range in.Steps {
		if token == nil {
			break
		}
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n + 1), Total: float64(in.Steps)})
		if err != nil {
			return nil, nil, err
		}
	}
	return text(fmt.Sprintf("%d steps, told: %t", in.Steps, token != nil)), nil, nil
}

// askName asks in the way of the present era; the SDK translates it for clients of the former.
func askName(_ context.Context, r *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
	answer, ok := r.Params.InputResponses["name"].(*mcp.ElicitResult)
	if !ok {
		schema := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}}
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Mode: "form", Message: "What is your name?", RequestedSchema: schema}},
			RequestState:  "asked",
		}, nil, nil
	}
	return text(fmt.Sprintf("answer: %s %v, state: %s", answer.Action, answer.Content["name"], r.Params.RequestState)), nil, nil
}

// runGood serves the pipe of the process.
func runGood(name string) int {
	if err := newGood(name).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// goodHandler serves HTTP; the present era has no sessions.
func goodHandler(name string) http.Handler {
	s := newGood(name)
	ctx, end := context.WithCancel(context.Background())
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(call context.Context, method string, r mcp.Request) (mcp.Result, error) {
			call, cancel := context.WithCancel(call)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			return next(call, method, r)
		}
	})
	return goodServer{mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: name == "good"}), s, end}
}

// goodServer is one at an address.
type goodServer struct {
	http.Handler
	server *mcp.Server
	end    func() // of its calls
}

// Close ends the sessions that clients have left open, as one does that is killed. Calls that
// wait for an answer of such a client end, too.
func (g goodServer) Close() error {
	g.end()
	for one := range g.server.Sessions() {
		_ = one.Close() // its client is gone
	}
	return nil
}
